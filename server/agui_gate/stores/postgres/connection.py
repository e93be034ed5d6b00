"""A connection to PostgreSQL: a text of statements goes out, their results come back, in one round trip.

It is made by psycopg, and then driven by libpq's own calls (`psycopg.pq`). psycopg's cursors take five times the CPU,
which is most of what a short run costs (ADR 0020).

The server's end of it is watched all the time. So a connection that PostgreSQL has closed is known to be broken before
anybody uses it.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from psycopg import AsyncConnection, Error, OperationalError, pq
from psycopg.pq.abc import PGresult

from agui_gate.stores.postgres.literals import readers
from agui_gate.stores.sql.operations import Result

ANSWER_SECONDS = 20.0
"""Seconds for an answer. PostgreSQL gives up earlier (`transaction.STATEMENT_MS`); a network may say nothing."""

_GOOD = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


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


class Connection:
    """An open connection, used by one transaction at a time. `gone` is set when it breaks.

    ``hear`` gets the payload of each NOTIFY, if it was told to LISTEN.

    `send`, then `receive` until it returns. A caller that is cancelled in `receive` has stopped nothing: whoever calls
    `receive` next gets the answer.
    """

    def __init__(self, driver: AsyncConnection[Any], hear: Callable[[bytes], None] | None = None) -> None:
        self._driver = driver  # which closes the connection when it is collected
        self._pg = driver.pgconn
        self._loop = asyncio.get_running_loop()
        self._results: list[PGresult] = []
        self._waiter: asyncio.Future[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._writes = False
        self._sent = False
        self._lost = False
        self.busy = False
        self.broken = False
        self.gone = asyncio.Event()
        self._hear = hear
        self.used_at = self._loop.time()
        self._socket = self._pg.socket
        self._loop.add_reader(self._socket, self._readable)

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open, which may have failed."""
        return self._pg.transaction_status != pq.TransactionStatus.IDLE

    def is_alive(self) -> bool:
        """Returns whether nothing is known to the contrary, by what has arrived until now."""
        for _ in range(2):  # its last words, and that there are no more
            if not self.broken:
                self._readable()
        return not self.broken

    def send(self, query: bytes) -> None:
        """Sends a text of one or more statements."""
        self.busy, self._results, self._sent, self._lost = True, [], False, False
        self._deadline = self._loop.call_later(ANSWER_SECONDS, self._break)
        try:
            if self.broken:
                raise OperationalError
            self._pg.send_query(query)
            self._sent = True
            self._flush()
        except Error:
            self._break()

    async def receive(self) -> list[Result]:
        """Returns the results of what was sent, one for each statement. Raises `Refused` and `Broken`."""
        if self.busy:
            self._waiter = self._loop.create_future()
            await self._waiter
        if self._lost:
            raise Broken(self._sent)
        return [_result(result) for result in self._results]

    def close(self) -> None:
        """Closes it, whatever is under way."""
        self._break()
        self._pg.finish()

    def _flush(self) -> None:
        """Sends on; what the network doesn't take at once goes as soon as it does."""
        if self._pg.flush():
            if not self._writes:
                self._writes = True
                self._loop.add_writer(self._socket, self._writable)
        elif self._writes:
            self._writes = False
            self._loop.remove_writer(self._socket)

    def _writable(self) -> None:
        try:
            self._flush()
        except Error:
            self._break()

    def _readable(self) -> None:
        try:
            self._pg.consume_input()
            while self._hear is not None and (note := self._pg.notifies()) is not None:
                self._hear(note.extra)
            if self._writes:
                self._flush()
            while self.busy and not self._pg.is_busy():
                result = self._pg.get_result()
                if result is None:
                    self._answered()
                else:
                    self._results.append(result)
        except Error:
            self._break()

    def _answered(self) -> None:
        if self._pg.status == pq.ConnStatus.OK:
            self._settle()
        else:
            self._break()

    def _break(self) -> None:
        """Takes it as broken. Who waits is told so, unless PostgreSQL has said before that it refuses."""
        if not self.broken:
            self.broken = True
            self.gone.set()
            self._loop.remove_reader(self._socket)
            if self._writes:
                self._loop.remove_writer(self._socket)
        self._lost = not any(_state(result) for result in self._results)
        self._settle()

    def _settle(self) -> None:
        self.busy = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _state(result: PGresult) -> str | None:
    """Returns the SQLSTATE of an error. libpq makes errors without one where the connection is gone."""
    if result.status in _GOOD:
        return None
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    return None if state is None else state.decode()


def _result(result: PGresult) -> Result:
    """Returns the result of a statement. Raises `Refused`."""
    if result.status == pq.ExecStatus.COMMAND_OK:
        return Result([], result.command_tuples or 0)
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise Refused(_state(result) or "")
    columns = list(enumerate(readers([result.ftype(column) for column in range(result.nfields)])))
    rows = []
    for number in range(result.ntuples):
        values = ((result.get_value(number, column), read) for column, read in columns)
        rows.append(tuple(None if value is None else read(value) for value, read in values))
    return Result(rows, len(rows))
