"""The store without a file: SQLite in memory, for tests, trials and servers that may forget.

Its operations are those of every store in SQL (`stores/sql`). They run on the event loop's own thread, since none of
them waits for anything. So no method awaits, and each is atomic by itself. What it has goes with the process, and must
not grow for ever until then: triggers keep what a store with a file leaves to its disk.
"""

import sqlite3
import weakref
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from agui_gate.core.approvals import State
from agui_gate.errors import Unavailable
from agui_gate.stores.base import NO_BOUNDS, Bounds, Change, Thread
from agui_gate.stores.clock import Clock, StoreClock, wall_clock
from agui_gate.stores.lease import LeaseOwner
from agui_gate.stores.sql.leases import Wish
from agui_gate.stores.sql.ledger import Move
from agui_gate.stores.sql.operations import Kind, Last, Operation, Statement, Steps
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sqlite.database import Database, migrate
from agui_gate.stores.sqlite.statistics import write_statistics
from agui_gate.stores.sqlite.variant import SQLiteVariant

T = TypeVar("T")

MAX_PENDING = 1000
"""Pending approvals kept of one principal: when one more is asked for, the oldest becomes ``cancelled``."""
MAX_EVENTS, MAX_ALL = 10_000, 50_000
"""Events kept of one principal, and of all. When there are more, a chain goes as a whole: the one that began first."""
MAX_NOTICES = 10_000
"""Notices kept of all that nobody has taken, and deliveries: the latest ones."""
MAX_TOMBS = 1000
"""Tombstones kept of one principal: the latest ones."""

_LIMITS = """
CREATE TABLE kept (events INTEGER, all_events INTEGER);
CREATE TABLE has_threads (principal TEXT PRIMARY KEY, threads INTEGER, bytes INTEGER) WITHOUT ROWID;
CREATE TABLE has_events (principal TEXT PRIMARY KEY, events INTEGER) WITHOUT ROWID;
CREATE INDEX events_by_age ON approval_events (principal, at);
CREATE INDEX all_events_by_age ON approval_events (at);

CREATE TRIGGER thread_made AFTER INSERT ON threads BEGIN
    INSERT INTO has_threads VALUES (new.principal, 1, new.bytes)
        ON CONFLICT DO UPDATE SET threads = threads + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER thread_grown AFTER UPDATE OF bytes ON threads BEGIN
    UPDATE has_threads SET bytes = bytes + new.bytes - old.bytes WHERE principal = new.principal;
END;
CREATE TRIGGER thread_gone AFTER DELETE ON threads BEGIN
    UPDATE has_threads SET threads = threads - 1, bytes = bytes - old.bytes WHERE principal = old.principal;
    DELETE FROM has_threads WHERE principal = old.principal AND threads = 0;
END;
CREATE TRIGGER event_added AFTER INSERT ON approval_events BEGIN
    INSERT INTO has_events VALUES (new.principal, 1) ON CONFLICT DO UPDATE SET events = events + 1;
    DELETE FROM approval_events
        WHERE (SELECT events FROM has_events WHERE principal = new.principal) > (SELECT events FROM kept)
        AND thread = (SELECT thread FROM approval_events WHERE principal = new.principal ORDER BY at LIMIT 1);
    DELETE FROM approval_events
        WHERE (SELECT sum(events) FROM has_events) > (SELECT all_events FROM kept)
        AND thread = (SELECT thread FROM approval_events ORDER BY at LIMIT 1);
END;
CREATE TRIGGER event_gone AFTER DELETE ON approval_events BEGIN
    UPDATE has_events SET events = events - 1 WHERE principal = old.principal;
    DELETE FROM has_events WHERE principal = old.principal AND events = 0;
END;
"""
_LATEST = f"""
CREATE TRIGGER notice_added AFTER INSERT ON outbox BEGIN
    DELETE FROM outbox WHERE id <= new.id - {MAX_NOTICES};
END;
CREATE TRIGGER delivery_added AFTER INSERT ON deliveries BEGIN
    DELETE FROM deliveries WHERE id <= new.id - {MAX_NOTICES};
END;
CREATE TRIGGER tombstone_added AFTER INSERT ON tombstones BEGIN
    DELETE FROM tombstones WHERE id IN (
        SELECT id FROM tombstones WHERE tenant = new.tenant AND principal = new.principal
        ORDER BY deleted_at DESC LIMIT -1 OFFSET {MAX_TOMBS}
    );
END;
"""  # noqa: S608 our names
_HAS = (
    "SELECT threads, bytes, "
    "EXISTS (SELECT 1 FROM threads WHERE tenant = :tenant AND principal = :principal AND id = :thread_id) OR "
    "EXISTS (SELECT 1 FROM threads WHERE tenant = :tenant AND principal = :principal AND alias = :thread_id) "
    "FROM has_threads WHERE principal = :principal"
)
_TOO_MANY = (
    "SELECT id FROM approvals WHERE tenant = :tenant AND principal = :principal AND state = 'pending' "
    "ORDER BY seq DESC LIMIT -1 OFFSET :kept"
)


@cache
def _template() -> sqlite3.Connection:
    """Returns a database with the tables, from which each store copies them: that takes a hundredth of making them."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database = Database(connection)
    migrate(database, ":memory:")
    connection.executescript(_LIMITS + _LATEST)
    write_statistics(database)
    return connection


class MemoryStore(SQLStore):
    """A `Store` that lives as long as its process. ``clock`` is the wall clock (`stores.clock`)."""

    url = "memory://"
    neighbours: Sequence[int] = ()

    def __init__(
        self,
        *,
        clock: Clock = wall_clock,
        max_pending: int = MAX_PENDING,
        max_events: tuple[int, int] = (MAX_EVENTS, MAX_ALL),
        bounds: Bounds = NO_BOUNDS,
    ) -> None:
        super().__init__(SQLiteVariant(), bounds)
        self._clock, self._bounds, self._max_pending = StoreClock(clock), bounds, max_pending
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _template().backup(connection)
        weakref.finalize(self, connection.close)
        self._database = Database(connection)
        self._database.execute("PRAGMA foreign_keys = ON")
        self._database.execute("INSERT INTO kept VALUES (?, ?)", max_events)
        self._owner: LeaseOwner | None = None

    async def start(self) -> None:
        """Opens it, with what it had when it was closed."""
        if self._owner is None:
            self._owner = LeaseOwner()
            weakref.finalize(self, self._owner.close)  # of a store that is dropped without `aclose`

    async def check(self) -> None:
        """Raises `Unavailable` unless it is open."""
        self._holder  # noqa: B018 it raises

    async def aclose(self) -> None:
        """Ends all leases."""
        if self._owner is not None:
            owner = self._owner.name
            await self._do("write", lambda: self._sql.leases.void_all(owner))
            self._owner.close()
            self._owner = None

    def now(self) -> int:
        """See `StoreLifecycle`."""
        return self._clock()

    async def _lease(self, wish: Wish) -> Thread:
        """Raises `TooLarge`, too, where the principal has as much as may be kept of one."""
        if self._bounds.principal_threads is not None or self._bounds.principal_bytes is not None:
            threads, size, there = await self._do("read", lambda: _has(wish))
            if wish.whole or not there:
                self._bounds.check_principal(size, threads if there or not wish.create else threads + 1)
        return await super()._lease(wish)

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """See `ThreadStore`. What waits of a principal is no more than `MAX_PENDING`."""

        def commit() -> Steps[None]:
            yield from self._sql.changes.commit(int(thread.key), change, run_key)
            for principal in {approval.principal for approval in change.approvals}:
                (found,) = yield [Statement(_TOO_MANY, {"principal": principal, "kept": self._max_pending})]
                for (approval_id,) in reversed(found.rows):
                    yield from self._sql.ledger.move(Move(approval_id, State.CANCELLED, None, None, None))

        await self._do("write", commit)

    async def _do(self, kind: Kind, operation: Operation[T]) -> T:
        self._holder  # noqa: B018 it raises
        with self._database.snapshot() if kind == "read" else self._database.transaction(durable=False):
            return self._database.perform(operation, self._clock)

    def _later(self, operation: Operation[None]) -> None:
        raise AssertionError("nobody is cancelled in a method that doesn't await")

    @property
    def _holder(self) -> str:
        if self._owner is None:
            raise Unavailable("The store is closed.")
        return self._owner.name


def _has(wish: Wish) -> Steps[tuple[int, int, bool]]:
    """Returns how many threads and bytes a principal has, and whether the thread is one of them."""
    (found,) = yield Last([Statement(_HAS, {"principal": wish.principal, "thread_id": wish.thread_id})])
    threads, size, there = found.rows[0] if found.rows else (0, 0, 0)
    return threads, size, bool(there)
