"""The connections of one store: few, opened when they are needed, each used by one transaction at a time.

A connection that PostgreSQL or the network has closed is thrown away when that is seen. One that was idle for a while
is asked first whether it is alive: something between us may have forgotten it without a word.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agui_gate.stores.postgres.connection import Broken, Connection, Refused
from agui_gate.stores.postgres.errors import BUSY, CLOSED, Trouble

SIZE = 8
"""Connections at most. A transaction takes a millisecond or two, so that is some thousand of them a second."""
WAIT_SECONDS = 5.0
"""Seconds to wait until a connection is free."""
IDLE_SECONDS = 60.0
"""Seconds after which an idle connection is asked first whether it is alive."""


class Pool:
    """Opens connections by ``connect``, and lends them: `take` and `give` for each transaction."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int = SIZE) -> None:
        self._connect = connect
        self._free = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._closed = False

    async def take(self) -> Connection:
        """Returns a connection that works, as far as is known. Raises `Unavailable`; waits at most `WAIT_SECONDS` for
        one.
        """
        if self._free.locked():
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._free.acquire()
            except TimeoutError:
                raise Trouble(BUSY) from None
        else:
            await self._free.acquire()
        try:
            if self._closed:
                raise Trouble(CLOSED)
            return await self._alive() or await self._open()
        except BaseException:
            self._free.release()
            raise

    def give(self, connection: Connection) -> None:
        """Takes it back: to lend it again, or to close it if it is broken, or not in the state that it was in."""
        try:
            if connection.broken or connection.busy or connection.in_transaction or self._closed:
                self._drop(connection)
            else:
                connection.used_at = asyncio.get_running_loop().time()
                self._idle.append(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Closes all of them, whatever is under way."""
        self._closed = True
        self._idle.clear()
        for connection in list(self._all):
            self._drop(connection)

    async def _alive(self) -> Connection | None:
        """Returns the idle connection that was used last, so that the others are seldom used and need not be alive."""
        while self._idle:
            connection = self._idle.pop()
            long_idle = asyncio.get_running_loop().time() - connection.used_at > IDLE_SECONDS
            if connection.is_alive() and not (long_idle and not await _answers(connection)):
                return connection
            self._drop(connection)
        return None

    async def _open(self) -> Connection:
        connection = await self._connect()
        self._all.add(connection)
        return connection

    def _drop(self, connection: Connection) -> None:
        self._all.discard(connection)
        connection.close()


async def _answers(connection: Connection) -> bool:
    connection.send(b"SELECT 1")
    try:
        await connection.receive()
    except (Broken, Refused):
        return False
    return not connection.broken
