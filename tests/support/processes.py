"""Tests in several processes, `pytest --numprocesses=3`: they are collected once, then each process is forked.

A process asks for tests when it is about to begin the last one it has, and sends a message for each that it has run.
The first process does with them what reports are for: counting, printing, `-x`. A process that dies costs the test that
it was in, which fails; the others that it had go to a new one. With `-n0` the first process runs all tests itself.
"""

import atexit
import os
import random
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from time import monotonic
from traceback import print_exc
from typing import Any, NoReturn

import pytest
from _pytest.runner import runtestprotocol

MOST = 50
"""Tests that a process gets at once. Neighbours share what is made for a module or a class."""
PARTS = 6
"""It gets this part at most of what would be its share of all that are left, so that all processes end together."""
END_SECONDS = 60.0
"""How long processes may take to tear down what their tests have set up, once they have run the last one or are told to
stop. A thread of a test that never ends fails the session so.
"""

FORKED = pytest.StashKey[bool]()
END = object()


def add_option(parser: pytest.Parser) -> None:
    """The option of pytest-xdist, which this is in place of."""
    group = parser.getgroup("processes")
    group._addoption(
        "-n", "--numprocesses", type=int, default=0, help="processes that run tests (0: none but this one)"
    )


def is_forked(config: pytest.Config) -> bool:
    """Whether this process is one of several that run tests."""
    return config.stash.get(FORKED, False)


def shares(count: int, processes: int) -> Iterator[list[int]]:
    """So many tests as processes get them: neighbours together, fewer of them toward the end."""
    begin = 0
    while begin < count:
        size = min(MOST, max(1, (count - begin) // (processes * PARTS)))
        yield list(range(begin, begin + size))
        begin += size


class Processes:
    """The plugin of the first process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left: deque[list[int]] = deque()
        self._running: dict[Connection, _Process] = {}
        self._begun = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests. Raises what pytest's own loop raises where it stops early."""
        if session.config.option.collectonly or session.testsfailed or len(session.items) < 2:
            return None
        self._left.extend(shares(len(session.items), self._most))
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # in which each has its own
        try:
            for _ in range(min(self._most, len(self._left))):
                self._begin(session)
            while self._running:
                ends_by = min(process.ends_by for process in self._running.values())
                heard = wait(list(self._running), None if ends_by == inf else max(0.0, ends_by - monotonic()))
                if not heard:
                    _fail(session, f"a process of the tests did not end {END_SECONDS:g} seconds after its last one")
                for pipe in heard:
                    self._hear(session, self._running[pipe])  # type: ignore[index]
                    if session.shouldfail:
                        raise session.Failed(session.shouldfail)
                    if session.shouldstop:
                        raise session.Interrupted(session.shouldstop)
        finally:
            self._stop()
        return True

    def _begin(self, session: pytest.Session) -> None:
        process = _Process(session, self._begun, list(self._running))
        self._running[process.pipe] = process
        self._begun += 1

    def _hear(self, session: pytest.Session, process: "_Process") -> None:
        try:
            reports = process.pipe.recv()
            if reports is None:
                share = self._left.popleft() if self._left else []
                process.pipe.send(share)
                process.given.extend(share)
                process.is_last = not share
        except (EOFError, OSError):
            reports = END
        if reports is END:
            self._has_ended(session, process)
        elif reports is not None:
            self._report(session, process, reports)

    def _report(self, session: pytest.Session, process: "_Process", reports: list[Any]) -> None:
        item, hook = session.items[process.given.popleft()], session.config.hook
        for data in reports:
            report = hook.pytest_report_from_serializable(config=session.config, data=data)
            item.ihook.pytest_runtest_logreport(report=report)
        if process.is_last and not process.given:
            process.ends_by = monotonic() + END_SECONDS

    def _has_ended(self, session: pytest.Session, process: "_Process") -> None:
        del self._running[process.pipe]
        code = process.wait()
        if not process.given:
            if code:
                _fail(session, f"a process of the tests ended with exit code {code} outside of a test")
            return
        item = session.items[process.given.popleft()]
        told = f"The process of this test ended in it, with exit code {code}."
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", told, "call")
        item.ihook.pytest_runtest_logreport(report=report)
        if process.given:
            self._left.appendleft(list(process.given))
        if self._left:
            self._begin(session)

    def _stop(self) -> None:
        """End the processes that are left, if any. One that doesn't end in time is killed."""
        for process in self._running.values():
            os.kill(process.pid, signal.SIGINT)
        deadline = monotonic() + END_SECONDS
        while self._running:
            pipe, process = self._running.popitem()
            with suppress(EOFError, OSError):
                while pipe.poll(max(0.0, deadline - monotonic())):
                    if pipe.recv() is None:  # it was forked so late that it has not heard the signal
                        pipe.send([])
                os.kill(process.pid, signal.SIGKILL)
            process.wait()


def _fail(session: pytest.Session, why: str) -> NoReturn:
    """End the session, and say why: what is raised alone is not printed."""
    session.shouldfail = why
    raise session.Failed(why)


class _Process:
    """A process that runs tests, as the first one sees it."""

    def __init__(self, session: pytest.Session, number: int, others: list[Connection]) -> None:
        self.pipe, theirs = Pipe()
        self.given: deque[int] = deque()
        """The tests that it has got and not reported, by their places in the session."""
        self.is_last, self.ends_by = False, inf
        """Whether it gets no more tests, and when it has to have ended."""
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            for pipe in (self.pipe, *others):  # a pipe is at its end when nobody has the other one
                pipe.close()
            _work(session, number, theirs)
        theirs.close()

    def wait(self) -> int:
        """Its exit code, once it has ended: that of a signal is negative."""
        self.pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


# --- in a process that was forked
def _work(session: pytest.Session, number: int, pipe: Connection) -> NoReturn:
    """Run tests until there are none left, and end this process."""
    code = 1
    try:
        _settle(session.config, number)
        session.config.pluginmanager.register(_Reports(pipe))
        with suppress(KeyboardInterrupt, EOFError, OSError):  # the first process says stop, or is gone
            _run_all(session, pipe)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        session._setupstate.teardown_exact(None)
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        code = 0
    except BaseException:
        print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def _settle(config: pytest.Config, number: int) -> None:
    """Part from what only one process can use: captured output, the terminal, a temporary folder."""
    config.stash[FORKED] = True
    random.seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # though the first one may ignore it
    captured: Any = config.pluginmanager.getplugin("capturemanager")
    captured.stop_global_capturing()
    captured.start_global_capturing()
    captured.suspend_global_capture()
    config.pluginmanager.unregister(name="terminalreporter")
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"process-{number}"
    factory._basetemp.mkdir(mode=0o700)


def _run_all(session: pytest.Session, pipe: Connection) -> None:
    hook, share = session.config.hook, _ask(pipe)
    while share:
        for at, following in pairwise(share):
            hook.pytest_runtest_protocol(item=session.items[at], nextitem=session.items[following])
        then = _ask(pipe)
        hook.pytest_runtest_protocol(item=session.items[share[-1]], nextitem=session.items[then[0]] if then else None)
        share = then


def _ask(pipe: Connection) -> list[int]:
    pipe.send(None)
    share: list[int] = pipe.recv()
    return share


class _Reports:
    """Sends what came of a test, and what failed around it: one message a test."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test."""
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        told = [report for report in reports if report.when == "call" or not report.passed]
        hook = item.config.hook
        self._pipe.send([hook.pytest_report_to_serializable(config=item.config, report=report) for report in told])
        return True
