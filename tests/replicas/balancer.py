"""A load balancer that is as unkind as can be: every request goes to another replica than the one before.

It reads a request's head, says in it that the connection ends with its answer, and from then on carries bytes. So an
event stream is never held back. Who leaves in the middle is gone for the replica too. A replica that can't be reached
is left out.
"""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count

CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)
NOBODY = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
HEAD = 1024 * 1024
"""Bytes of a request's head at most; the replicas have limits of their own."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Balancer:
    """Between clients and the replicas at these ports of 127.0.0.1. ``served``: how many requests each port got."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self.served: Counter[int] = Counter()
        self.url = ""
        self._turn = count()
        self._open: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, which has one request."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await self._carry(reader, writer)

    async def aclose(self) -> None:
        """Cut everybody off."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        replica = await self._reach()
        if replica is None:
            writer.write(NOBODY)
            return await _closed(writer)
        answers, asks = replica
        asks.write(CONNECTION.sub(b"", head[:-4]) + b"\r\nConnection: close\r\n\r\n")
        both = {asyncio.ensure_future(_pipe(reader, asks)), asyncio.ensure_future(_pipe(answers, writer))}
        try:  # who has said everything ends it: a client that leaves, or a replica that has answered
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if answers.at_eof():
                await _closed(writer)
        finally:
            asks.transport.abort()
            for pipe in both:
                pipe.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        return None

    async def _reach(self) -> Streams | None:
        """A connection to the replica whose turn it is, or to the next that can be reached."""
        for _ in self.ports:
            port = self.ports[next(self._turn) % len(self.ports)]
            with suppress(OSError):
                streams = await asyncio.open_connection("127.0.0.1", port)
                self.served[port] += 1
                return streams
        return None


async def _pipe(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
        await target.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


@asynccontextmanager
async def balancing(ports: Sequence[int]) -> AsyncIterator[Balancer]:
    """A balancer in front of these ports, in the running loop."""
    balancer = Balancer(ports)
    server = await asyncio.start_server(balancer.accept, "127.0.0.1", 0, limit=HEAD, backlog=512)
    balancer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield balancer
    finally:
        server.close()
        await balancer.aclose()
