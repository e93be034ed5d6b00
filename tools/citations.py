"""What the repository cites, and whether it is there: files, headings, promises, rules, records of decisions, code.

Read are comments and docstrings, and the whole text of Markdown. A reader of the repository, or of what is installed,
can open all of it: docs/README.md says how.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agui_gate.extras.telemetry import names
from tools.markdown import anchors, without_code

SCRIPTS = {".js", ".mjs", ".ts", ".tsx", ".css"}
_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)

FILE = re.compile(
    r"(?<![\w/@.:-])((?:[\w@.-]+/)*[\w.-]*\w\.(?:md|py|mjs|js|tsx?|sql|css|toml))(?:#([\w-]+))?\b(?![\w(])"
)
ID = re.compile(r"(?<![\w#./-])([SBTH]\d{1,2}|R\d{1,2}[bc]?|A\d{1,2}|C\d)\b(?![-.]\w)")
DECISION = re.compile(r"\bADR (\d{4})\b")
SPECIFICATION = re.compile(
    r"\b((?:GEN|EVT|IN|PROC|VER|CAP|META|PAT|STR|SNAP|INT|TR|SSE|PB|LIFE|USE|TEXT|TOOL|STATE|ACT|REAS|SUB)-\d{1,2})\b"
)
PAPER = re.compile(r"\b(CONTRACT|DESIGN|STYLE)\b(?!\w)|\((facts?\b[^)]*)\)|(?<!HTML )(?<!RFC \d{4} )(§\s?\d\S*)")
ISSUE = re.compile(r"(?<!#)\bissue \d+\b", re.IGNORECASE)
MODULE = re.compile(r"\b(agui_gate(?:_adapters)?(?:\.\w+)+)")

GROUPS = {"agui_gate.adapters"} | {name for name in vars(names).values() if isinstance(name, str)}
"""Groups of entry points, and what spans are called: names like those of modules, and no modules."""


@dataclass(frozen=True)
class Repository:
    """The files of a repository, by their paths below its root."""

    root: Path
    files: tuple[str, ...]

    @cached_property
    def endings(self) -> set[str]:
        """Every file and every end of its path: what it may be called."""
        return {"/".join(parts[n:]) for parts in (name.split("/") for name in self.files) for n in range(len(parts))}

    @cached_property
    def ids(self) -> set[str]:
        """The ids that docs/ explains: promises, rules, rules of the specification."""
        pages = (self.text(f"docs/{name}.md") for name in ("requirements", "wire-rules", "clients", "design", "spec"))
        return {found for page in pages for found in re.findall(r"\*\*([A-Z]+-?\d+[a-z]?)\*\*", page)}

    @cached_property
    def decisions(self) -> set[str]:
        """The numbers of the records of decisions."""
        return {name.split("/")[-1][:4] for name in self.files if name.startswith("docs/adr/")}

    def text(self, name: str) -> str:
        """A file's text; "" if there is none."""
        path = self.root / name
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def places(self, cited: str, citing: str) -> list[str]:
        """The files that ``cited`` can mean, said in the file ``citing``."""
        folder = citing.rsplit("/", 1)[0] if "/" in citing else ""
        near = str(Path(folder, cited)) if folder else cited
        parts = Path(near).parts
        flat: list[str] = []
        for part in parts:
            flat = flat[:-1] if part == ".." and flat else [*flat, part]
        names = ["/".join(flat), cited.removeprefix("./")]
        exact = [name for name in names if name in self.files]
        return exact or [name for name in self.files if name.endswith(f"/{cited}")]


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """What people read in a file, with the lines where it begins."""
    suffix = Path(name).suffix
    if suffix == ".md":
        yield 1, without_code(text)
    elif suffix == ".py":
        yield from _python(text)
    elif suffix in SCRIPTS:
        yield from ((text.count("\n", 0, m.start()) + 1, m[0]) for m in _COMMENT.finditer(text))


def _python(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def dangling(repository: Repository, name: str, text: str) -> Iterator[str]:
    """What a file cites that isn't there, as ``path:line citation``."""
    for line, said in prose(name, text):
        for place, cited in _dangling(repository, name, re.sub(r"https?://\S+", lambda m: " " * len(m[0]), said)):
            yield f"{name}:{line + said.count(chr(10), 0, place)} {cited}"


def _dangling(repository: Repository, name: str, said: str) -> Iterator[tuple[int, str]]:
    yield from _files(repository, name, said)
    for pattern, known in (
        (ID, repository.ids),
        (SPECIFICATION, repository.ids),
        (DECISION, repository.decisions),
    ):
        yield from ((m.start(), m[0]) for m in pattern.finditer(said) if m[1] not in known)
    yield from ((m.start(), m[0]) for pattern in (PAPER, ISSUE) for m in pattern.finditer(said))
    yield from ((m.start(), m[0]) for m in MODULE.finditer(said) if not _is_there(repository, m[1]))


def _files(repository: Repository, name: str, said: str) -> Iterator[tuple[int, str]]:
    for m in FILE.finditer(said):
        cited, heading = m[1], m[2]
        if not (cited.endswith(".md") or "/" in cited):
            continue
        places = repository.places(cited, name)
        if not places or (heading and all(heading not in anchors(repository.text(place)) for place in places)):
            yield m.start(), m[0]


def _is_there(repository: Repository, dotted: str) -> bool:
    """Whether a dotted name is a package, a module, or something that a module has."""
    if dotted in GROUPS:
        return True
    parts = dotted.split(".")
    base = {"agui_gate": "server", "agui_gate_adapters": "adapters"}[parts[0]]
    for cut in range(len(parts), 0, -1):
        path = "/".join([base, *parts[:cut]])
        for file in (f"{path}.py", f"{path}/__init__.py"):
            if file in repository.files:
                return all(re.search(rf"\b{part}\b", repository.text(file)) for part in parts[cut:])
    return False


def lost_links(repository: Repository, name: str, text: str, address: str) -> Iterator[str]:
    """Links of a Markdown file that lead nowhere: to files and headings here, also by the project's ``address``."""
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text, inline=False)):
        path, _, heading = target.partition("#")
        for branch in ("/blob/main/", "/tree/main/"):
            path = path.replace(f"{address}{branch}", "/")
        path = path.replace(address.replace("github.com", "raw.githubusercontent.com") + "/main/", "/")
        if re.match(r"[a-z]+:", path):
            continue
        place = (repository.root / path[1:]) if path.startswith("/") else (repository.root / name).parent / path
        place = place if path else repository.root / name
        if not place.exists() or (heading and heading not in anchors(place.read_text(encoding="utf-8"))):
            yield f"{name} {target}"
