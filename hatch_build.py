"""What a wheel has beside the Python code: the components, and the revision that it was built from.

The components are their sources, and what was bundled of them where Node was there (`make wheel`). The revision is in
``agui_gate/revision.txt``: $SOURCE_REVISION, or the commit of the checkout; a build from an sdist keeps the sdist's. A
commit that is tagged as another version than pyproject.toml's isn't built.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("core", "elements", "vendor", "dist")
IN_WHEEL = "agui_gate/extras/components/files"
REVISION = "agui_gate/revision.txt"


class ReleaseHook(BuildHookInterface[Any]):
    """An editable install has the components in the checkout, and no revision."""

    _folder: str | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bundles the components if that is possible here, and has both included."""
        if version != "standard":
            return
        includes = build_data["force_include"]
        if self.target_name == "wheel":
            self._include_components(includes)
        if (Path(self.root) / "server" / REVISION).exists():  # in an sdist: it is among the package's files
            return
        revision = os.environ.get("SOURCE_REVISION") or self._find_revision()
        if revision:
            self._folder = tempfile.mkdtemp()
            file = Path(self._folder) / "revision.txt"
            file.write_text(f"{revision}\n")
            includes[str(file)] = REVISION if self.target_name == "wheel" else f"server/{REVISION}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was made for the build alone."""
        if self._folder:
            shutil.rmtree(self._folder)

    def _include_components(self, includes: dict[str, str]) -> None:
        folder = Path(self.root) / "components"
        node = shutil.which("node")
        if node and (folder / "node_modules" / "esbuild").is_dir():
            subprocess.run([node, "build/bundle.js"], cwd=folder, check=True, timeout=300)  # noqa: S603 our own script
        for file in folder.glob("*.js"):
            includes[str(file)] = f"{IN_WHEEL}/{file.name}"
        for name in FOLDERS:
            if (folder / name).is_dir():
                includes[str(folder / name)] = f"{IN_WHEEL}/{name}"

    def _find_revision(self) -> str:
        """Returns the checkout's commit, or nothing where there is no Git. Raises `ValueError` on a wrong tag."""
        if not (Path(self.root) / ".git").exists():
            return ""
        tags = [tag for tag in self._git("tag", "--points-at", "HEAD").split() if tag.startswith("v")]
        if tags and f"v{self.metadata.version}" not in tags:
            raise ValueError(f"this commit is tagged {tags[0]}, and pyproject.toml has version {self.metadata.version}")
        return self._git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")

    def _git(self, *words: str) -> str:
        git = shutil.which("git")
        if git is None:
            return ""
        run = subprocess.run(  # noqa: S603 our own words
            [git, *words], cwd=self.root, capture_output=True, text=True, timeout=30, check=False
        )
        return run.stdout.strip()
