"""What is measured over sockets: our server and the proxy in turns, each on the same core, fed by the same provider.

A server's CPU comes from its process's CPU clock, so time that it doesn't get on a busy machine isn't counted.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from tests.bench.checking import check_run, stamps
from tests.bench.client import Connection, Dated, open_upstream
from tests.bench.processes import Child
from tests.bench.report import Row, compared, grown, median_row
from tests.bench.work import ENDLESS, follow_request, run_request
from tests.support.servers import Postgres

POLL_SECONDS = 0.03

PAIRS = 3
"""Pairs of new servers for what differs by less than two processes of one kind do. They share the rounds."""

LEAVE_SECONDS = 4.0
"""How long an upstream stream may outlive its client."""

C = TypeVar("C", bound=Connection)
Figure = TypeVar("Figure")
Measure = Callable[[str], Awaitable[Figure]]
"""Takes the server's kind, gives a figure, or several."""


class Effort(msgspec.Struct, frozen=True):
    """How much is measured: rounds, seconds a round of runs, seconds a window of paced streams, streams held open."""

    rounds: int = 5
    seconds: float = 0.6
    window: float = 2.0
    held: int = 1000


class Contest:
    """Our server, the proxy and the provider. ``children`` ends them when it is closed. ``servers``: by kind."""

    def __init__(self, folder: Path, effort: Effort, children: ExitStack) -> None:
        self.effort = effort
        self._folder = folder
        self._children = children
        self._provider = self._child("provider")
        self.servers = {kind: self._server(kind) for kind in ("ours", "proxy")}
        self.left: dict[str, list[int]] = {"ours": [], "served": [], "proxy": []}

    async def warm_up(self) -> None:
        """Some runs each, so that nothing is imported, compiled or opened while the clock runs."""
        for kind in self.servers:
            await self.runs(kind, streams=4, deltas=50, seconds=0.5)

    async def deltas(self) -> list[Row]:
        """CPU per text delta of answers of 500 deltas that arrive as fast as they are read."""

        def measure(streams: int) -> Measure[float]:
            async def one(kind: str) -> float:
                return await self.runs(kind, streams=streams, deltas=500) / 500 * 1e6

            return one

        alone, together = await self.rounds(measure(1)), await self.rounds(measure(32))
        return [
            compared("a delta, 1 stream", "µs", *alone, goal=0.4),
            compared("a delta, 32 streams", "µs", *together, goal=0.35),
        ]

    async def paced(self) -> list[Row]:
        """CPU per text delta of 20 streams whose deltas arrive one by one, 50 a second."""

        async def one(kind: str) -> float:
            return await self.trickle(kind) * 1e6

        return [compared("a delta, 20 streams at 50/s", "µs", *await self.rounds(one), goal=0.85)]

    async def log(self) -> list[Row]:
        """CPU per text delta of answers of 500 deltas, against the same server with its event log off."""
        self.servers["unlogged"] = self._server("unlogged")
        await self.runs("unlogged", streams=4, deltas=50, seconds=0.5)

        async def one(kind: str) -> float:
            return await self.runs(kind, streams=1, deltas=500) / 500 * 1e6

        logged, bare = await self.rounds(one, other="unlogged")
        return [grown("a delta, with the event log", "µs", logged, bare, 1.15, "× without it")]

    async def measured(self) -> list[Row]:
        """CPU of a run and of a delta with metrics and spans, against the same server without them.

        Of two processes of one kind, one may take 5 % less for as long as it lives. So there are several new pairs.
        """

        async def delta(kind: str) -> float:
            run = await self.runs(kind, streams=1, deltas=2)
            return (await self.runs(kind, streams=1, deltas=1002) - run) / 1000 * 1e6

        pairs: list[list[Row]] = []
        for _ in range(PAIRS):
            for kind, what in (("bare", "ours"), ("measured", "measured")):
                self.servers[kind] = self._server(what)
                await self.runs(kind, streams=4, deltas=50, seconds=0.5)
            pairs.append(rows := [])
            for name, unit, one, goal in (
                ("a run of 2 deltas", "ms", self.short_run, 1.12),
                ("a delta", "µs", delta, 1.03),
            ):
                bare, measured = await self.rounds(one, "bare", "measured", max(2, self.effort.rounds // PAIRS))
                rows.append(grown(f"{name}, with metrics and traces", unit, measured, bare, goal, "× without them"))
            for kind in ("bare", "measured"):
                self.servers.pop(kind).stop()
        return [median_row(same) for same in zip(*pairs, strict=True)]

    async def short(self) -> list[Row]:
        """CPU of a run whose answer is 2 deltas: what a run costs beside its text."""

        async def together(kind: str) -> float:
            return await self.runs(kind, streams=16, deltas=2) * 1e3

        return [
            compared("a run of 2 deltas", "ms", *await self.rounds(self.short_run), goal=1.0),
            compared("a run of 2 deltas, 16 at a time", "ms", *await self.rounds(together), goal=0.7),
        ]

    async def stores(self) -> list[Row]:
        """CPU of a run of 2 deltas on PostgreSQL (store and bus), and in memory, against the same on SQLite."""
        database = Postgres()
        self._children.callback(database.close)
        database.start()
        self.servers["postgres"] = self._server("ours", database.url(database.create()))
        self.servers["memory"] = self._server("ours", "memory://")
        rows = []
        for kind, name, goal in (("postgres", "on PostgreSQL", 1.4), ("memory", "in memory", 1.0)):
            await self.runs(kind, streams=4, deltas=50, seconds=0.5)
            file, other = await self.rounds(self.short_run, other=kind)
            rows.append(grown(f"a run of 2 deltas {name}", "ms", other, file, goal, "× SQLite"))
        return rows

    async def short_run(self, kind: str) -> float:
        """Milliseconds of CPU of a run whose answer is two deltas."""
        return await self.runs(kind, streams=1, deltas=2) * 1e3

    async def memory(self) -> list[Row]:
        """Resident memory per open stream, many open at once, in fresh processes."""
        proxy, ours, served = [await self._memory(kind) / 1024 for kind in ("proxy", "ours", "served")]
        what = f"memory a stream, {self.effort.held:,} open"
        return [
            Row(what=what, unit="KB", ours=ours, proxy=proxy, goal=30),
            Row(what="the same under `agui-gate serve`", unit="KB", ours=served),
        ]

    def leaving(self) -> list[Row]:
        """What the scenarios before have left open upstream, `LEAVE_SECONDS` after all their clients left."""
        ours, proxy = (max(self.left[kind], default=0) for kind in ("ours", "proxy"))
        return [Row(what="upstream streams open 4 s after clients left", unit="", ours=ours, proxy=proxy, goal=0)]

    # --- measuring ------------------------------------------------------------------------------------------------

    async def rounds(
        self, measure: Measure[Figure], one: str = "ours", other: str = "proxy", count: int = 0
    ) -> tuple[list[Figure], list[Figure]]:
        """The figures of two servers, taken in turns; who begins changes with every round. ``count``: rounds, if not as
        many as usual.
        """
        figures: dict[str, list[Figure]] = {one: [], other: []}
        for number in range(count or self.effort.rounds):
            for kind in sorted(figures, reverse=bool(number % 2)):
                figures[kind].append(await measure(kind))
        return figures[one], figures[other]

    async def runs(
        self, kind: str, *, streams: int, deltas: int, earlier: bytes = b"", seconds: float | None = None
    ) -> float:
        """Runs back to back on each of ``streams`` connections, at least one on each; CPU seconds per run.

        Every response is checked after the clock stopped.
        """
        server = self.servers[kind]
        responses: list[bytes] = []
        end = time.monotonic() + (self.effort.seconds if seconds is None else seconds)

        async def repeat(connection: Connection) -> None:
            while True:
                responses.append(await connection.run(run_request(deltas, earlier=earlier)))
                if time.monotonic() >= end:
                    return

        with connected(await connect(server.port, streams)) as connections:
            before = server.cpu()
            await asyncio.gather(*map(repeat, connections))
            used = server.cpu() - before
        for response in responses:
            check_run(response, deltas)
        return used / len(responses)

    async def trickle(self, kind: str, readers: int = 1) -> float:
        """CPU seconds per delta of 20 streams at 50 deltas a second, each with so many readers; a delta counts once."""
        for _ in range(3):
            if figure := await self._paced(kind, streams=20, rate=50, readers=readers):
                return figure
        raise RuntimeError("the machine is too busy to pace 20 streams: three windows lost over a tenth of theirs")

    async def _paced(self, kind: str, *, streams: int, rate: int, readers: int) -> float:
        """CPU seconds per delta of endless streams, in a window after all of them run; 0 if it was much too empty."""
        server = self.servers[kind]
        with connected(await connect(server.port, streams)) as connections:
            await self._begin(connections, rate)
            connections.extend(await self._follow(server.port, connections, readers - 1))
            before, begin = server.cpu(), time.monotonic_ns() // 1_000_000
            await asyncio.sleep(self.effort.window)
            used, end = server.cpu() - before, time.monotonic_ns() // 1_000_000
        await self._note_left(kind)
        clocks = [stamps(b"".join(connection.parts)) for connection in connections]
        counted = sum(begin <= clock < end for stream in clocks for clock in stream) / readers
        return used / counted if counted > 0.9 * streams * rate * self.effort.window else 0.0

    async def keeps_up(self, kind: str, *, streams: int, rate: int, milliseconds: int) -> bool:
        """Returns whether no delta of so many endless streams comes later than that to its client, in a window."""
        with connected([await Dated.to(self.servers[kind].port) for _ in range(streams)]) as connections:
            await self._begin(connections, rate)
            for connection in connections:
                connection.lags.clear()
            await asyncio.sleep(self.effort.window)
            latest = max(max(connection.lags, default=milliseconds + 1) for connection in connections)
        await self._note_left(kind)
        return latest <= milliseconds

    async def _memory(self, kind: str) -> float:
        """Bytes per stream, at a delta a second, once each stream has had one."""
        if kind in self.servers:
            self.servers[kind].stop()
        server = self.servers[kind] = self._server(kind)
        await self.runs(kind, streams=8, deltas=50, seconds=0.5)
        before = server.resident()
        connections: list[Connection] = []
        with connected(connections):
            while len(connections) < self.effort.held:
                batch = await connect(server.port, min(25, self.effort.held - len(connections)))
                connections += batch
                await self._begin(batch, rate=1, sign=b"RUN_STARTED")
            await _until(lambda: all(connection.has(b"_CONTENT") for connection in connections), 30)
            used = server.resident() - before
        await self._note_left(kind)
        for connection in connections:
            stamps(b"".join(connection.parts))
        return used / len(connections)

    async def _begin(self, connections: Sequence[Connection], rate: int, sign: bytes = b"_CONTENT") -> None:
        """Start an endless stream on each, and wait until ``sign`` has come on all."""
        for connection in connections:
            connection.send(run_request(ENDLESS, rate))
        await _until(lambda: all(connection.has(sign) for connection in connections), 30)

    async def _follow(self, port: int, running: list[Connection], readers: int) -> list[Connection]:
        """So many more readers of each run, once all of them read."""
        more = await connect(port, readers * len(running))
        for number, connection in enumerate(more):
            connection.send(follow_request(running[number % len(running)].run_key()))
        await _until(lambda: all(connection.has(b"_CONTENT") for connection in more), 30)
        return more

    async def _note_left(self, kind: str) -> None:
        end = time.monotonic() + LEAVE_SECONDS
        while (count := await open_upstream(self._provider.port)) and time.monotonic() < end:  # noqa: ASYNC110  (another process does it)
            await asyncio.sleep(POLL_SECONDS)
        self.left[kind].append(count)

    def _server(self, kind: str, *store: str) -> Child:
        folder = tempfile.mkdtemp(dir=self._folder)
        return self._child("server", kind, f"http://127.0.0.1:{self._provider.port}", folder, *store)

    def add(self, kind: str, python: Path, file: Path, seconds: float) -> None:
        """Starts a server of others (`rivals.py`), which has so many seconds for that. Raises RuntimeError."""
        provider, folder = f"http://127.0.0.1:{self._provider.port}", tempfile.mkdtemp(dir=self._folder)
        child = Child(self._folder, "server", str(file), provider, folder, seconds=seconds, python=str(python))
        self._children.callback(child.stop)
        self.servers[kind] = child

    def _child(self, module: str, *args: str) -> Child:
        child = Child(self._folder, module, *args)
        self._children.callback(child.stop)
        return child


async def connect(port: int, count: int) -> list[Connection]:
    """Connections to a server of this machine."""
    return [await Connection.to(port) for _ in range(count)]


@contextmanager
def connected(connections: list[C]) -> Iterator[list[C]]:
    """Leaves them all at the end."""
    try:
        yield connections
    finally:
        for connection in connections:
            connection.leave()


async def _until(done: Callable[[], bool], seconds: float) -> None:
    """Poll until ``done``; raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not done():  # noqa: ASYNC110  (bytes of another process)
            await asyncio.sleep(POLL_SECONDS)


@contextmanager
def contest(effort: Effort) -> Iterator[Contest]:
    """All processes started; ended with everything they left on the disk."""
    with tempfile.TemporaryDirectory(prefix="agui-gate-bench-") as folder, ExitStack() as children:
        yield Contest(Path(folder), effort, children)
