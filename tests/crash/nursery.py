"""Replicas by the dozen: each is forked from one process that has everything imported, and so starts in milliseconds.

`python -m tests.crash.nursery MODULE` is that process. The module has a struct `Start` and a function `serve`, which a
replica runs. Each line on stdin is a `Start` as JSON; the answer is ``PORT PID``. All of them end with it, and it ends
with the test. The port takes connections before the replica does, so nobody has to wait until it is ready.
"""

import asyncio
import contextlib
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from agui_gate_adapters.common import transport
from tests.crash.busy import LOADED
from tests.product.kit import TIMEOUT
from tests.replicas.newer import python

ROOT = Path(__file__).resolve().parents[2]


class Replica:
    """One process. ``url`` is where it serves."""

    def __init__(self, port: int, pid: int) -> None:
        self.url, self.pid = f"http://127.0.0.1:{port}", pid
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except ProcessLookupError:  # it is gone already
            self._handle = None

    async def gone(self) -> None:
        """Wait until it has ended."""
        if self._handle is None:
            return
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self._handle, ended.set)
        try:
            async with asyncio.timeout(TIMEOUT):
                await ended.wait()
        finally:
            loop.remove_reader(self._handle)
        self.close()

    async def stopped(self) -> None:
        """Wait until each of its threads is stopped (SIGSTOP)."""
        async with asyncio.timeout(TIMEOUT):
            while set(_states(self.pid)) != {"T"}:  # noqa: ASYNC110 it isn't our child, so only to look tells
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """SIGKILL, and be sure that it is gone."""
        self.signal(signal.SIGKILL)
        await self.gone()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is there still."""
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def close(self) -> None:
        """Forget it."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _states(pid: int) -> Iterator[str]:
    """What the kernel says of each thread of a process: proc_pid_stat(5)."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield (task / "stat").read_text().rpartition(") ")[2][0]


class Nursery:
    """Starts replicas. ``log`` is what they all say on stderr."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self.log = process, log
        self._replicas: list[Replica] = []

    def start(self, start: msgspec.Struct) -> Replica:
        """One more: a few milliseconds. ``start`` is its module's `Start`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(start) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self.log.read_text()
        self._replicas.append(Replica(*map(int, line.split())))
        return self._replicas[-1]

    async def empty(self) -> None:
        """End all of them."""
        while self._replicas:
            await self._replicas.pop().kill()


@contextmanager
def nursery(log: Path, ahead: int = 0, module: str = "tests.crash.replica") -> Iterator[Nursery]:
    """A process that starts replicas, of this tree's version or of one that is so many ``ahead``."""
    command = (*python(ahead), "tests.crash.nursery", module)
    with log.open("ab") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    with process:
        try:
            yield Nursery(process, log)
        finally:
            process.kill()


# --- in the process that starts them ---------------------------------------------------------------------------------
def main(module: str) -> None:
    """Start replicas until nobody asks for one any more."""
    kind: Any = importlib.import_module(module)
    for name in LOADED:
        importlib.import_module(name)
    transport.certificates()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    for line in sys.stdin:
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.dup2(os.open(os.devnull, os.O_RDWR), 0)
                kind.serve(msgspec.json.decode(line, type=kind.Start), sock)
                return
            print(sock.getsockname()[1], pid, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
