"""What keeps the code changeable: sizes, the public face, the direction of imports, the cost of an import.

import-linter holds the arrows between the layers (`make check`); the two rules here are allow-lists, which it can't
express for a package's own root.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import agui_gate
from agui_gate import extension, store, testing
from agui_gate_adapters import testkit
from agui_gate_adapters.testkit import agui, conformance, spec
from tests.requirements import shows

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "server"
ADAPTERS = ROOT / "adapters"
MODULES = sorted([*SERVER.rglob("*.py"), *ADAPTERS.rglob("*.py")])

MAX_MODULE_LINES = 450
MAX_FUNCTION_LINES = 50
NOUNS = {"encrypted_reasoning", "feed", "reasoning", "testing"}
"""Names of modules that are nouns, though they end as a participle does."""

MOST_MODULES = 340

VERSION_NAMES = re.compile(r"(?:(?:is|declares|sends|has)_)?(?:[vV][012](?:_\w+)?|extras|protocol_version)|is_newer")
PASSED_ON = {"approvals/out_of_band.py: protocol_version"}
"""Where a record's version is passed on to the run that goes on by itself."""

# Addresses of package registries, and absolute paths of somebody's machine, wherever they stand.
ADDRESSES = re.compile(
    r"registry\.[a-z]+js\.|registry\.yarnpkg|pypi\.[a-z]+/simple|pythonhosted\.|--(?:extra-)?index-url"
)
MACHINE_PATHS = re.compile(r"(?<![\w.:/~-])/(?:work|root|home|Users)/\w|\b[A-Z]:\\\\?Users")
UNEXPLAINED = re.compile(r"# (?:noqa|type: ignore)(?:: [A-Z0-9, ]+|\[[\w, -]+\])?\W*$")
TEXT_LIMIT = 2_000_000
# What set-up and builds leave in a checkout.
MADE = {"__pycache__", "build", "dist", "node_modules"}


@shows("B23")
def test_no_module_is_too_long() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULE_LINES} == {}


@shows("B23")
def test_no_function_is_too_long() -> None:
    sizes = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION_LINES} == {}


def test_modules_are_named_by_nouns() -> None:
    """A name says what a module is (`heartbeat`), not what it does (`beating`) or how (`again`)."""
    names = {part.removesuffix(".py") for path in MODULES for part in path.relative_to(ROOT).parts[2:]}
    assert {name for name in names if name.endswith(("ing", "ed", "ly"))} - NOUNS == set()


def test_all_is_sorted_and_equals_what_is_visible() -> None:
    exported = [name for name in agui_gate.__all__ if not name.startswith("_")]
    values = {name: getattr(agui_gate, name) for name in exported}  # loads what is lazy
    assert None not in values.values()
    ours = {name for name in {*vars(agui_gate), *dir(agui_gate)} if not name.startswith("_")}
    visible = {name for name in ours - {"TYPE_CHECKING"} if not isinstance(getattr(agui_gate, name), ModuleType)}
    assert list(agui_gate.__all__) == sorted(agui_gate.__all__)
    assert set(exported) == visible


def test_what_extends_the_server_finds_its_names() -> None:
    assert agui_gate.__version__ == version("agui-gate")
    for module in (extension, store):
        assert list(module.__all__) == sorted(module.__all__)
    examples = [path.read_text() for path in (ROOT / "examples").rglob("*.py")]
    deeper = re.compile(
        r"^(?:from|import) (agui_gate\.(?!adapter\b|client\b|errors\b|extension\b|store\b|telemetry\b|testing\b)\S+)",
        re.MULTILINE,
    )
    assert [name for text in examples for name in deeper.findall(text)] == []


def test_what_tests_need_is_in_one_module() -> None:
    kit = {*testkit.__all__, *agui.__all__, *conformance.__all__, *spec.__all__}
    public = kit - {"main", "parse"}
    assert public <= set(testing.__all__)
    assert [name for name in testing.__all__ if getattr(testing, name, None) is None] == []
    assert set(testing.__all__) <= set(dir(testing))
    program = "import agui_gate.testing, sys; print('pytest' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, timeout=60, text=True
    ).stdout
    assert said == "False\n", "only the conformance suite needs pytest"


@shows("B23")
def test_importing_the_package_is_cheap() -> None:
    """What is loaded is counted: the time it takes is another machine's (`make bench`), and so many take 0.2 s."""
    program = "import agui_gate, sys; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, check=True, timeout=60, text=True).stdout
    loaded = Counter(name.partition(".")[0] for name in said.split())
    assert not {"anthropic", "anyio", "httpx2", "mcp", "openai", "pydantic", "starlette", "uvicorn"} & set(loaded)
    del loaded["rich"], loaded["pygments"]  # structlog's, where a tool for development brings them
    assert loaded.total() < MOST_MODULES, loaded.most_common(20)


def test_core_imports_nothing_of_ours_but_errors() -> None:
    assert stray_imports(SERVER / "agui_gate/core", SERVER, ("agui_gate.core", "agui_gate.errors")) == []


def test_nothing_outside_protocol_asks_which_dialect_a_client_has() -> None:
    """It has the names of `protocol/dialects/base.py`, and a choice to pass on."""
    package = SERVER / "agui_gate"
    dialects = "agui_gate.protocol.dialects"
    allowed, asking = f"{dialects}.base", {f"{dialects}.base.{name}" for name in ("declares_v1", "is_newer")}
    places = [p for p in package.iterdir() if p.name != "protocol"]
    files = sorted(file for place in places for file in ([place] if place.is_file() else place.rglob("*.py")))
    strays = [
        f"{path.relative_to(SERVER)}:{line} {name}"
        for path in files
        if path.suffix == ".py"
        for line, name in imported(path, SERVER)
        if name.startswith(dialects) and (not name.startswith(allowed) or name in asking)
    ]
    assert strays == []
    questions = {f"{path.relative_to(package)}: {name}" for path in files for name in versions_asked(path)}
    assert questions - PASSED_ON == set()


def versions_asked(path: Path) -> set[str]:
    """What a module asks of a client's version, by the names that such questions have had."""
    if path.suffix != ".py":
        return set()
    read = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(getattr(node, "ctx", None), ast.Load)]
    names = {node.attr for node in read if isinstance(node, ast.Attribute)}
    names |= {node.id for node in read if isinstance(node, ast.Name)}
    return {name for name in names if VERSION_NAMES.fullmatch(name)}


def test_adapters_import_the_port_and_the_errors_only() -> None:
    allowed = ("agui_gate_adapters", "agui_gate.adapter", "agui_gate.errors", "agui_gate.client")  # a library as others
    strays = stray_imports(ADAPTERS / "agui_gate_adapters", ADAPTERS, allowed)
    # What every user may import too.
    public = (" agui_gate", *(f" agui_gate.{name}" for name in agui_gate.__all__))
    pure = (" agui_gate.core.json_changes.NotApplicable", " agui_gate.core.json_changes.patched")
    reader = (" agui_gate.config.sources.read_secret",)  # one for all secrets in files
    assert [stray for stray in strays if not stray.endswith(public + pure + reader)] == []


@shows("B23")
def test_what_a_checker_is_told_to_leave_alone_has_a_reason() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}"
        for path in MODULES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNEXPLAINED.search(line)
    ]
    assert found == []


def test_nothing_names_a_registry_or_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if ADDRESSES.search(line) or MACHINE_PATHS.search(line)
    ]
    assert found == []


def test_the_rules_of_this_file_can_fail(tmp_path: Path) -> None:
    package = tmp_path / "agui_gate/core"
    package.mkdir(parents=True)
    (package / "ok.py").write_text(
        "import json\nfrom agui_gate.errors import X\nfrom . import other\nfrom .. import errors\n"
    )
    assert stray_imports(package, tmp_path, ("agui_gate.core", "agui_gate.errors")) == []
    (package / "bad.py").write_text(
        "def f():\n    from ..stores import base\n    import agui_gate.core_but_not_really\n"
    )
    strays = [
        line.split(" ", 1)[1] for line in stray_imports(package, tmp_path, ("agui_gate.core", "agui_gate.errors"))
    ]
    assert strays == ["agui_gate.stores.base", "agui_gate.core_but_not_really"]
    (package / "asking.py").write_text("if it.v1 and not it.extras: say(run.protocol_version)\n")
    assert versions_asked(package / "asking.py") == {"v1", "extras", "protocol_version"}
    for line in ("see /" + "home/ann/x", "(/" + "work/x)", "C:\\" + "Users"):
        assert MACHINE_PATHS.search(line)
    assert ADDRESSES.search('"resolved": "https://registry.' + 'npmjs.org/x"')
    for line in ("x = 1  # noqa", "x = 1  # noqa: B008", "x = y  # type: ignore[arg-type]", "x = 1  # noqa: S1, S2 "):
        assert UNEXPLAINED.search(line), line
    for line in ("x = 1  # noqa: B008 immutable", "x = y  # type: ignore[arg-type]  # both are kinds"):
        assert not UNEXPLAINED.search(line), line
    for line in ("https://example.org/home/x", "GET /threads/home", "~/work/x"):
        assert not MACHINE_PATHS.search(line)


def test_what_a_next_version_would_bring_can_still_be_put_into_this_one() -> None:
    """For the upgrades that `tests/replicas` makes: who changes these places says there how it is done now."""
    told = "print(schema.known(), schema.OLDEST_READER, *approvals.State)"
    modules = (
        "import agui_gate.http.app; from agui_gate.core import approvals; from agui_gate.stores.postgres import schema"
    )
    said = []
    for become in ("", "from tests.replicas.newer import become; become(2); "):
        command = [sys.executable, "-c", f"{become}{modules}; {told}"]
        said.append(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60, text=True).stdout)
    (known, oldest, *states), newer = (line.split() for line in said)
    assert newer == [str(int(known) + 2), str(int(known) + 1), *states, "snoozed"]
    assert int(oldest) <= int(known)


def stray_imports(package: Path, root: Path, allowed: tuple[str, ...]) -> list[str]:
    """Imports of our own modules that are none of `allowed`, also those inside functions and TYPE_CHECKING."""
    return [
        f"{path.relative_to(root)}:{line} {name}"
        for path in sorted(package.rglob("*.py"))
        for line, name in imported(path, root)
        if name.split(".")[0].startswith("agui_gate")
        if not any(name == prefix or name.startswith(f"{prefix}.") for prefix in allowed)
    ]


def imported(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Every module or attribute that a file imports, as a dotted absolute name with its line."""
    package = path.relative_to(root).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def tracked_files() -> list[Path]:
    """The files that git knows, or, without git or its records, everything that set-up and tools didn't put there."""
    git = shutil.which("git")
    listing = git and subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, timeout=60)
    names = listing.stdout.decode().split("\0") if listing and listing.returncode == 0 else []
    files = [ROOT / name for name in names if name] or list(_everything())
    return [path for path in files if path.is_file() and path.stat().st_size < TEXT_LIMIT]


def _everything() -> Iterator[Path]:
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if not any(part in MADE or (part.startswith(".") and part != ".ci") for part in parts[:-1]):
            yield path
