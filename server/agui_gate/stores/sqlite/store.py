"""The embedded store: one SQLite file, one worker thread, one transaction a call, or for several that wait.

Decisions: adr/0001-sqlite-on-one-worker-thread.md. Several processes may share the file; a claim is one conditional
update, so SQLite itself decides which of them wins. The operations are those of every store in SQL (`stores/sql`); here
is what runs them, and what is SQLite's alone: the file while it is open, with its connection, its clock and the owner
of its leases.
"""

import asyncio
import os
import sqlite3
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from agui_gate.concurrency import forget
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.base import NO_BOUNDS, Bounds, StopRequest
from agui_gate.stores.clock import Clock, StoreClock, wall_clock
from agui_gate.stores.lease import LeaseOwner, boot_id, is_gone, is_neighbour
from agui_gate.stores.sql.operations import Kind, Operation
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sqlite.database import Database, errors_as_unavailable, open_database, unavailable
from agui_gate.stores.sqlite.inode import OpenFile
from agui_gate.stores.sqlite.statistics import write_statistics
from agui_gate.stores.sqlite.variant import SQLiteVariant

if TYPE_CHECKING:
    from agui_gate.stores.epochs import Epoch

T = TypeVar("T")

CLOSE_S = 10.0
"""Seconds that `aclose` waits for work under way; a commit that takes longer still ends on its own."""

FORGET_MS = 30 * 24 * 3_600_000
"""Milliseconds after which a process whose end nobody saw is forgotten."""

_CLOCK = "SELECT boot, ahead, seen FROM clock"
_KEEP = "INSERT OR REPLACE INTO clock (one, boot, ahead, seen) VALUES (1, ?, ?, ?)"

TOGETHER = 16
"""Changes in one transaction, at most."""


class _Change(msgspec.Struct, frozen=True):
    """An operation, in a transaction. Those that write may share it with others that wait."""

    kind: Kind
    operation: Operation[Any]


class SQLiteStore(SQLStore):
    """A `Store` in the file ``path``. ``clock`` is the wall clock (`stores.clock`). ``any_past``: see `open_store`.

    Every call is one job on the worker thread. Cancelling a caller never stops a job that was queued. Changes that wait
    while another is made are made in one transaction; nobody is told of his before all are committed.
    """

    neighbours: Sequence[int]

    def __init__(
        self, path: str, *, clock: Clock = wall_clock, bounds: Bounds = NO_BOUNDS, any_past: bool = False
    ) -> None:
        super().__init__(SQLiteVariant(), bounds)
        self._path, self._any_past = path, any_past
        self.url = f"sqlite:///{path}"
        self._clock = StoreClock(clock)
        self._worker: Worker | None = None
        self._owner: LeaseOwner | None = None
        self._db: Database | None = None  # the worker thread's alone
        self._file: OpenFile | None = None
        self._asked = True  # a stop by ourselves, which SQLite doesn't tell us of
        self.neighbours = ()

    async def start(self) -> None:
        """Opens and migrates the file; does nothing if it is open. Raises `ConfigurationError`."""
        if self._worker is not None:
            return
        worker = Worker("agui-gate-sqlite", self._together)
        self._worker = worker
        try:
            await worker.submit(self._open)
        except BaseException:
            await self.aclose()
            raise

    async def check(self) -> None:
        """Raises `Unavailable` unless a read and a write work now."""
        await self._run(self._check)

    async def aclose(self) -> None:
        """Gives our leases back and closes, after what is queued; waits at most `CLOSE_S`. Safe to call twice."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        closed = worker.submit(self._close)
        worker.stop()
        await asyncio.wait([closed], timeout=CLOSE_S)
        if closed.done():
            worker.leave()

    def now(self) -> int:
        """See `StoreLifecycle`."""
        return self._clock()

    async def begin_epoch(self) -> "Epoch":
        """See `EpochStore`. Raises `ConfigurationError` while others have the file open, or the one before it."""
        if self._file is not None and not self._file.is_alone():
            raise ConfigurationError(
                "Another process has this store open, or the file that it replaced. Stop that process first, "
                "then begin the epoch."
            )
        return await super().begin_epoch()

    async def renew(self, run_keys: Collection[str]) -> Collection[str]:
        """See `ThreadStore`."""

        def job(db: Database) -> set[str]:
            with db.transaction(durable=False):
                lost = db.perform(lambda: self._sql.leases.renew(run_keys), self._clock)
                _keep_clock(db, self._clock)
            return lost

        return await self._run(job) if run_keys else ()

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """See `ThreadStore`."""

        def job(db: Database) -> str | None:
            self._asked = True
            return self._job(lambda: self._sql.threads.ask_to_stop(principal, thread_id, request), db)

        return await self._run(job)

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """See `ThreadStore`."""

        def job(db: Database) -> Mapping[str, StopRequest]:
            if not (db.changed_elsewhere() or self._asked):
                return {}
            found = self._job(lambda: self._sql.leases.take_stops(run_keys), db)
            self._asked = False
            return found

        return await self._run(job) if run_keys else {}

    # --- the driver

    def _do(self, kind: Kind, operation: Operation[T]) -> asyncio.Future[T]:
        return self._run(_Change(kind, operation))

    def _later(self, operation: Operation[None]) -> None:
        if self._worker is not None:
            self._run(_Change("write", operation)).add_done_callback(forget)  # the lease then lapses by itself

    @property
    def _holder(self) -> str:
        if self._owner is None:
            raise Unavailable("The store is closed.")
        return self._owner.name

    def _open(self) -> None:
        db = open_database(self._path)
        if not self._any_past and db.is_copy():
            from agui_gate.stores.epochs import ANOTHER_PAST

            db.close()
            raise ConfigurationError(ANOTHER_PAST.format(f"The database {self._path} is a backup."))
        self._db, self._file = db, OpenFile(self._path)
        self._owner = LeaseOwner()
        with errors_as_unavailable():
            write_statistics(db)
        with errors_as_unavailable(), db.transaction(durable=False):
            overdue_by = _set_clock(db, self._clock)
            if overdue_by is not None:
                db.perform(lambda: self._sql.ledger.expire(at=overdue_by), self._clock)
            _keep_clock(db, self._clock)
            self.neighbours = _enter(db, self._owner.name, self._clock())

    def _check(self, db: Database) -> None:
        self._require_file()
        with db.transaction(durable=False):
            db.execute("INSERT OR REPLACE INTO checks (one, checked_at) VALUES (1, ?)", (self._clock(),))
            db.execute("SELECT checked_at FROM checks").fetchone()

    def _close(self) -> None:
        db, self._db = self._db, None
        owner, self._owner = self._owner, None
        if db is None or owner is None:
            return
        try:
            # Where that fails, the leases end with their owner.
            with suppress(Unavailable), errors_as_unavailable(), db.transaction(durable=False):
                db.perform(lambda: self._sql.leases.void_all(owner.name), self._clock)
                _leave(db, owner.name)
                _keep_clock(db, self._clock)
        finally:
            owner.close()
            db.close()
            if self._file is not None:
                self._file.close()

    def _run(self, job: Callable[[Database], T] | _Change) -> asyncio.Future[T]:
        if self._worker is None:
            raise Unavailable("The store is closed.")
        return self._worker.submit(job if isinstance(job, _Change) else partial(self._attempt, job))

    def _attempt(self, job: Callable[[Database], T]) -> T:
        if self._db is None:
            raise Unavailable("The store is closed.")
        try:
            return job(self._db)
        except sqlite3.Error as error:
            raise unavailable(error) from error

    def _require_file(self) -> None:
        if self._file is not None:
            self._file.require()

    def _job(self, operation: Operation[T], db: Database) -> T:
        result: T = self._jobs([_Change("write", operation)], db)[0]
        return result

    def _jobs(self, changes: Sequence[_Change], db: Database) -> list[Any]:
        kind = changes[0].kind
        if kind == "durable":
            self._require_file()
        with db.snapshot() if kind == "read" else db.transaction(durable=kind == "durable"):
            return [db.perform(change.operation, self._clock) for change in changes]

    def _together(self, changes: Sequence[_Change]) -> list[Any]:
        """Makes changes in one transaction. Raises what one of them does; then none is made."""
        return self._attempt(partial(self._jobs, changes))


_Job = Callable[[], Any] | _Change
_Item = tuple[_Job, asyncio.Future[Any]]
_Outcome = tuple[asyncio.Future[Any], object, BaseException | None]


class Worker:
    """A thread that runs blocking jobs in order, and hands their results back to the event loop.

    Cheaper than a pool (one queue, one wake-up of the loop per job), which matters at two jobs a run. ``together``
    makes changes that wait one behind the other in one step; if it raises, each is made alone. It is a daemon: a
    process that forgets to close its store can still exit.

    The event loop that makes it is woken by a descriptor of its own, where the system has such. To write there lets go
    of Python's lock. uvloop's `call_soon_threadsafe` keeps it, so the loop's thread would wake up, and wait once more.
    """

    def __init__(self, name: str, together: Callable[[Sequence[_Change]], Sequence[Any]]) -> None:
        self._jobs: SimpleQueue[_Item | None] = SimpleQueue()
        self._together, self._loop = together, asyncio.get_running_loop()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) if sys.platform == "linux" else None
        self._handed_back: deque[Sequence[_Outcome]] = deque()
        if self._bell is not None:
            self._loop.add_reader(self._bell, self._take_back, self._bell)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: _Job) -> asyncio.Future[Any]:
        """Queues ``job``. Cancelling the future does not stop the job: it runs, and its result is dropped."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, future))
        return future

    def stop(self) -> None:
        """Ends the thread after what is queued already."""
        self._jobs.put(None)

    def leave(self) -> None:
        """Gives back what it has of its event loop, after all that was queued is done."""
        self._thread.join(CLOSE_S)  # it may not have rung yet for what was taken back already
        bell, self._bell = self._bell, None
        if bell is not None:
            with suppress(RuntimeError):  # its loop is closed
                self._loop.remove_reader(bell)
            os.close(bell)

    def _take_back(self, bell: int) -> None:
        os.eventfd_read(bell)
        while self._handed_back:
            _resolve(self._handed_back.popleft())

    def _hand_back(self, loop: asyncio.AbstractEventLoop, outcomes: Sequence[_Outcome]) -> None:
        if self._bell is not None and loop is self._loop:
            self._handed_back.append(outcomes)
            os.eventfd_write(self._bell, 1)
            return
        with suppress(RuntimeError):  # its loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve, outcomes)

    def _work(self) -> None:
        with suppress(AttributeError, OSError):  # to be woken is no reason to take the core from who has Python's lock
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        waiting = deque[_Item | None]()
        while True:
            if not waiting:
                waiting.append(self._jobs.get())
            while len(waiting) < TOGETHER and not self._jobs.empty():
                waiting.append(self._jobs.get())
            if (first := waiting.popleft()) is None:
                return
            group: list[Any] = [first]
            loop = first[1].get_loop()
            while waiting and _goes_with(first, waiting[0]):
                group.append(waiting.popleft())
            if len(group) == 1:
                self._hand_back(loop, [self._outcome(*first)])
            else:
                self._do_together(loop, group)
            del first, group

    def _do_together(self, loop: asyncio.AbstractEventLoop, group: Sequence[_Item]) -> None:
        try:
            results = self._together([job for job, _ in group if isinstance(job, _Change)])
        except BaseException as error:  # whose it is shows when each is done alone, unless none could begin
            cause = error.__cause__
            if isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                self._hand_back(loop, [(future, None, unavailable(cause)) for _, future in group])
            else:
                for item in group:
                    self._hand_back(loop, [self._outcome(*item)])
        else:
            self._hand_back(loop, [(item[1], result, None) for item, result in zip(group, results, strict=True)])

    def _outcome(self, job: _Job, future: asyncio.Future[Any]) -> _Outcome:
        try:
            return future, self._together([job])[0] if isinstance(job, _Change) else job(), None
        except BaseException as raised:  # the caller's to handle, whatever it is
            return future, None, raised


def _goes_with(first: _Item, item: _Item | None) -> bool:
    """Returns whether two changes can be made in one transaction: one that doesn't wait for the disk is not to wait for
    it because of one behind it.
    """
    if item is None:
        return False
    (begun, future), (change, other) = first, item
    if not (isinstance(begun, _Change) and isinstance(change, _Change)) or "read" in (begun.kind, change.kind):
        return False
    return change.kind in (begun.kind, "write") and future.get_loop() is other.get_loop()


def _resolve(outcomes: Sequence[_Outcome]) -> None:
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


# The machine: its clock, and the processes that use the file. None of these begins or ends a transaction.


def _set_clock(db: Database, clock: StoreClock) -> int | None:
    """Goes on with the file's clock. After a new start of the machine it returns the time until which things have
    expired by the clock before: that has to be done first.
    """
    boot, ahead, seen = db.execute(_CLOCK).fetchone() or (boot_id(), clock.offset, 0)
    if boot != boot_id():
        return int(seen)
    clock.go_on(ahead)
    return None


def _keep_clock(db: Database, clock: StoreClock) -> None:
    """Writes down how the clock goes, for processes that start later."""
    db.execute(_KEEP, (boot_id(), clock.offset, clock()))


def _enter(db: Database, owner: str, now: int) -> list[int]:
    """Notes that ``owner`` uses the file, and returns the ids of the other living processes that do.

    Those whose life can't be seen from here, as in another container, are left out: most have long ended.
    """
    others = db.execute("SELECT owner, started_at FROM processes").fetchall()
    gone = [(name,) for name, started in others if is_gone(name) or started < now - FORGET_MS]
    db.connection.executemany("DELETE FROM processes WHERE owner = ?", gone)
    db.execute("INSERT INTO processes (owner, started_at) VALUES (?, ?)", (owner, now))
    here = {int(name.split("|")[1]) for name, _ in others if (name,) not in gone and is_neighbour(name, owner)}
    return sorted(here - {os.getpid()})


def _leave(db: Database, owner: str) -> None:
    """Notes that it uses the file no more."""
    db.execute("DELETE FROM processes WHERE owner = ?", (owner,))
