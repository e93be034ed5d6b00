"""The load: HTTP/1.1 over bare asyncio connections that only keep bytes.

What they hold is judged after the clock stopped (`checking`).
"""

import asyncio
import re
import time
from typing import Self, cast

END = b"\r\n0\r\n\r\n"
"""The last chunk. No JSON holds it: line breaks are escaped there."""

_STAMP = re.compile(rb"@(\d+) ")
"""The clock in a paced delta (`work.paced_word`)."""

RUN_SECONDS = 60
"""The longest a run may take."""


class Connection(asyncio.Protocol):
    """One connection, one request at a time. ``parts`` is what came for the latest."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._end: asyncio.Future[None] | None = None

    @classmethod
    async def to(cls, port: int) -> Self:
        """Connect to a server of this machine."""
        return (await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port))[1]

    async def run(self, request: bytes) -> bytes:
        """Send ``request`` and return the whole response. Raises RuntimeError if there is none, or another status."""
        self._end = asyncio.get_running_loop().create_future()
        self.send(request)
        async with asyncio.timeout(RUN_SECONDS):
            await self._end
        self._end = None
        return b"".join(self.parts)

    def send(self, request: bytes) -> None:
        """Send ``request`` and collect what comes."""
        assert self._transport is not None
        self.parts = []
        self._transport.write(request)

    def leave(self) -> None:
        """Go without a word."""
        assert self._transport is not None
        self._transport.abort()

    def has(self, sign: bytes) -> bool:
        """Whether ``sign`` came already; not found if two reads share it, so ask for what will come again."""
        return any(sign in part for part in self.parts)

    def run_key(self) -> bytes:
        """The run's key, once its first bytes came."""
        return self.parts[0].partition(b"agui-run-key: ")[2].partition(b"\r\n")[0]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("the server closed the connection")

    def data_received(self, data: bytes) -> None:
        self.parts.append(data)
        if self._end is None or self._end.done():
            return
        if len(self.parts) == 1 and not data.startswith(b"HTTP/1.1 200"):
            self._fail(data[:400].decode(errors="replace"))
        elif data.endswith(b"\r\n\r\n") and b"".join(self.parts[-2:]).endswith(END):
            self._end.set_result(None)

    def _fail(self, reason: str) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_exception(RuntimeError(reason))


class Dated(Connection):
    """A connection that notes how late the deltas of a paced stream come, in ms, and keeps nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.lags: list[int] = []

    def data_received(self, data: bytes) -> None:
        """Notes it."""
        if not self.lags:
            self.parts.append(data)
        now = time.monotonic_ns() // 1_000_000
        self.lags += [now - int(stamp) for stamp in _STAMP.findall(data)]


async def open_upstream(port: int) -> int:
    """How many streams the provider at ``port`` has open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /stats HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.rpartition(b":")[2]))
    writer.close()
    return int(body)
