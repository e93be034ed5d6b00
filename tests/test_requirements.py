"""The list of requirements and the tests agree, both ways. Read from the sources: no other test has to run for it.

A test names ids with `@shows("S1")`, or with its own name: `test_s24_…` shows S24.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS, shows

TESTS = Path(__file__).resolve().parent
MODULES = sorted(path for path in TESTS.rglob("test_*.py") if "node_modules" not in path.parts)


def named(node: ast.AST) -> list[str]:
    """The ids in every `shows(…)` under ``node``."""
    found = []
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "shows":
            found += [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return found


def evidence(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Each test of a module with the ids that its decorators, its class and the module's `pytestmark` name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    marks = [named(n) for n in tree.body if isinstance(n, ast.Assign) and _targets(n) == ["pytestmark"]]
    everywhere = [i for ids in marks for i in ids]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield f"{path.relative_to(TESTS)}::{node.name}", everywhere + _decorated(node)
        elif isinstance(node, ast.ClassDef):  # a hypothesis state machine's TestCase runs as a class
            yield f"{path.relative_to(TESTS)}::{node.name}", _decorated(node)
        elif isinstance(node, ast.Assign) and _targets(node)[0].startswith("Test"):
            yield f"{path.relative_to(TESTS)}::{_targets(node)[0]}", everywhere + named(node)


def _targets(node: ast.Assign) -> list[str]:
    return [t.id if isinstance(t, ast.Name) else "" for t in node.targets]


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    in_name = re.match(r"test_([sbt]\d+)_", node.name)
    own = [in_name[1].upper()] if in_name else []
    return own + [i for decorator in node.decorator_list for i in named(decorator)]


SHOWN = dict(pair for path in MODULES for pair in evidence(path))


def test_every_requirement_has_a_test() -> None:
    shown = {i for ids in SHOWN.values() for i in ids}
    assert [i for i in REQUIREMENTS if i not in shown] == []


def test_every_named_requirement_exists() -> None:
    assert {test: ids for test, ids in SHOWN.items() if set(ids) - set(REQUIREMENTS)} == {}


def test_every_test_of_the_product_names_a_requirement() -> None:
    assert [test for test, ids in SHOWN.items() if test.startswith("product/") and "::test_" in test and not ids] == []


def test_ids_are_permanent() -> None:
    assert list(REQUIREMENTS) == [
        f"{kind}{n}" for kind, last in (("S", 33), ("B", 28), ("T", 24), ("H", 2)) for n in range(1, last + 1)
    ]


@pytest.mark.parametrize("ids", [(), ("S0",), ("S1", "b2")])
def test_an_unknown_id_is_refused(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no such requirement"):
        shows(*ids)
