"""Which tests of the product are scenarios for replicas, and which are not, with the reason. Read from the sources.

A scenario starts the server with `product` or `running`, speaks to it over HTTP, and looks at what its tools did, at
the provider, and at what it is sent. Nothing of that is in the server's process, so the server may be any number of
them. A test that looks into the process is for one process. `why_not` finds out by the names that a test uses,
its module's helpers included; what names don't tell is in `LEFT_OUT`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agui_gate_adapters.testkit import conformance
from tests.requirements import REQUIREMENTS
from tools.marks import TESTS, marked

SUITE = Path(conformance.__file__).parent
FOLDERS = ("product", "conformance")

INSIDE = {
    "started": "runs in the test's own process, without a socket",
    "app.state": "looks into the server's process",
    "MemoryStore": "brings a store of its own",
    "SQLiteStore": "brings a store of its own",
    "sqlite3": "looks into the store's file",
    "open_store": "looks into the store's file",
    "capture_logs": "looks at the server's log",
    "__setattr__": "changes the agent while it is served",
    "monkeypatch": "changes the server's code while it runs",
    "Watched": "looks into the adapter, in the server's process",
}
"""What a test may not use, by name."""

STARTS = {"product", "running", "serving", "ground"}
"""What starts a server on a socket."""

LEFT_OUT = {
    "conformance/test_stranger.py::test_a_failing_scenario_says_what_is_behind_it": "about a failure",
    "product/test_bad_input.py::test_a_sample_over_real_sockets": "its application is made beforehand",
    "product/test_decisions.py::test_while_the_tool_s_source_is_away_a_yes_waits_and_a_no_counts": "tools change",
    "product/test_hosted_approvals.py::test_a_stop_before_the_request_leaves_the_yes_for_the_next_run": (
        "its instructions wait in the server's process"
    ),
    "product/test_kept_results.py": "locks SQLite's file, or fills its disk",
    "product/test_kept_elsewhere.py": "spoils the store that it has named, which none of the replicas has",
    "product/test_handoffs.py::test_tools_of_the_heir_s_own_source": "tools change",
    "product/test_restore_drill.py": "its backup is of the store that it has named, which none of the replicas has",
    "product/test_foundry.py": "changes the adapter's clock",
    "product/test_subagents_live.py::test_two_tasks_at_once_ask_for_the_tools_of_their_agent_once": "tools change",
    "product/test_teams_at_random.py": "its servers die at a write of the store that it has named",
    "product/test_tools.py::test_what_a_tool_says_went_wrong_may_be_more_than_text": "a local error",
    "product/test_weeks_in_tasks.py::test_where_a_task_is_left_those_inside_it_have_an_end_too": "its team changes",
    "product/test_http.py::test_mounted_in_another_application": "about an application around ours",
}
"""Tests that make no sense over replicas though their names don't tell: a file, or a file with one test."""

NOT_SHOWN = {
    "S7": "about the maximum size of the in-process registry; the ledger has none",
    "S8": "about the Python interface of the in-process registry",
    "B20": "measured in one process",
    "B23": "about the source code",
}
"""Requirements of the scenarios that no scenario shows over replicas, and why."""

WANTED = [i for i in REQUIREMENTS if i[0] in "SB"]
"""The requirements whose scenarios have to hold over replicas."""


def files() -> list[Path]:
    """The files that scenarios are taken from."""
    return [path for folder in FOLDERS for path in sorted((TESTS / folder).glob("test_*.py"))]


@cache
def shown() -> dict[str, list[str]]:
    """Each requirement with the scenarios (`file::test`) that show it."""
    by_id: dict[str, list[str]] = {}
    for test in marked("shows", files()):
        if why_not(test.test) is None:
            for i in test.ids:
                by_id.setdefault(i, []).append(test.test)
    return by_id


@cache
def why_not(test: str) -> str | None:
    """Why a test (`file::test`, from `tests/` on) is none for replicas; None where it is."""
    file, _, name = test.partition("::")
    if not file.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
        return "not a test of the whole product"
    if reason := LEFT_OUT.get(test) or LEFT_OUT.get(file):
        return reason
    used = _used(TESTS / file).get(name) or _of_the_suite().get(name, frozenset())
    if not used & STARTS:
        return "starts no server"
    return next((reason for word, reason in INSIDE.items() if word in used), None)


@cache
def _used(path: Path) -> dict[str, frozenset[str]]:
    """For each function of a module the names that it uses, itself or by way of the module's others."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    direct = {
        node.name: set(_names(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    return {name: frozenset(_closed(name, direct)) for name in direct}


@cache
def _of_the_suite() -> dict[str, frozenset[str]]:
    """The same for the tests that every adapter's suite inherits."""
    return {name: used for path in sorted(SUITE.glob("*.py")) for name, used in _used(path).items()}


def _closed(name: str, direct: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = direct.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _names(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr="state", value=ast.Attribute(attr="app")):
                yield "app.state"
            case ast.Attribute(attr=name):
                yield name


def ids(name: str, marks: list[str]) -> set[str]:
    """What a test shows: by its own name, and by marks."""
    in_name = re.match(r"test_([sbt]\d+)_", name)
    return {*marks, *([in_name[1].upper()] if in_name else [])}
