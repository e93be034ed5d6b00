"""An operation in steps, run in a transaction of PostgreSQL. Each batch is one round trip.

``BEGIN`` goes with the first batch, ``COMMIT`` with the last one (`steps.Last`). So an operation of one batch is one
round trip, and needs neither: PostgreSQL takes the statements that come together as one transaction.

Whoever pools connections between us and PostgreSQL (pgbouncer, by transaction) is not in the way: nothing is prepared,
and nothing is set for longer than a transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from agui_gate.stores.postgres.connection import Broken, Connection, Refused
from agui_gate.stores.postgres.errors import is_conflict, is_doubtful
from agui_gate.stores.postgres.literals import Given
from agui_gate.stores.sql.operations import Conflict, Kind, Last, Result, Statement, Steps

T = TypeVar("T")

STATEMENT_MS = 10_000
"""Milliseconds after which PostgreSQL gives up a statement, such as one that waits for another transaction's lock."""
IDLE_MS = 10_000
"""Milliseconds after which PostgreSQL ends a transaction between whose batches its client is silent: it holds locks."""

_TIMEOUT = b"SET LOCAL statement_timeout = %d" % STATEMENT_MS
_SILENCE = b"SET LOCAL idle_in_transaction_session_timeout = %d" % IDLE_MS
DURABLE = (
    b"SELECT set_config('synchronous_commit', "
    b"CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
)
"""The statement by which what is durable waits for the disk, and the standbys that PostgreSQL waits for, whatever is
set otherwise.
"""
_BEGIN: Mapping[Kind, bytes] = {
    "read": b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "write": b"BEGIN",
    "durable": b"BEGIN",
}


class Guard(NamedTuple):
    """A condition that each durable transaction looks at before it changes anything.

    It is an expression, and what is raised where that is not true.
    """

    condition: bytes
    refuses: Callable[[], Exception]


unguarded = Guard(b"true", AssertionError)


class Transaction(Generic[T]):
    """A try at an operation, on a connection that nobody else uses meanwhile. ``within``: see `Connection.ask`."""

    def __init__(
        self,
        connection: Connection,
        kind: Kind,
        steps: Steps[T],
        given: Given,
        guard: Guard = unguarded,
        within: float | None = None,
    ) -> None:
        self.connection, self._guard, self._within = connection, guard, within
        self._kind, self._steps, self._given = kind, steps, given
        self.committing = False
        """True if something was sent that commits a change, whose answer is not there yet."""
        self.committed = False
        """True if some change of it is committed."""

    async def run(self) -> T:
        """Runs it to its end. Raises `Refused` (it is rolled back then), `Broken`, and what the operation raises."""
        step: Callable[[], Sequence[Statement]] = partial(next, self._steps)
        try:
            while True:
                try:
                    results = await self._send(step())
                except StopIteration as done:
                    if self.connection.in_transaction:
                        await self._ask(self._kind != "read", b"COMMIT")
                    value: T = done.value
                    return value
                except Refused as error:
                    if not is_conflict(error.state):
                        raise
                    step = partial(self._steps.throw, Conflict())
                else:
                    step = partial(self._steps.send, results)
        except BaseException:
            self._steps.close()
            if self.connection.in_transaction:
                with suppress(Refused, Broken):
                    await self.connection.ask(b"ROLLBACK")
            raise

    async def _send(self, batch: Sequence[Statement]) -> Sequence[Result]:
        texts = [self.connection.bound(statement, self._given) for statement in batch]
        last = isinstance(batch, Last)
        head: list[bytes] = []
        if not self.connection.in_transaction:
            head = [_TIMEOUT] if last and self._kind != "read" else [_BEGIN[self._kind], _TIMEOUT, _SILENCE]
            if self._kind == "durable":
                head = [_BEGIN[self._kind], _TIMEOUT, _SILENCE, DURABLE + b", " + self._guard.condition]
        end = [b"COMMIT"] if last and (self.connection.in_transaction or len(head) > 1) else []
        results = await self._ask(last and self._kind != "read", *head, *texts, *end)
        if len(head) > 3 and results[3].rows[0][1] is not True:
            raise self._guard.refuses()
        return results[len(head) : len(head) + len(texts)]

    async def _ask(self, commits: bool, *texts: bytes) -> Sequence[Result]:
        self.committing = commits
        try:
            results = await self.connection.ask(*texts, within=self._within)
        except Refused as error:
            if commits and (self.connection.broken or is_doubtful(error.state)):
                # A pooler whose server died at COMMIT answers with an SQLSTATE, as if it had been refused.
                raise Broken(sent=True) from None
            self.committing = False
            raise
        if texts[-1] == b"COMMIT" and self.connection.last_tag != "COMMIT":
            raise Broken(sent=True)  # it was another transaction's end, or this one had failed
        self.committing, self.committed = False, self.committed or commits
        return results
