"""The connections of a bus on PostgreSQL: lines that ask, and an ear that hears what is notified.

They are connections of their own, not those of a store's pool. Hearing takes one that nobody else uses: behind a pooler
that shares connections between transactions (pgbouncer) nothing can be heard, so there the bus needs a URL that leads
to PostgreSQL itself.
"""

import asyncio
from collections.abc import Callable, Sequence

import psycopg
import structlog

from agui_gate.concurrency import stop_tasks
from agui_gate.errors import Unavailable
from agui_gate.stores.postgres import readiness
from agui_gate.stores.postgres.connection import Broken, Connection, Refused
from agui_gate.stores.postgres.errors import AWAY, Trouble, reason
from agui_gate.stores.postgres.literals import Given
from agui_gate.stores.sql.operations import Result, Statement

QUIET_SECONDS = 10.0
"""Seconds without a note after which PostgreSQL is asked whether it is there."""

ANSWER_SECONDS = 5.0
"""Seconds that it has for an answer to that."""

BACKOFF = (0.1, 2.0)
"""Seconds between tries to hear again: the first, and the longest."""

log = structlog.get_logger("agui_gate.bus")


class RefusedByPostgres(Exception):
    """A statement that will not go well the next time either. Its SQLSTATE."""


class Line:
    """A connection, made when it is needed and again when it broke, for one question at a time."""

    def __init__(self, conninfo: str, given: Given) -> None:
        self.conninfo, self._given = conninfo, given
        self._lock = asyncio.Lock()
        self._connection: Connection | None = None

    async def ask(self, *statements: Statement) -> Sequence[Result]:
        """Returns the results of some statements, which are one transaction. Raises `Unavailable`.

        Who is cancelled leaves nothing under way: the connection is closed.
        """
        async with self._lock:
            connection = self._connection
            if connection is None or not connection.is_alive():
                connection = self._connection = await _connected(self.conninfo)
            try:
                return await connection.ask_or_hang_up(*(connection.bound(each, self._given) for each in statements))
            except Broken:
                raise away(AWAY) from None
            except Refused as error:
                raise _refusal(error.state) from None

    async def aclose(self) -> None:
        """Closes the connection; the next question makes another one."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None


class Ear:
    """Hears what is notified on ``channels``, and so is seen as a server that uses the database.

    ``again`` is told whenever it hears again after it didn't.
    """

    def __init__(
        self, conninfo: str, channels: list[str], hear: Callable[[str], None], again: Callable[[], None]
    ) -> None:
        self.conninfo, self._hear, self._again = conninfo, hear, again
        self._listen = [*(b"LISTEN %b" % channel.encode() for channel in channels), readiness.HERE]
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to hear. Raises `Unavailable`."""
        self._connection = await self._connected()
        self._task = asyncio.create_task(self._stay(), name="agui-gate bus ear")

    async def aclose(self) -> None:
        """Hears nothing any more."""
        if self._task is not None:
            await stop_tasks([self._task])
            self._task = None
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connected(self) -> Connection:
        connection = await _connected(self.conninfo)
        try:
            await _answer(connection, *self._listen)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _stay(self) -> None:
        while True:
            assert self._connection is not None  # start made it
            await self._listen_to(self._connection)
            await self._connection.close()
            wait, longest = BACKOFF
            while not await self._reconnected():
                await asyncio.sleep(wait)
                wait = min(2 * wait, longest)
            self._again()

    async def _listen_to(self, connection: Connection) -> None:
        """Hears what comes, until the connection is broken; where nothing comes it is asked now and then."""
        try:
            while True:
                async for note in connection.notifies(timeout=QUIET_SECONDS):
                    self._hear(note.payload)
                await _answer(connection, b"SELECT 1")
        except (psycopg.Error, Unavailable):
            return

    async def _reconnected(self) -> bool:
        try:
            self._connection = await self._connected()
        except Unavailable:
            return False
        return True


async def _connected(conninfo: str) -> Connection:
    """Connects to PostgreSQL. Raises `Unavailable`."""
    try:
        return await Connection.connect(conninfo)
    except Trouble as trouble:
        raise away(trouble.why) from None


async def _answer(connection: Connection, *texts: bytes) -> None:
    """Asks PostgreSQL and waits for its answer. Raises `Unavailable`."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await connection.ask_or_hang_up(*texts)
    except (TimeoutError, Broken):
        raise away(AWAY) from None
    except Refused as error:
        raise away(reason(error.state)) from None


def away(why: str) -> Unavailable:
    """Returns the error that the bus can't be used now."""
    return Unavailable(f"The bus is not available: {why}.")


def _refusal(state: str) -> Exception:
    """Wrong data (classes 22 and 54) stay wrong; anything else may be mended."""
    return RefusedByPostgres(state) if state[:2] in ("22", "54") else away(reason(state))
