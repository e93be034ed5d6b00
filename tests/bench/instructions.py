"""The work of a server for a request, in user-space instructions: ours and the proxy, each under callgrind.

    python -m tests.bench.instructions [--only short,…] [--json FILE]

Instructions don't depend on what else the machine does, and hardly on the machine. The counts leave out what the kernel
works for a process. Needs Valgrind (`apt-get install valgrind`). It takes about ten minutes.
"""

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from itertools import count as counting
from pathlib import Path

import msgspec
import uvloop

from tests.bench.checking import WrongStream, approval_id, check_run, read
from tests.bench.client import Connection
from tests.bench.processes import Child
from tests.bench.report import Row, table
from tests.bench.scenarios import connect, connected
from tests.bench.work import encoded_history, resume_request, run_request, thread_request

START_SECONDS = 300
"""How long a server may take to start: it is about fifty times slower than without Valgrind."""

WARM_UP = (*(20,) * 5, *(2,) * 20)
"""The deltas of the runs before anything is counted. The first ten runs of ours cost twice as much as later ones."""

CYCLES = 10
"""Gated cycles that are counted, after as many that are not."""
GATED = {"a gated cycle": 2.5}
"""The goal."""

EARLIER_RUNS = 1000
HISTORIES = {100: (1.5, 2.0), 1000: (2.0, 3.0), 5000: (2.5, 3.5)}
"""Messages that a client sends along, and the goals where the server knows their thread, and where it doesn't."""

_TOTAL = re.compile(rb"^summary: (\d+)", re.MULTILINE)
"""What was executed since the last reset. The sum by functions ("totals", at the end) is wrong after a reset: without
one the two are equal, and as many a run as this one.
"""


class Counted:
    """A server under callgrind."""

    def __init__(self, folder: Path, kind: str, *args: str) -> None:
        self._dumps = folder / f"callgrind-{kind}"
        tool = ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={self._dumps}.%p"]
        self._child = Child(folder, "server", kind, *args, under=tool, seconds=START_SECONDS)
        self.port, self.stop = self._child.port, self._child.stop
        self._taken = 0
        self._connection: Connection | None = None

    async def run(self, request: bytes, deltas: int) -> bytes:
        """Returns the answer to a run, on the one connection to it. Raises `WrongStream`."""
        response = await self.answered(request)
        check_run(response, deltas)
        return response

    async def answered(self, request: bytes) -> bytes:
        """Returns the answer to any run."""
        if self._connection is None:
            self._connection = await Connection.to(self.port)
        return await self._connection.run(request)

    async def asked(self, number: int) -> bytes:
        """Returns the id of what a run asks about, on a thread of its own. Raises `WrongStream`."""
        return approval_id(await self.answered(thread_request(b"gated-%d" % number, number, 2, call=True)))

    async def during(self, work: Callable[[], Awaitable[object]]) -> int:
        """Returns the instructions of all its threads while ``work`` is done, without those of its regular jobs.

        Under Valgrind everything takes longer, so the jobs are done more often in a run.
        """
        begun = time.monotonic()
        busy = await self._count(work)
        seconds = time.monotonic() - begun
        return busy - await self._count(lambda: asyncio.sleep(seconds))

    async def _count(self, work: Callable[[], Awaitable[object]]) -> int:
        await self._control("--zero")
        await work()
        await self._control("--dump")
        self._taken += 1
        dump = await asyncio.to_thread(Path(f"{self._dumps}.{self._child.pid}.{self._taken}").read_bytes)
        (total,) = _TOTAL.findall(dump)
        return int(total)

    async def _control(self, command: str) -> None:
        done = await asyncio.create_subprocess_exec(
            "callgrind_control", command, str(self._child.pid), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        async with asyncio.timeout(60):
            if await done.wait():
                raise RuntimeError("callgrind_control failed")


class Bench:
    """The servers, and the provider that answers them. ``children`` ends them when it is closed."""

    def __init__(self, folder: Path, children: ExitStack) -> None:
        self._folder, self._children, self._numbers = folder, children, counting(1)
        self._provider = Child(folder, "provider")
        children.callback(self._provider.stop)
        self._servers = {kind: self._server(kind) for kind in ("ours", "proxy")}

    async def warm_up(self) -> None:
        """Lets each server import, cache and specialize what a run needs: CPython does the last for what ran often."""
        for server in self._servers.values():
            for deltas in WARM_UP:
                await server.run(run_request(deltas, earlier=encoded_history(5)), deltas)

    async def delta(self) -> list[Row]:
        """A text delta of an answer of 500 that arrive as fast as they are read."""
        ours, proxy = [(await self._mean(server, 502) - await self._mean(server, 2)) / 500 for server in self._both]
        return [_row("a delta", ours, proxy, 0.40)]

    async def short(self) -> list[Row]:
        """A run whose answer is two deltas."""
        ours, proxy = [await self._mean(server, 2) for server in self._both]
        return [_row("a run of 2 deltas", ours, proxy, 0.80)]

    async def gated(self) -> list[Row]:
        """A gated cycle: the run that asks, the one that answers, and both against a run of two deltas."""
        server = self._servers["ours"]
        short = await self._mean(server, 2)
        asks = [next(self._numbers) for _ in range(CYCLES)]
        answers: list[bytes] = []

        async def ask() -> None:
            answers.extend([resume_request(b"gated-%d" % one, one, await server.asked(one)) for one in asks])

        async def answer() -> None:
            for request in answers:
                if b"TOOL_CALL_RESULT" not in await server.answered(request):
                    raise WrongStream("the call did not run")

        await ask()
        await answer()
        answers.clear()
        asks = [next(self._numbers) for _ in asks]
        asked, told = await server.during(ask) / CYCLES, await server.during(answer) / CYCLES
        rows = {"a run that asks": asked, "a run that is answered": told, "a gated cycle": asked + told}
        note = "× a run of 2 deltas"
        return [
            Row(what=what, unit="k", ours=one / 1e3, ratio=one / short, goal=GATED.get(what), note=note)
            for what, one in rows.items()
        ]

    async def histories(self) -> list[Row]:
        """A run whose client sends earlier messages along."""
        rows = []
        for count, (known_goal, new_goal) in HISTORIES.items():
            earlier = encoded_history(count)
            ours, proxy = [await self._mean(server, 2, earlier, runs=2) for server in self._both]
            rows.append(_row(f"after {count:,} messages, an unknown thread", ours, proxy, new_goal))
            known = await self._known(earlier, count)
            rows.append(_row(f"after {count:,} messages, a known thread", known, proxy, known_goal))
        return rows

    async def earlier_runs(self) -> list[Row]:
        """A run on a thread that had many before, whose client sends the new message alone."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        maker = Child(folder, "server", "ours", self._upstream, str(folder))
        with connected(await connect(maker.port, 1)) as (connection,):
            for number in range(EARLIER_RUNS):
                check_run(await connection.run(thread_request(b"old", number, 2)), 2)
        maker.stop()
        server = Counted(folder, "ours", self._upstream, str(folder))
        self._children.callback(server.stop)
        await server.run(run_request(2), 2)
        numbers = iter(range(EARLIER_RUNS, 2 * EARLIER_RUNS))

        async def mean(thread: str) -> float:
            async def work() -> None:
                for number in used:
                    name = (thread % number).encode() if "%" in thread else thread.encode()
                    await server.run(thread_request(name, number, 2), 2)

            used = [next(numbers)]
            await work()
            used = [next(numbers) for _ in range(5)]
            return await server.during(work) / len(used)

        alone, after = await mean("new-%d"), await mean("old")
        note = "× one with none"
        what = f"a thread with {EARLIER_RUNS:,} earlier runs"
        return [Row(what=what, unit="k", ours=after / 1e3, ratio=after / alone, goal=1.5, note=note)]

    # --- measuring ------------------------------------------------------------------------------------------------
    @property
    def _both(self) -> tuple[Counted, Counted]:
        return self._servers["ours"], self._servers["proxy"]

    @property
    def _upstream(self) -> str:
        return f"http://127.0.0.1:{self._provider.port}"

    def _server(self, kind: str) -> Counted:
        folder = tempfile.mkdtemp(dir=self._folder)
        server = Counted(self._folder, kind, self._upstream, folder)
        self._children.callback(server.stop)
        return server

    async def _mean(self, server: Counted, deltas: int, earlier: bytes = b"", runs: int = 10) -> float:
        """Returns the instructions of a run, each on a thread of its own."""

        async def work() -> None:
            for _ in range(runs):
                await server.run(run_request(deltas, earlier=earlier), deltas)

        await server.run(run_request(deltas, earlier=earlier), deltas)
        return await server.during(work) / runs

    async def _known(self, earlier: bytes, count: int, runs: int = 2) -> float:
        """Returns the instructions of a run whose client sends back what it sent before, and the answer it got."""
        server, sent, thread = self._servers["ours"], earlier, b"known-%d" % count

        async def one(number: int) -> None:
            nonlocal sent
            response = await server.run(thread_request(thread, number, 2, earlier=sent), 2)
            sent += _said(response, number)

        await one(0)
        await one(1)

        async def work() -> None:
            for number in range(2, 2 + runs):
                await one(number)

        return await server.during(work) / runs


def _said(response: bytes, number: int) -> bytes:
    """Returns the messages that a client adds after a run: its own, and the answer."""
    events = [event for event in read(response) if event["type"].startswith("TEXT_MESSAGE_")]
    text = "".join(event.get("delta", "") for event in events)
    mine = {"id": f"m{number}", "role": "user", "content": "bench deltas=2 rate=0"}
    answer = {"id": events[0]["messageId"], "role": "assistant", "content": text}
    return b"".join(msgspec.json.encode(message) + b"," for message in (mine, answer))


def _row(what: str, ours: float, proxy: float, goal: float) -> Row:
    return Row(what=what, unit="k", ours=ours / 1e3, proxy=proxy / 1e3, ratio=ours / proxy, goal=goal)


ROWS = {
    "delta": Bench.delta,
    "short": Bench.short,
    "gated": Bench.gated,
    "histories": Bench.histories,
    "earlier": Bench.earlier_runs,
}


async def _measure(names: list[str]) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="agui-gate-bench-") as folder, ExitStack() as children:
        bench = Bench(Path(folder), children)
        await bench.warm_up()
        rows = []
        for name in names:
            print(f"{name} …", file=sys.stderr, flush=True)
            rows += await ROWS[name](bench)
        return rows


def main() -> int:
    """Counts, prints the table, and returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(ROWS), metavar="NAME,…", help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    options = parser.parse_args()
    if shutil.which("callgrind_control") is None:
        print("Valgrind is missing: apt-get install valgrind", file=sys.stderr)
        return 2
    rows = uvloop.run(_measure(options.only.split(",")))
    print(table(rows))
    if options.json:
        options.json.write_bytes(msgspec.json.encode(rows))
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
