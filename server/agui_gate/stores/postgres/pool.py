"""The connections of one store: few, opened when they are needed, each used by one transaction at a time.

They are kept by psycopg's pool, which tells nobody who waits why it can't connect, and gives what PostgreSQL or the
network has closed. A connection that was idle for a while is asked first whether it is alive: something between us may
have forgotten it without a word.
"""

import asyncio
from typing import Any, Self

from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from agui_gate.stores.postgres.connection import Broken, Connection, Refused
from agui_gate.stores.postgres.errors import AWAY, BUSY, CLOSED, Trouble

SIZE = 8
"""Connections at most. A transaction takes a millisecond or two, so that is some thousand of them a second."""
WAIT_SECONDS = 5.0
"""Seconds to wait until a connection is free."""
OPEN_SECONDS = 30.0
"""Seconds after which nobody waits longer, though one is being opened: a URL may set no limit to that."""
IDLE_SECONDS = 60.0
"""Seconds after which an idle connection is asked first whether it is alive."""
CLOSE_SECONDS = 1.0
"""Seconds for what the pool does in the background to end."""


class Pool:
    """Lends connections: `take` and `give` for each transaction."""

    def __init__(self, conninfo: str, size: int = SIZE) -> None:
        pool = self
        self.conninfo = conninfo  # read whenever one is opened: the password may be another one by then

        class Reported(Connection):
            """One of which those who wait learn why it can't be opened."""

            @classmethod
            async def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
                pool._begun += 1
                number = pool._begun
                opening = asyncio.ensure_future(super().connect(pool.conninfo, **kwargs))
                pool._opening.add(opening)
                try:
                    return await opening
                except Trouble as trouble:
                    pool._refuse(number, trouble.why)
                    raise
                except asyncio.CancelledError:
                    raise Trouble(CLOSED) from None  # the pool's worker would take it for its own, and go on for ever
                finally:
                    pool._opening.discard(opening)

        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo, connection_class=Reported, min_size=0, max_size=size, open=False, reconnect_timeout=0
        )
        self._opening: set[asyncio.Future[Any]] = set()
        self._begun = self._failed = 0  # tries at opening one: by now, the latest that failed
        self._why = AWAY
        self._waiting: set[asyncio.Timeout] = set()
        self._lent: set[Connection] = set()
        self._closed = False

    async def take(self) -> Connection:
        """Returns a connection that works, as far as is known. Raises `Unavailable`; waits at most `WAIT_SECONDS` for
        one.
        """
        while True:
            connection = await self._get()
            self._lent.add(connection)
            try:
                if await _answers(connection):
                    return connection
            except BaseException:
                await self.give(connection)
                raise
            await self.give(connection)

    async def give(self, connection: Connection) -> None:
        """Takes it back: to lend it again, or to close it if it is broken, or not in the state that it was in."""
        self._lent.discard(connection)
        await self._pool.putconn(connection)

    async def aclose(self) -> None:
        """Closes all of them, whatever is under way."""
        self._closed = True
        for opening in self._opening:
            opening.cancel()
        for connection in self._lent:
            connection.hang_up()
        await self._pool.close(CLOSE_SECONDS)

    async def _get(self) -> Connection:
        if self._pool.closed and not self._closed:
            await self._pool.open()
        before, cancellations = self._begun, _cancellations()
        until = asyncio.get_running_loop().time() + OPEN_SECONDS
        while True:
            limit = asyncio.timeout(None)
            try:
                async with limit:
                    self._waiting.add(limit)
                    connection = await self._pool.getconn(WAIT_SECONDS)
                if (
                    _cancellations() > cancellations
                ):  # `wait_for` of Python 3.11 forgets one, and psycopg's pool waits so
                    await self._pool.putconn(connection)
                    raise asyncio.CancelledError
                return connection
            except TimeoutError:
                if self._failed > before:  # else it says how things were earlier, and nobody tries for us any more
                    raise Trouble(self._why) from None
            except PoolClosed:
                raise Trouble(CLOSED) from None
            except PoolTimeout:
                if not self._opening:
                    raise Trouble(BUSY) from None
                if asyncio.get_running_loop().time() >= until:
                    raise Trouble(AWAY) from None
            finally:
                self._waiting.discard(limit)

    def _refuse(self, number: int, why: str) -> None:
        self._why, self._failed = why, max(self._failed, number)
        now = asyncio.get_running_loop().time()
        while self._waiting:
            self._waiting.pop().reschedule(now)


def _cancellations() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0


async def _answers(connection: Connection) -> bool:
    if asyncio.get_running_loop().time() - connection.used_at <= IDLE_SECONDS:
        return connection.is_alive()
    try:
        await connection.ask_or_hang_up(b"SELECT 1")
    except (Broken, Refused):
        return False
    return True
