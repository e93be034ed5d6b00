"""200 readers that never read and 200 that do, on one process: nobody who reads notices those who don't.

Each of 40 runs has five of both; half of the runs were started by one that never reads. The model waits until all of
them are there, however long that takes. Before them, as a control, the same with nobody but those who read: where a
busy machine makes even that slow, the others are held to a multiple of it.
"""

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, cast

import pytest

from tests.bench.checking import read, text
from tests.bench.machine import raise_file_limit
from tests.live.server import BURST, GO, INTERVAL, PIECE, PIECES, SEND_TIMEOUT
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

ROOT = Path(__file__).resolve().parents[2]
RUNS, EACH = 40, 5
TIMEOUT = 240.0
KB = 1024
ATTEMPTS = 3
"""Times are those of the best attempt: other work on the machine only ever adds to them."""
SLOWER = 2.5
"""How many times the control's gaps are allowed, at the 99.5th percentile."""
LATER = 20
"""How many of the control's gaps a reader may be dropped too late, and its socket be gone."""
STEPS = 2
"""Intervals of the model's pace that a control's gap counts as at least: two pieces may always come together."""

Runs = list[tuple[str, list["Client"], list["Client"]]]
"""Key, who reads, who doesn't."""


class Client(asyncio.Protocol):
    """One connection. It reads on, or stops reading once it knows its run's key."""

    def __init__(self, *, reads: bool) -> None:
        self.reads = reads
        self.data = bytearray()
        self.times: list[float] = []
        loop = asyncio.get_running_loop()
        self.begun: asyncio.Future[str] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.data += data
        self.times.append(time.monotonic())
        if not self.begun.done() and b"agui-run-key: " in self.data:
            self.begun.set_result(self.data.split(b"agui-run-key: ", 1)[1].split(b"\r\n", 1)[0].decode())
            if not self.reads:
                self.transport.pause_reading()
        if data.endswith(b"0\r\n\r\n") and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set_result(None)


class Machine:
    """The server's process, what it logs, and its clients."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.port = process, port
        self.dropped: list[tuple[float, str]] = []
        self.other_lines: list[str] = []
        self.clients: list[Client] = []

    async def watch(self) -> None:
        """Collect what the server logs."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            said = line.decode(errors="replace").strip()
            if "reader_dropped" in said:
                self.dropped.append((time.monotonic(), said))
            elif said:
                self.other_lines.append(said)

    async def send(self, request: str, *, reads: bool) -> Client:
        """A new connection with a small buffer, and one request on it."""
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KB if reads else 4 * KB)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ("127.0.0.1", self.port))
        _, client = await loop.create_connection(lambda: Client(reads=reads), sock=sock)
        client.transport.write(request.encode())
        self.clients.append(client)
        return client

    async def run(self, number: int, *, reads: bool, says: str = "begin") -> Client:
        """Start a run."""
        message = {"id": "u", "role": "user", "content": says}
        more = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        body = json.dumps({"threadId": f"t{number}", "runId": "r", "messages": [message], **more})
        head = f"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
        return await self.send(f"{head}\r\n\r\n{body}", reads=reads)

    async def go(self) -> float:
        """Let the model keep time from now on, when everybody is there. The moment."""
        await (await self.run(-2, reads=True, says=GO)).begun
        return time.monotonic()

    async def follow(self, run_key: str, *, reads: bool, after: str = "") -> Client:
        """Read a run."""
        return await self.send(
            f"GET /runs/{run_key}/events HTTP/1.1\r\nhost: localhost\r\nlast-event-id: {after}\r\n\r\n", reads=reads
        )

    def resident(self) -> int:
        """Bytes of the server's memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * 4 * KB

    def sockets(self) -> int:
        """Sockets that the server has open."""
        return sum(1 for f in Path(f"/proc/{self.process.pid}/fd").iterdir() if _is_socket(f))


def _is_socket(file: Path) -> bool:
    try:
        return str(file.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False


@asynccontextmanager
async def machine() -> AsyncIterator[Machine]:
    """A running server, which ends well in the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.live.server",
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            word, port = (await process.stdout.readline()).decode().split()
        assert word == "port"
        running = Machine(process, int(port))
        watching = asyncio.ensure_future(running.watch())
        try:
            yield running
        finally:
            for client in running.clients:
                client.transport.abort()
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(TIMEOUT):
            assert await process.wait() == 0
            await watching
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def crowd(server: Machine, stuck_each: int) -> Runs:
    """Start the runs, with so many readers each that don't read."""
    runs = []
    for number in range(RUNS):
        healthy_starts = number % 2 == 0 or not stuck_each
        starter = await server.run(number, reads=healthy_starts)
        key = await starter.begun
        more_reading = [await server.follow(key, reads=True) for _ in range(EACH - healthy_starts)]
        more_stuck = [await server.follow(key, reads=False) for _ in range(stuck_each - (not healthy_starts))]
        reading, stuck = ([starter], []) if healthy_starts else ([], [starter])
        runs.append((key, reading + more_reading, stuck + more_stuck))
    return runs


class Times(NamedTuple):
    """Seconds: until the last reader that doesn't read was dropped, until its socket was gone; 99.5 % of healthy gaps,
    in the control and next to those who don't read.
    """

    dropped: float
    gone: float
    control: float
    gap: float

    @property
    def good(self) -> bool:
        """Whether they are what is promised."""
        usual = max(STEPS * INTERVAL, self.control)
        return max(self.dropped, self.gone) < SEND_TIMEOUT + LATER * usual and self.gap < SLOWER * usual


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the server's memory and sockets from /proc")
async def test_readers_that_never_read_are_dropped_and_nobody_else_notices() -> None:
    raise_file_limit()
    for _ in range(ATTEMPTS):
        async with machine() as server, asyncio.timeout(TIMEOUT):
            control = await uncrowded(server)
        async with machine() as server, asyncio.timeout(TIMEOUT):
            times = await crowded(server, control)
        if times.good:
            return
    raise AssertionError(times)


def gap(healthy: list[Client], since: float) -> float:
    """The gap between two pieces that came to one of them of which 99.5 % are shorter: one long gap of each shows."""
    gaps = sorted(b - a for c in healthy for a, b in pairwise(t for t in c.times if t > since))
    assert len(gaps) > len(healthy) * PIECES / 20, "enough to tell; on a slow machine pieces come together"
    return gaps[len(gaps) * 995 // 1000]


async def uncrowded(server: Machine) -> float:
    """The gaps of those who read when everybody does."""
    healthy = [client for _, clients, _ in await crowd(server, 0) for client in clients]
    connected = await server.go()
    await asyncio.gather(*(client.done for client in healthy))
    return gap(healthy, connected)


async def crowded(server: Machine, control: float) -> Times:
    """Everything that doesn't depend on how busy the machine is is held here."""
    warm = await server.run(-1, reads=True)
    await warm.begun
    before, sockets_before = server.resident(), server.sockets()
    begun = time.monotonic()
    runs = await crowd(server, EACH)
    connected = await server.go()
    stuck = [client for _, _, clients in runs for client in clients]
    healthy = [client for _, clients, _ in runs for client in clients]
    assert (len(stuck), len(healthy)) == (RUNS * EACH, RUNS * EACH)
    peak = before
    while len(server.dropped) < len(stuck):
        peak = max(peak, server.resident())
        await asyncio.wait([warm.lost], timeout=0.1)
    assert server.dropped[0][0] - begun > SEND_TIMEOUT * 0.9
    assert (peak - before) / len(stuck + healthy) < 256 * KB, f"{(peak - before) / len(stuck + healthy):.0f}"
    while server.sockets() > sockets_before + len(healthy) + 1:  # the one that said go
        await asyncio.wait([warm.lost], timeout=0.05)
    gone = time.monotonic()
    await asyncio.gather(*(client.done for client in healthy))
    said = PIECE * BURST + "".join(f" {number}" for number in range(PIECES))
    assert all(text(read(bytes(client.data))) == said for client in healthy)
    await one_comes_back(server, runs)
    assert len(server.dropped) == len(stuck), "one line each"
    assert all(sum(f"run={key} " in line for _, line in server.dropped) == EACH for key, _, _ in runs)
    assert not server.other_lines, server.other_lines[:5]
    return Times(server.dropped[-1][0] - connected, gone - connected, control, gap(healthy, connected))


async def one_comes_back(server: Machine, runs: Runs) -> None:
    """It takes what is still in its socket, and then the rest from where it was."""
    key, reading, (client, *_) = runs[1]
    client.transport.resume_reading()
    await client.lost
    frames = [line for line in bytes(client.data).split(b"\n") if line.startswith(b"data: ") and line.endswith(b"}")]
    last = f"{key}:{len(frames) - 1}" if frames else ""
    again = await server.follow(key, reads=True, after=last)
    await again.done
    everything = read(bytes(reading[0].data))
    assert 0 < len(frames) < len(everything)
    assert [json.loads(frame[6:]) for frame in frames] + read(bytes(again.data)) == everything
