"""Where the sources of the components are, and what was bundled of them.

A checkout has the sources, and a bundle only where Node made one (`make bundle`). A wheel has both, if Node was there
when it was built. A bundle is taken as long as it was made of the sources that are there, else the sources are served
as they are: then nobody ever sees what an older version of them does.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

_CHECKOUT = Path(__file__).parents[4] / "components"
SOURCES = _CHECKOUT if (_CHECKOUT / "agui-gate.js").is_file() else Path(__file__).parent / "files"
"""The folder with `agui-gate.js`. What is served of it: its modules, and those in `FOLDERS`."""

PAGE = Path(__file__).parents[1] / "page" / "files"
"""The built-in page's sources."""

FOLDERS = ("core", "elements", "vendor")


class Files:
    """Named files, and a hash of what is in them. They may change in a checkout: then so does the hash."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, int, int]] = []
        self._hash = ""

    def hash_of(self, *files: tuple[str, Path]) -> str:
        """Returns the hash of these files as they are now. As `components/build/bundle.js` does it."""
        found = sorted(files)
        stats = [(name, path.stat()) for name, path in found]
        seen = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
        if seen != self._seen:
            told = sha256()
            for name, path in found:
                text = path.read_bytes()
                told.update(f"{name}\0{len(text)}\0".encode() + text)
            self._seen, self._hash = seen, told.hexdigest()
        return self._hash


class Bundle:
    """What was bundled of ``sources`` and of the built-in page's files, in ``sources``' folder `dist`."""

    def __init__(self, sources: Path = SOURCES, page: Path = PAGE) -> None:
        self.sources, self.page = sources, page
        self._files = Files()

    @property
    def folder(self) -> Path | None:
        """The folder with `agui-gate.js`, `auto.js` and `page/`; None if there is none, or it is of other sources."""
        try:
            made = json.loads((self.sources / "dist" / "made.json").read_bytes())["sources"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        of = self._files.hash_of(*components(self.sources), *named(self.page, "page/", "*"))
        return self.sources / "dist" if made == of else None


def components(sources: Path) -> Iterator[tuple[str, Path]]:
    """Yields the modules below ``sources`` that are served, each with its name."""
    yield from named(sources, "components/", "*.js")
    for folder in FOLDERS:
        yield from named(sources / folder, f"components/{folder}/", "*.js")


def named(folder: Path, prefix: str, pattern: str) -> Iterator[tuple[str, Path]]:
    """Yields the files of a folder, each with its name below ``prefix``."""
    for path in folder.glob(pattern):
        if path.is_file():
            yield f"{prefix}{path.name}", path
