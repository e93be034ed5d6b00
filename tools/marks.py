"""Which ids the tests name with a mark such as `@shows("S1")`. Read from the sources: no test has to run for it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
MODULES = sorted(path for path in TESTS.rglob("test_*.py") if "node_modules" not in path.parts)


@dataclass(frozen=True, slots=True)
class Marked:
    """A test (file, `::`, name) with the ids that its decorators, its class or its module's mark name."""

    test: str
    name: str
    ids: tuple[str, ...]


def marked(mark: str, modules: list[Path] | None = None) -> Iterator[Marked]:
    """Every test of the modules (of all, if none are given), with the ids that it names by one kind of mark."""
    for path in MODULES if modules is None else modules:
        yield from _of_module(path, mark)


def _of_module(path: Path, mark: str) -> Iterator[Marked]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = [i for n in tree.body if isinstance(n, ast.Assign) and _target(n) == "pytestmark" for i in named(n, mark)]

    def of(name: str, ids: list[str]) -> Marked:
        return Marked(f"{path.relative_to(TESTS).as_posix()}::{name}", name, tuple(ids))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield of(node.name, module + _decorated(node, mark))
        elif isinstance(node, ast.ClassDef):  # a hypothesis state machine's TestCase runs as a class
            yield of(node.name, _decorated(node, mark))
        elif isinstance(node, ast.Assign) and _target(node).startswith("Test"):
            yield of(_target(node), module + named(node, mark))


def named(node: ast.AST, mark: str) -> list[str]:
    """The ids in every call of ``mark`` under ``node``."""
    found = []
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == mark:
            found += [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return found


def _target(node: ast.Assign) -> str:
    return node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, mark: str) -> list[str]:
    return [i for decorator in node.decorator_list for i in named(decorator, mark)]
