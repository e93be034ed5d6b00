"""An operation in steps, run in a transaction of PostgreSQL. Each batch is one round trip.

``BEGIN`` goes with the first batch, ``COMMIT`` with the last one (`steps.Last`). So an operation of one batch is one
round trip, and needs neither: PostgreSQL takes the statements that come together as one transaction.

Whoever pools connections between us and PostgreSQL (pgbouncer, by transaction) is not in the way: nothing is prepared,
and nothing is set for longer than a transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from agui_gate.stores.postgres.connection import Broken, Connection, Refused
from agui_gate.stores.postgres.errors import is_conflict, is_doubtful
from agui_gate.stores.postgres.literals import bind
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
    """A try at an operation, on a connection that nobody else uses meanwhile.

    `go` may be called again after it was cancelled: it goes on where it was, since nothing stops PostgreSQL.
    """

    def __init__(
        self, connection: Connection, kind: Kind, steps: Steps[T], given: Mapping[str, bytes], guard: Guard = unguarded
    ) -> None:
        self.connection, self._guard = connection, guard
        self._kind, self._steps, self._given = kind, steps, given
        self._batch = slice(0)  # which of the results are those of the batch
        self._ending = self._over = self._guarded = False
        self._value: T
        self._error: BaseException | None = None
        self.committing = False
        """True if something was sent that commits a change, whose answer is not there yet."""
        self.committed = False
        """True if some change of it is committed."""
        self._step(partial(next, steps))

    async def go(self) -> T:
        """Runs it to its end. Raises `Refused` (it is rolled back then), `Broken`, and what the operation raises."""
        while not self._over:
            try:
                answer: Sequence[Result] | Refused = await self.connection.receive()
                self.committed |= self.committing
            except Refused as error:
                if self.committing and (self.connection.broken or is_doubtful(error.state)):
                    # A pooler whose server died at COMMIT answers with an SQLSTATE, as if it had been refused.
                    raise Broken(sent=True) from None
                answer = error
            self.committing = False
            self._hear(answer)
        if self._error is not None:
            raise self._error
        return self._value

    def _hear(self, answer: Sequence[Result] | Refused) -> None:
        refused = answer if isinstance(answer, Refused) else None
        if self._ending:
            self._over, self._error = True, self._error or refused
        elif not isinstance(answer, Refused):
            if self._guarded and answer[self._batch.start - 1].rows[0][1] != "t":
                self._fail(self._guard.refuses())
                return
            self._guarded = False
            self._step(partial(self._steps.send, answer[self._batch]))
        elif is_conflict(answer.state):
            self._step(partial(self._steps.throw, Conflict()))
        else:
            self._fail(answer)

    def _step(self, move: Callable[[], Sequence[Statement]]) -> None:
        """Lets the operation go on, and sends what it wants to be sent."""
        try:
            self._send(move())
        except StopIteration as done:
            self._value = done.value
            self._end(b"COMMIT")
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = error
        self._steps.close()
        self._end(b"ROLLBACK")

    def _send(self, batch: Sequence[Statement]) -> None:
        texts = [bind(statement, self._given) for statement in batch]
        last = isinstance(batch, Last)
        head: list[bytes] = []
        if not self.connection.in_transaction:
            head = [_TIMEOUT] if last and self._kind != "read" else [_BEGIN[self._kind], _TIMEOUT, _SILENCE]
            if self._kind == "durable":
                self._guarded = True
                head = [_BEGIN[self._kind], _TIMEOUT, _SILENCE, DURABLE + b", " + self._guard.condition]
        begun = self.connection.in_transaction or len(head) > 1
        self._batch = slice(len(head), len(head) + len(texts))
        self.committing = last and self._kind != "read"
        self.connection.send(b"; ".join([*head, *texts, *([b"COMMIT"] if last and begun else [])]))

    def _end(self, word: bytes) -> None:
        if self.connection.in_transaction:
            self._ending = True
            self.committing = word == b"COMMIT" and self._kind != "read"
            self.connection.send(word)
        else:
            self._over = True
