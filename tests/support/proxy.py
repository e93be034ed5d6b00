"""A TCP proxy for tests, with the faults of a network: connections that are cut, refused, slow, or silent."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from tests.support.servers import free_port

Look = Callable[[int, bytes], Awaitable[bytes | None]]
"""Is awaited with the number of a connection and each piece of it, before that goes on. What it returns goes on in the
place of that, unless it is None. `ConnectionError` cuts the connection.
"""


async def passes(connection: int, piece: bytes) -> None:
    """Let it through."""


class Proxy:
    """Forwards connections to ``host`` and ``port``. ``async with`` it; clients connect to 127.0.0.1 at `port`.

    Set ``delay`` to the seconds that each piece takes, either way. ``held`` pieces stay where they are: nothing is
    closed, and nothing arrives until `let_go`.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._pairs: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._cut = 0
        self.port = free_port()
        self.delay = 0.0
        self.accepted = 0
        """Connections that were made so far."""
        self.asked: Look = passes
        """What is done with what goes to the server."""
        self.answered: Look = passes
        """What is done with what comes back."""

    async def __aenter__(self) -> Self:
        await self.restore()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.away()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def restore(self) -> None:
        """Take connections, at the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    def lead_to(self, port: int) -> None:
        """Forward new connections to another port."""
        self._target = (self._target[0], port)

    async def away(self) -> None:
        """Refuse connections, and cut those that there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.cut()

    def cut(self) -> None:
        """Reset every connection. New ones are taken."""
        self._cut = self.accepted  # those that are about to reach the other end, too
        for writer in self._pairs:
            writer.transport.abort()

    def hold(self) -> None:
        """Let nothing through, without closing anything: as a cable that was pulled."""
        self._flowing.clear()

    def let_go(self) -> None:
        """Let everything through again."""
        self._flowing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self.accepted += 1
        try:
            await self._connect(self.accepted, reader, writer)
        except (OSError, asyncio.CancelledError):  # the latter by the end of the proxy
            pass
        finally:
            writer.transport.abort()
            self._connections.discard(task)

    async def _connect(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        ends = {writer, far_writer}
        self._pairs |= ends
        try:
            if number <= self._cut:
                return
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, far_writer, lambda piece: self.asked(number, piece)))
                group.create_task(self._forward(far_reader, writer, lambda piece: self.answered(number, piece)))
        except* OSError:
            pass
        finally:
            self._pairs -= ends
            far_writer.transport.abort()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        look: Callable[[bytes], Awaitable[bytes | None]],
    ) -> None:
        while data := await reader.read(64 * 1024):
            instead = await look(data)
            if self.delay:
                await asyncio.sleep(self.delay)
            await self._flowing.wait()
            writer.write(data if instead is None else instead)
            await writer.drain()
        if writer.can_write_eof() and not writer.is_closing():
            writer.write_eof()
