"""Changes the code in one place at a time, and tells which changes no test notices.

``python -m tests.mutants --count 60 --seed 1 core/sanitizer`` (or ``make mutants``) takes a sample of the places in
these modules, so many of each folder: conditions negated, comparisons and numbers off by one, values swapped, calls and
errors left out. The tests run once without any change, which tells the lines that each enters and how long it takes.
Each change is made in a forked process, in the functions that are loaded there: no file is written. There those tests
run that enter the changed statement, the quickest first, until one fails (a second time in a process of its own, or it
may have failed for want of time). After `--seconds` of tests that pass the change counts as not noticed in time.
With `--spare` tests marked so come last, so that it is told what they alone notice.
"""

import argparse
import ast
import contextlib
import functools
import importlib
import inspect
import itertools
import json
import os
import random
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, BinaryIO, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
SERVER, ADAPTERS = "server/agui_gate", "adapters/agui_gate_adapters"
ENGINE = ("tests/approvals", "tests/runs", "tests/turns", "tests/threads", "tests/readers", "tests/extras")
SELECTIONS: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(f"{SERVER}/{name}" for name in ("core", "protocol", "approvals", "runs", "turns", "threads", "readers")): (
        *("tests/core", "tests/protocol", "tests/agents", "tests/spec", *ENGINE, "tests/product"),
        *("tests/people", "tests/stores/test_capabilities.py", "tests/test_logs.py", "tests/remote"),
    ),
    (f"{SERVER}/extras",): ("tests/extras", "tests/people", "tests/product"),
    (f"{SERVER}/stores/sql",): ("tests/stores",),
    tuple(f"{ADAPTERS}/{name}" for name in ("common", "openai_chat", "openai_responses", "anthropic_messages")): (
        *("tests/adapters", "tests/conformance", "tests/product/test_structured_output.py"),
        *("tests/product/test_result_parts.py", "tests/extras/test_telemetry.py"),
    ),
}
"""Where the tests of these folders are."""
SECONDS = 60.0
"""A test that takes so much longer than five times what it took before has noticed the change: something waits."""

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
    start: int
    """The first line of the statement, and its last: of one with a body, the last before that."""
    end: int


class Changed(ast.NodeTransformer):
    """Changes the ``number``-th place of a function; -1: none. ``places``: all of them, line, change and statement."""

    def __init__(self, number: int = -1) -> None:
        self.number, self.places = number, list[tuple[int, str, int, int]]()
        self._within = (0, 0)

    def visit(self, node: ast.AST) -> Any:
        before = self._within
        if isinstance(node, ast.stmt):
            body = [*getattr(node, "body", ()), *getattr(node, "cases", ())][:1]
            first = getattr(body[0], "pattern", body[0]).lineno if body else 0
            self._within = node.lineno, max(node.lineno, first - 1) if body else node.end_lineno or node.lineno
        try:
            return super().visit(node)
        finally:
            self._within = before

    def _here(self, node: ast.stmt | ast.expr, what: str) -> bool:
        self.places.append((node.lineno, what, *self._within))
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
        for number, place in enumerate(found.places):
            yield Mutant(str(path.relative_to(ROOT)), name, first, number, *place)


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


class Entered(NamedTuple):
    """What the tests did without any change, by their place in the session: JSON."""

    lines: dict[str, list[int]]
    """By ``path:line``: who enters it."""
    took: list[float]
    used: list[float]
    """Seconds, and those of the processor."""
    failed: list[int]


class Trial:
    """The plugin: instead of running the tests it runs them for each change, in forked processes."""

    def __init__(self, tried: Sequence[Mutant], report: Path, seconds: float, spare: bool) -> None:
        self.tried, self.report, self.seconds, self.spare = tried, report, seconds, spare
        self.out = os.dup(1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.unregister(name="terminalreporter")
        items = [item for item in session.items if self.spare or not _is_spare(item)]
        found = self._apart(600 + SECONDS, self._entered, session, items)
        if not isinstance(found, list):
            raise pytest.UsageError(f"the tests end without any change: {found}")
        entered = Entered(*found)
        for n in entered.failed:
            self._print(f"left out, it fails without any change: {items[n].nodeid}")
        for mutant in self.tried:
            self._say(mutant, *self._tried(session, mutant, items, entered))
        return True

    def _tried(
        self, session: pytest.Session, mutant: Mutant, items: Sequence[pytest.Item], entered: Entered
    ) -> tuple[str, str]:
        """What came of a change, and by which test or why."""
        function, new = live(mutant), code(mutant)
        if function is None or function.__code__.co_freevars != new.co_freevars:
            return "not tried", "the function is not found"
        lines = (f"{ROOT / mutant.path}:{line}" for line in range(mutant.start, mutant.end + 1))
        there = {n for line in lines for n in entered.lines.get(line, ())} - {*entered.failed}
        order = sorted(there, key=lambda n: (_is_spare(items[n]), entered.took[n]))
        used = itertools.accumulate(entered.used[n] for n in order)
        where = [items[n] for n, so_far in zip(order, used, strict=True) if so_far <= self.seconds]
        patience = SECONDS + 5 * max((entered.took[n] for n in order), default=0)
        left = where
        while left:
            by = self._apart(patience, self._changed, session, left, function, new)
            if by is None:
                break
            left = left[[item.nodeid for item in left].index(by["test"]) :]
            if "ended" in by or self._apart(patience, self._changed, session, left[:1], function, new) is not None:
                return "only spare" if _is_spare(left[0]) else "noticed", by["test"]
            left = left[1:]
        if len(where) < len(order):
            return "not in time", f"{len(where)} of {len(order)} tests"
        return "SURVIVED", f"{len(where)} tests"

    def _say(self, mutant: Mutant, came: str, by: str) -> None:
        self._print(f"{came:11} {mutant.path}:{mutant.line} {mutant.name}: {mutant.what} ({by})")
        with self.report.open("a", encoding="utf-8") as report:
            report.write(json.dumps([came, *mutant, by]) + "\n")

    def _print(self, line: str) -> None:
        os.write(self.out, f"{line}\n".encode())

    def _apart(self, patience: float, what: Any, *about: Any) -> Any:
        """What a function finds out in a process of its own. Which test that ended with, if it ends or says nothing
        for so many seconds.
        """
        reading, self.progress = os.pipe()
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            try:
                self._write({"found": what(*about)})
            finally:
                os._exit(0)
        os.close(self.progress)
        with open(reading, "rb") as pipe:
            said = self._last_line(pipe, patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return said.get("found", {**said, "ended": True})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self.progress, json.dumps(line).encode() + b"\n")

    @staticmethod
    def _last_line(pipe: BinaryIO, patience: float) -> dict[str, Any]:
        """Reads until the other end is closed, or nothing comes for too long."""
        said = last = b""
        while select.select([pipe], [], [], patience)[0] and (read := os.read(pipe.fileno(), 65_536)):
            *lines, said = (said + read).split(b"\n")
            last = lines[-1] if lines else last
        found: dict[str, Any] = json.loads(last or b"{}")
        return found

    def _entered(self, session: pytest.Session, items: Sequence[pytest.Item]) -> Entered:
        """What the tests do without any change."""
        wanted: dict[str, set[int]] = {}
        for one in self.tried:
            wanted.setdefault(str(ROOT / one.path), set()).update(range(one.start, one.end + 1))
        found, here = Entered({}, [], [], []), set[str]()
        looked_at: dict[CodeType, bool] = {}

        def enter(frame: FrameType, _: str, __: Any) -> Any:
            code = frame.f_code
            lines = wanted.get(code.co_filename)
            if lines is None:
                return None
            if code not in looked_at:
                looked_at[code] = any(line in lines for _, _, line in code.co_lines())
            return step if looked_at[code] else None

        def step(frame: FrameType, event: str, _: Any) -> Any:
            path, line = frame.f_code.co_filename, frame.f_lineno
            if event == "line" and line in wanted[path]:
                here.add(f"{path}:{line}")
            return step

        for n, item in enumerate(items):
            sys.settrace(enter)  # again for each: a test that counts calls ends it
            threading.settrace(enter)
            here.clear()
            began, used = time.monotonic(), sum(os.times()[:4])
            if self._fails(session, [item], items[n + 1 :][:1]):
                found.failed.append(n)
                session.testsfailed = 0
            found.took.append(time.monotonic() - began)
            found.used.append(sum(os.times()[:4]) - used)
            for key in here:
                found.lines.setdefault(key, []).append(n)
        sys.settrace(None)
        return found

    def _changed(
        self, session: pytest.Session, items: Sequence[pytest.Item], function: FunctionType, new: CodeType
    ) -> Any:
        function.__code__ = new
        test = self._fails(session, items, [])
        return test and {"test": test}

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


def _is_spare(item: pytest.Item) -> bool:
    return item.get_closest_marker("spare") is not None


def main(words: list[str]) -> int:
    """1 if a change was noticed by spare tests alone: too much is spare then."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "modules", nargs="*", help="parts of paths, or lines: core/sanitizer, ids.py:12; default: all with a selection"
    )
    parser.add_argument("--count", type=int, default=15, help="of each folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="of the processor, for a change that no test notices")
    parser.add_argument("--spare", action="store_true", help="run spare tests, too")
    parser.add_argument("--tests", nargs="*", help="instead of the selection of tests")
    parser.add_argument("--report", type=Path, help="a file that gets a line of JSON for each change")
    options = parser.parse_args(words)
    samples = [[mutant for folder in folders for mutant in _sample(folder, options)] for folders in SELECTIONS]
    if not any(samples):
        parser.error(f"nothing to change in {' '.join(options.modules)}")
    with tempfile.TemporaryDirectory() as folder:
        return _run(options, samples, Path(folder))


def _run(options: argparse.Namespace, samples: Sequence[Sequence[Mutant]], folder: Path) -> int:
    report = options.report or Path(tempfile.mkdtemp()) / "mutants.jsonl"
    for tried, selection in zip(samples, SELECTIONS.values(), strict=True):
        if tried:
            tests = options.tests or selection
            command = ["-qq", "--every", f"--basetemp={folder / 'tests'}", *tests]
            pytest.main(command, plugins=[Trial(tried, report, options.seconds, options.spare)])
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    came = [line[0] for line in lines]
    print({kind: came.count(kind) for kind in sorted(set(came))}, report)
    return int("only spare" in came)


def _sample(folder: str, options: argparse.Namespace) -> list[Mutant]:
    every = [mutant for path in sorted((ROOT / folder).rglob("*.py")) for mutant in mutants(path)]
    wanted = [one for one in every if not options.modules or any(_is_part(part, one) for part in options.modules)]
    return sorted(random.Random(options.seed).sample(wanted, min(options.count, len(wanted))))


def _is_part(part: str, mutant: Mutant) -> bool:
    return part in mutant.path or f"/{mutant.path}:{mutant.line}".endswith(f"/{part}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
