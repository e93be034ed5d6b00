"""Prepares the pages of docs/ for the site that mkdocs makes of them (`mkdocs.yml`).

A link to a file outside of docs/ leads to the repository. The reference of the promised Python modules is made of their
docstrings. Every page must be in the menu: the decision records are, by themselves.
"""

import posixpath
import re
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MODULES = (
    "agui_gate",
    *(f"agui_gate.{name}" for name in ("adapter", "store", "extension", "client", "telemetry", "testing")),
)
"""Those that `docs/releasing.md` promises."""
_LINK = re.compile(r"(\]\()((?!https?:|mailto:)[^)#\s]+)(#[^)\s]*)?(\))")


def slug(heading: str, separator: str) -> str:
    """Returns the anchor of a heading, as GitHub makes it: the pages' links lead there."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages of the modules."""
    file = import_module("mkdocs.structure.files").File  # it is there when a site is made
    for module in MODULES:
        files.append(file.generated(config, f"python.{module}.md", content=f"# {module}\n\n::: {module}\n"))
    return files


def on_config(config: Any) -> Any:
    """Puts the decision records into the menu."""
    records = sorted(path.name for path in (ROOT / "docs" / "adr").glob("*.md"))
    config.nav[-1]["Development"].append({"Decisions": [f"adr/{name}" for name in records]})
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Returns the page, whose links out of docs/ lead to the repository."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def lead(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[2]))
        if path.startswith("docs/") and not (ROOT / path).is_dir():
            return found[0]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{found[1]}{config.repo_url}/{kind}/main/{path}{found[3] or ''}{found[4]}"

    return _LINK.sub(lead, markdown)
