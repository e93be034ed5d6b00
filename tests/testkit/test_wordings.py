"""Where the emulator's words are from stands next to them: a rule, a public report, or that they are inferred."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import shows

pytestmark = shows("T11")

ROOT = Path(__file__).resolve().parents[2]
TESTKIT = ROOT / "adapters/agui_gate_adapters/testkit"
CATALOGUES = [
    "openai/violations.py",
    "responses/violations.py",
    "chat/violations.py",
    "anthropic/violations.py",
]
"""A refusal is a function here."""

INLINE = [
    "responses/item_checks.py",
    "chat/message_checks.py",
    "anthropic/checks.py",
    "anthropic/fields.py",
    "anthropic/shapes.py",
    "anthropic/thinking_blocks.py",
]
"""Words stand in the checks here, and the head of the module says where they are from."""

_REPORT = re.compile(r"\b[\w.-]+/[\w.-]+#\d+")
_RULE = re.compile(r"\b([RCA]\d+[bc]?)\b")
_SAID = re.compile(r"[Ii]nferred|^Strict:|[Tt]he words are the caller's|llama\.cpp's words")
_RULES = set(re.findall(r"\*\*([RCA]\d+[bc]?)\*\*", (ROOT / "docs/wire-rules.md").read_text()))


def refusals() -> Iterator[tuple[str, str]]:
    for module in CATALOGUES:
        for node in ast.parse((TESTKIT / module).read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.returns and ast.unparse(node.returns) == "Violation":
                yield f"{module}:{node.name}", ast.get_docstring(node) or ""


@pytest.mark.parametrize(("name", "said"), [pytest.param(*one, id=one[0]) for one in refusals()])
def test_each_refusal_says_where_its_words_are_from(name: str, said: str) -> None:
    rules = set(_RULE.findall(said))
    assert rules <= _RULES, name
    assert rules or _REPORT.search(said) or _SAID.search(said), name


@pytest.mark.parametrize("module", INLINE)
def test_checks_with_words_of_their_own_say_so_too(module: str) -> None:
    said = ast.get_docstring(ast.parse((TESTKIT / module).read_text())) or ""
    assert "inferred" in said, module
