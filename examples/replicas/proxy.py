"""The least that a load balancer does: each request goes to the next server that takes it.

For machines on which nginx or Caddy would be too much, and for tests: no request of a conversation comes to where the
one before it was. It reads the head of a request, asks for the connection to be closed after it, and passes the rest on
as it comes, both ways. So nothing is buffered, and whoever leaves is gone at once.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Sequence

HEAD_BYTES = 128 * 1024
HEAD_SECONDS = 60.0
CONNECT_SECONDS = 2.0
PIECE = 64 * 1024

_HOP = re.compile(rb"(?im)^(?:connection|keep-alive):[^\r\n]*\r\n")
NOBODY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n"


class RoundRobin:
    """Servers on ports of this machine. ``answered`` counts the requests of each of them."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = list(ports)
        self._next = 0
        self.answered = dict.fromkeys(ports, 0)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection from a client, with one request."""
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            await self._pass_on(_HOP.sub(b"", head[:-2]) + b"Connection: close\r\n\r\n", reader, writer)
        await _close(writer)

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await self._connected()
        if there is None:
            writer.write(NOBODY)
            return
        answers, server = there
        server.write(head)
        ways = [asyncio.ensure_future(_pump(reader, server)), asyncio.ensure_future(_pump(answers, writer))]
        try:  # one way's end is the other's: an answer is over, or a client is gone
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _close(server)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """To the next server that takes connections."""
        for _ in self._ports:
            port = self._ports[self._next]
            self._next = (self._next + 1) % len(self._ports)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    there = await asyncio.open_connection("127.0.0.1", port)
                self.answered[port] += 1
                return there
        return None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def serving(ports: Sequence[int], port: int = 0) -> AsyncIterator[tuple[int, RoundRobin]]:
    """A proxy in front of ``ports``, and its own port (0: any that is free). Open connections are ended at the end."""
    proxy = RoundRobin(ports)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(proxy(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", port, limit=HEAD_BYTES)
    try:
        yield server.sockets[0].getsockname()[1], proxy
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
