"""Changes the code in one place at a time, and tells which changes no test notices.

``python -m tests.mutants --count 60 --seed 1 core/sanitizer`` (or ``make mutants``) takes a sample of the places in
these modules: conditions negated, comparisons and numbers off by one, values swapped, calls and errors left out. The
tests are collected once. Each change is made in a forked process, in the functions that are loaded there: no file is
written. There those tests run that enter the changed function, until one fails. Tests marked `spare` come last, so that
it is told what they alone notice.
"""

import argparse
import ast
import contextlib
import functools
import importlib
import inspect
import json
import os
import random
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, BinaryIO, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SERVER, ADAPTERS = "server/agui_gate", "adapters/agui_gate_adapters"
ENGINE = ("tests/approvals", "tests/runs", "tests/turns", "tests/threads", "tests/readers", "tests/extras")
SELECTIONS: dict[str, tuple[str, ...]] = {
    f"{SERVER}/core": ("tests/core", "tests/protocol", "tests/agents", *ENGINE),
    f"{SERVER}/protocol": ("tests/protocol", "tests/core", "tests/spec", *ENGINE),
    f"{SERVER}/approvals": (*ENGINE, "tests/product/test_approvals.py", "tests/product/test_answer_paths.py"),
    f"{SERVER}/runs": (*ENGINE, "tests/product/test_cancel.py", "tests/product/test_restart.py"),
    f"{SERVER}/turns": (*ENGINE, "tests/product/test_tools.py", "tests/product/test_mixed_turns.py"),
    f"{SERVER}/threads": (*ENGINE, "tests/product/test_threads.py", "tests/product/test_history.py"),
    f"{SERVER}/stores/sql": ("tests/stores",),
    f"{ADAPTERS}/common": ("tests/adapters", "tests/conformance"),
    f"{ADAPTERS}/openai_chat": ("tests/adapters/openai_chat", "tests/conformance"),
    f"{ADAPTERS}/openai_responses": ("tests/adapters/openai_responses", "tests/conformance"),
    f"{ADAPTERS}/anthropic_messages": ("tests/adapters/anthropic_messages", "tests/conformance"),
}
"""Where each folder's tests are."""
SECONDS = 60.0
"""A test that takes so long has noticed the change: something waits for ever."""

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: the ``number``-th place of a function (``name``, as in its module)."""

    path: str
    name: str
    first_line: int
    number: int
    line: int
    what: str


class Changed(ast.NodeTransformer):
    """Changes the ``number``-th place of a function; -1: none. ``places``: all of them, line and change."""

    def __init__(self, number: int = -1) -> None:
        self.number, self.places = number, list[tuple[int, str]]()

    def _here(self, node: ast.stmt | ast.expr, what: str) -> bool:
        self.places.append((node.lineno, what))
        return len(self.places) - 1 == self.number

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> ast.AST:
        if self._here(node.test, f"not ({ast.unparse(node.test)[:50]})"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return self.generic_visit(node)

    visit_IfExp = visit_While = visit_If

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        other = COMPARED[type(node.ops[0])]
        if self._here(node, f"{ast.unparse(node)[:50]}: {other.__name__}"):
            node.ops[0] = other()
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._here(node, f"{ast.unparse(node)[:50]}: and for or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) and self._here(node, f"not {node.value}"):
            return ast.copy_location(ast.Constant(not node.value), node)
        if type(node.value) is int and self._here(node, f"{node.value} + 1"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call | ast.Await) and self._here(node, f"without {ast.unparse(node)[:60]}"):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if self._here(node, f"without {ast.unparse(node)[:60]}") else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if self._here(node, f"without {ast.unparse(node)[:60]}"):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of a module and the methods of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            inner = (n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
            yield from ((f"{node.name}.{n.name}", n) for n in inner)


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change of a module that is tried."""
    for name, node in functions(ast.parse(path.read_text(encoding="utf-8"))):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        found = Changed()
        for statement in node.body:
            found.visit(statement)
        for number, (line, what) in enumerate(found.places):
            yield Mutant(str(path.relative_to(ROOT)), name, first, number, line, what)


def live(mutant: Mutant) -> FunctionType | None:
    """The loaded function, without what is wrapped around it."""
    module = Path(mutant.path).with_suffix("").parts[1:]
    found: Any = importlib.import_module(".".join(module[:-1] if module[-1] == "__init__" else module))
    for part in mutant.name.split("."):
        found = inspect.getattr_static(found, part, None)
    for _ in range(5):
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, functools.cached_property):
            found = found.func
        else:
            found = getattr(found, "__func__", getattr(found, "__wrapped__", found))
    right = isinstance(found, FunctionType) and found.__code__.co_firstlineno == mutant.first_line
    return found if right else None


def code(mutant: Mutant) -> CodeType:
    """The changed function's code."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    node = dict(functions(tree))[mutant.name]
    change = Changed(mutant.number)
    node.body = [change.visit(statement) for statement in node.body]
    whole = compile(ast.fix_missing_locations(tree), str(ROOT / mutant.path), "exec", dont_inherit=True)
    waiting = [whole]
    while waiting:
        one = waiting.pop()
        if one.co_qualname == mutant.name and one.co_firstlineno == mutant.first_line:
            return one
        waiting += [const for const in one.co_consts if isinstance(const, CodeType)]
    raise LookupError(mutant.name)


class Trial:
    """The plugin: instead of running the tests it runs them for each change, in forked processes."""

    def __init__(self, tried: Sequence[Mutant], report: Path) -> None:
        self.tried, self.report, self.out = tried, report, os.dup(1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.unregister(name="terminalreporter")
        items = sorted(session.items, key=lambda item: item.get_closest_marker("spare") is not None)
        entered = self._apart(self._entered, session, items)
        if not isinstance(entered, dict):
            raise pytest.UsageError(f"the tests fail without any change: {entered}")
        for mutant in self.tried:
            where = [items[n] for n in entered.get(f"{ROOT / mutant.path}:{mutant.first_line}", ())]
            self._say(mutant, *self._tried(session, mutant, where))
        return True

    def _tried(self, session: pytest.Session, mutant: Mutant, where: Sequence[pytest.Item]) -> tuple[str, str]:
        """What came of a change, and by which test or why."""
        function, new = live(mutant), code(mutant)
        if function is None or function.__code__.co_freevars != new.co_freevars:
            return "not tried", "the function is not found"
        by = self._apart(self._changed, session, where, function, new)
        if by is None:
            return "SURVIVED", f"{len(where)} tests"
        spare = any(item.nodeid == by and item.get_closest_marker("spare") for item in where)
        return "only spare" if spare else "noticed", by

    def _say(self, mutant: Mutant, came: str, by: str) -> None:
        line = f"{came:10} {mutant.path}:{mutant.line} {mutant.name}: {mutant.what} ({by})"
        os.write(self.out, f"{line}\n".encode())
        with self.report.open("a", encoding="utf-8") as report:
            report.write(json.dumps([came, *mutant, by]) + "\n")

    def _apart(self, what: Any, *about: Any) -> Any:
        """What a function finds out in a process of its own; the id of the test that takes too long or ends that."""
        reading, self.progress = os.pipe()
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            try:
                found = what(*about)
            except BaseException as error:
                found = f"{type(error).__name__}"
            self._write({"found": found})
            os._exit(0)
        os.close(self.progress)
        with open(reading, "rb") as pipe:
            said = self._last_line(pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return said["found"] if "found" in said else said.get("test", "died")

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self.progress, json.dumps(line).encode() + b"\n")

    @staticmethod
    def _last_line(pipe: BinaryIO) -> dict[str, Any]:
        """Reads until the other end is closed, or nothing comes for too long."""
        said = last = b""
        while select.select([pipe], [], [], SECONDS)[0] and (read := os.read(pipe.fileno(), 65_536)):
            *lines, said = (said + read).split(b"\n")
            last = lines[-1] if lines else last
        found: dict[str, Any] = json.loads(last or b"{}")
        return found

    def _entered(self, session: pytest.Session, items: Sequence[pytest.Item]) -> Any:
        """By function of the code: which tests enter it. Or the test that fails."""
        wanted = {(str(ROOT / one.path), one.first_line) for one in self.tried}
        entered: dict[str, list[int]] = {}
        here: set[str] = set()

        def watch(frame: FrameType, event: str, _: Any) -> None:
            at = frame.f_code.co_filename, frame.f_code.co_firstlineno
            if event == "call" and at in wanted:
                here.add(f"{at[0]}:{at[1]}")

        for n, item in enumerate(items):
            sys.setprofile(watch)  # again for each: a test that counts calls ends it
            threading.setprofile(watch)
            here.clear()
            if self._fails(session, [item], items[n + 1 :][:1]):
                return item.nodeid
            for key in here:
                entered.setdefault(key, []).append(n)
        sys.setprofile(None)
        return entered

    def _changed(
        self, session: pytest.Session, items: Sequence[pytest.Item], function: FunctionType, new: CodeType
    ) -> Any:
        function.__code__ = new
        return self._fails(session, items, [])

    def _fails(self, session: pytest.Session, items: Sequence[pytest.Item], after: Sequence[pytest.Item]) -> str | None:
        """The first test that fails."""
        following = [*items[1:], *after, None]
        for item, then in zip(items, following, strict=False):
            self._write({"test": item.nodeid})
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=then)
            if session.testsfailed:
                session._setupstate.teardown_exact(None)
                return item.nodeid
        return None


def main(words: list[str]) -> int:
    """1 if a change was noticed by spare tests alone: too much is spare then."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", help="parts of paths, as core/sanitizer; default: all that have a selection"
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="*", help="instead of the selection of tests")
    parser.add_argument("--report", type=Path, help="a file that gets a line of JSON for each change")
    options = parser.parse_args(words)
    report = options.report or Path(tempfile.mkdtemp()) / "mutants.jsonl"
    sample = _sample(options)
    for folder, selection in SELECTIONS.items():
        if tried := [one for one in sample if one.path.startswith(f"{folder}/")]:
            tests = options.tests or selection
            command = ["-qq", "-p", "no:xdist", "--every", *tests]
            pytest.main(command, plugins=[Trial(tried, report)])
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    came = [line[0] for line in lines]
    print({kind: came.count(kind) for kind in sorted(set(came))}, report)
    return int("only spare" in came)


def _sample(options: argparse.Namespace) -> list[Mutant]:
    paths = [path for folder in SELECTIONS for path in sorted((ROOT / folder).rglob("*.py"))]
    wanted = [path for path in paths if not options.modules or any(part in str(path) for part in options.modules)]
    every = [mutant for path in wanted for mutant in mutants(path)]
    return sorted(random.Random(options.seed).sample(every, min(options.count, len(every))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
