"""Puts the components into a wheel: their sources, and what was bundled of them where Node was there (`make wheel`)."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("core", "elements", "vendor", "dist")
IN_WHEEL = "agui_gate/extras/components/files"


class ComponentsHook(BuildHookInterface[Any]):
    """An editable install has them in the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bundles them if that is possible here, and has them included."""
        if version != "standard" or self.target_name != "wheel":
            return
        folder = Path(self.root) / "components"
        node = shutil.which("node")
        if node and (folder / "node_modules" / "esbuild").is_dir():
            subprocess.run([node, "build/bundle.js"], cwd=folder, check=True, timeout=300)  # noqa: S603 our own script
        for file in folder.glob("*.js"):
            build_data["force_include"][str(file)] = f"{IN_WHEEL}/{file.name}"
        for name in FOLDERS:
            if (folder / name).is_dir():
                build_data["force_include"][str(folder / name)] = f"{IN_WHEEL}/{name}"
