"""A connection to PostgreSQL: a text of statements goes out, their results come back, in one round trip."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

import psycopg
from psycopg import AsyncConnection, AsyncCursor, pq
from psycopg.abc import Transformer
from psycopg.adapt import Transformer as new_transformer
from psycopg.rows import TupleRow

from agui_gate.stores.postgres.errors import Trouble, not_let_in
from agui_gate.stores.postgres.literals import ADAPTERS, Given, bind
from agui_gate.stores.sql.operations import Result, Statement

ANSWER_SECONDS = 20.0
"""Seconds for an answer. PostgreSQL gives up earlier (`transaction.STATEMENT_MS`); a network may say nothing."""


class Broken(Exception):
    """The connection broke. ``sent`` False: PostgreSQL has not been told what was to be sent. Else nobody knows."""

    def __init__(self, sent: bool) -> None:
        super().__init__(sent)
        self.sent = sent


class Refused(Exception):
    """PostgreSQL refused a statement, and with it the transaction. ``state``: its SQLSTATE."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class Connection(AsyncConnection[TupleRow]):
    """An open connection of psycopg, used by one transaction at a time.

    `ask` must not be cancelled: psycopg would open another connection then, to cancel the statement.
    """

    _asking: AsyncCursor[TupleRow]
    _transformer: Transformer
    used_at: float

    def __repr__(self) -> str:
        """Returns what psycopg and its pool log of it: psycopg's own would name the host and the role."""
        return f"<{type(self).__name__} at 0x{id(self):x}>"

    @classmethod
    async def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """Opens one. Raises `Unavailable` with the reason, without the driver's words."""
        try:
            # Never prepared: behind a pooler, others' statements have the same names on the same connection.
            made = await super().connect(conninfo, autocommit=True, prepare_threshold=None, context=ADAPTERS, **kwargs)
        except (psycopg.Error, OSError) as error:
            raise Trouble(not_let_in(str(error))) from None
        made._asking, made._transformer = (
            AsyncCursor(made),
            new_transformer(made),
        )  # one for all, as they are dear to make
        made.used_at = asyncio.get_running_loop().time()
        return made

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open, which may have failed."""
        return self.pgconn.transaction_status != pq.TransactionStatus.IDLE

    @property
    def last_tag(self) -> str | None:
        """The command tag of the last statement, as PostgreSQL answered it."""
        return self._asking.statusmessage

    def is_alive(self) -> bool:
        """Returns whether nothing is known to the contrary, by what has arrived until now."""
        with suppress(psycopg.Error):
            for _ in range(2):  # its last words, and that there are no more
                self.pgconn.consume_input()
        return not self.closed

    def bound(self, statement: Statement, given: Given) -> bytes:
        """See `literals.bind`."""
        return bind(statement, given, self._transformer)

    async def ask(self, *texts: bytes, within: float | None = None) -> Sequence[Result]:
        """Sends some statements; returns the result of each. Raises `Refused` and `Broken`.

        ``within``: seconds, if not `ANSWER_SECONDS`.
        """
        if not self.is_alive():
            raise Broken(sent=False)
        loop = asyncio.get_running_loop()
        deadline = loop.call_later(within or ANSWER_SECONDS, self.hang_up)
        try:
            await self._asking.execute(b"; ".join(texts))
            return await _results(self._asking)
        except psycopg.Error as error:
            if error.sqlstate is None:  # psycopg's own words: PostgreSQL always says one
                raise Broken(sent=True) from None
            raise Refused(error.sqlstate) from None
        finally:
            deadline.cancel()
            self.used_at = loop.time()

    async def ask_or_hang_up(self, *texts: bytes) -> Sequence[Result]:
        """Does what `ask` does, and may be cancelled."""
        asking = asyncio.ensure_future(self.ask(*texts))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            self.hang_up()
            while not asking.done():  # `gather` would cancel it, when this is cancelled once more
                with suppress(asyncio.CancelledError):
                    await asyncio.wait((asking,))
            if not asking.cancelled():
                asking.exception()
            raise

    def hang_up(self) -> None:
        """Breaks it, whatever is under way; who waits for an answer is told so."""
        with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(self.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)


async def _results(cursor: AsyncCursor[TupleRow]) -> list[Result]:
    results = []
    more: bool | None = True
    while more:
        rows = await cursor.fetchall() if cursor.rownumber is not None else []  # None: it is one without rows
        results.append(Result(rows, max(cursor.rowcount, 0)))
        more = cursor.nextset()
    return results
