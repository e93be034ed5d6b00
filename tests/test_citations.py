"""Nothing cites what isn't there: files, headings, promises, rules, records of decisions, code."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.test_structure import ROOT, tracked_files
from tools.citations import Repository, dangling, lost_links

FOLDERS = ("server/", "adapters/", "tests/", "tools/", "examples/", "frontend-demo/", "components/", "docs/")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ADDRESS: str = PROJECT["urls"]["Homepage"]

FILES = tuple(str(path.relative_to(ROOT)).replace("\\", "/") for path in tracked_files())
HERE = Repository(ROOT, FILES)
CITING = [name for name in FILES if name.startswith(FOLDERS) or ("/" not in name and name.endswith(".md"))]
APART = (
    *("server/agui_gate/extras/metrics/files/alerts.yml", "tests/crash/alerts_test.yml"),
    *("server/agui_gate/cli/program.py", "docs/commands.md"),
)
"""What is read apart from the repository."""
PAGES = [name for name in CITING if name.endswith(".md")]


def test_what_is_cited_is_there() -> None:
    assert [line for name in CITING for line in dangling(HERE, name, HERE.text(name))] == []


def test_every_link_between_pages_leads_somewhere() -> None:
    assert [line for name in PAGES for line in lost_links(HERE, name, HERE.text(name), ADDRESS)] == []


def test_the_readme_works_on_a_package_index() -> None:
    relative = [t for t in re.findall(r"\]\(([^)\s]+)\)", HERE.text("README.md")) if not t.startswith(("http", "#"))]
    assert relative == [], "a package index has no repository around it: write whole addresses"


def test_the_project_has_one_address() -> None:
    assert all(address.startswith(ADDRESS) for address in PROJECT["urls"].values())
    inside = re.compile(r"https://(?:raw\.)?github(?:usercontent)?\.com/agui-gate/[\w-]*")
    elsewhere = {name for name in CITING if inside.search(HERE.text(name))} - {
        "README.md",
        "tests/test_citations.py",
        *APART,
    }
    assert elsewhere == set(), "pages link to each other by their paths"


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = sorted(name.split("/")[-1][:4] for name in FILES if name.startswith("docs/adr/"))
    assert sorted(set(numbers)) == numbers


def test_docs_are_in_the_source_distribution() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert "/docs" in built["targets"]["sdist"]["include"]


def test_the_design_names_code_that_is_there() -> None:
    page = HERE.text("docs/design.md")
    named = re.findall(r"\[`[\w/.]+`\]\(\.\./([\w/.]+\.py)\) `([\w.]+)`", page)
    assert len(named) > 8
    assert [pair for pair in named if pair[1] not in defined(ROOT / pair[0])] == []


def defined(path: Path) -> set[str]:
    """Functions, classes and methods of a module, as ``name`` and ``Class.name``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    outer = {node.name for node in tree.body if isinstance(node, kinds)}
    inner = {
        f"{node.name}.{below.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for below in node.body
        if isinstance(below, kinds)
    }
    return outer | inner


CITED = {
    "a paper that is not here": ("server/x.py", '"""As PAPERS.md says."""'),
    "a heading that is not there": ("server/x.py", '"""As docs/design.md#no-such-heading says."""'),
    "a file of code that is not there": ("server/x.py", "# see engine/nothing.py"),
    "a promise": ("tests/test_x.py", '"""Shows B99."""'),
    "a rule": ("adapters/x.py", '"""R77: refused."""'),
    "a rule of the specification": ("server/x.py", '"""As LIFE-99 wants."""'),
    "a decision": ("server/x.py", "# ADR 0999"),
    "a section of nothing": ("server/x.py", '"""The order (design §4)."""'),
    "notes": ("server/x.py", '"""Split at an empty line (facts: protocol)."""'),
    "an issue that nobody can open": ("tests/test_x.py", '"""Issue 9, line 6: decided from the list."""'),
    "a module": ("server/x.py", '"""See `agui_gate.engine.nothing`."""'),
    "in a script": ("frontend-demo/src/x.ts", "const x = 1; // S99"),
    "in a page": ("docs/x.md", "See [that](design.md) and B77."),
}


@pytest.mark.parametrize(("name", "text"), CITED.values(), ids=CITED.keys())
def test_a_citation_that_leads_nowhere_is_found(name: str, text: str) -> None:
    assert len(list(dangling(HERE, name, text))) == 1


def test_citations_that_lead_somewhere_are_left_alone() -> None:
    text = '"""S1, B9, T4, R12, R6b, A3, C7; ADR 0007; docs/design.md#the-layout; core/approvals.py; RFC 8785 §3.2."""'
    assert list(dangling(HERE, "server/x.py", text)) == []
    assert list(dangling(HERE, "server/x.py", '"""`agui_gate.core.approvals.MOVES`, https://example.org/x.md"""')) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = f"[a](nothing.md) [b](design.md#nothing) [c]({ADDRESS}/blob/main/nothing.md) [d](design.md#one-run)"
    found = [line.split(" ", 1)[1] for line in lost_links(HERE, "docs/x.md", text, ADDRESS)]
    assert found == ["nothing.md", "design.md#nothing", f"{ADDRESS}/blob/main/nothing.md"]
