"""A SQLite store's file while it is open: its worker thread, its connection, the owner of its leases, its clock.

A thread that runs blocking jobs in order, and hands their results back to the event loop.

Cheaper than a pool (one queue, one wake-up of the loop per job), which matters at two jobs a run. See ADR 0001.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.clock import Clock, StoreClock
from agui_gate.stores.lease import LeaseOwner
from agui_gate.stores.sql.operations import Kind, Operation, run
from agui_gate.stores.sql.store import Operations
from agui_gate.stores.sqlite import machine
from agui_gate.stores.sqlite.database import Database, errors_as_unavailable, open_database, unavailable
from agui_gate.stores.sqlite.inode import OpenFile
from agui_gate.stores.sqlite.statistics import write_statistics

T = TypeVar("T")

CLOSE_S = 10.0
"""Seconds that `aclose` waits for work under way; a commit that takes longer still ends on its own."""


class StoreFile:
    """Opened by `start`, closed by `aclose`; meanwhile `_run` does jobs on the worker thread, in order."""

    def __init__(self, path: str, clock: Clock, operations: Operations, any_past: bool = False) -> None:
        self._path, self._any_past = path, any_past
        self._sql = operations
        self._clock = StoreClock(clock)
        self._worker: Worker | None = None
        self._owner: LeaseOwner | None = None
        self._db: Database | None = None  # the worker thread's alone
        self._file: OpenFile | None = None
        self.neighbours: Sequence[int] = ()

    async def start(self) -> None:
        """Opens and migrates the file; does nothing if it is open. Raises `ConfigurationError`."""
        if self._worker is not None:
            return
        worker = Worker("agui-gate-sqlite")
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
            overdue_by = machine.set_clock(db, self._clock)
            if overdue_by is not None:
                self._perform(db, lambda: self._sql.ledger.expire(at=overdue_by))
            machine.keep_clock(db, self._clock)
            self.neighbours = machine.enter(db, self._owner.name, self._clock())

    def now(self) -> int:
        """See `StoreLifecycle`."""
        return self._clock()

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
            with errors_as_unavailable(), db.transaction(durable=False):
                self._perform(db, lambda: self._sql.threads.void_all(owner.name))
                machine.leave(db, owner.name)
                machine.keep_clock(db, self._clock)
        except Unavailable:
            pass  # the leases end with their owner
        finally:
            owner.close()
            db.close()
            if self._file is not None:
                self._file.close()

    def _submit(self, job: Callable[[Database], T]) -> asyncio.Future[T]:
        if self._worker is None:
            raise Unavailable("The store is closed.")
        return self._worker.submit(partial(self._attempt, job))

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

    def _job(self, kind: Kind, operation: Operation[T], db: Database) -> T:
        if kind == "durable":
            self._require_file()
        with db.snapshot() if kind == "read" else db.transaction(durable=kind == "durable"):
            return self._perform(db, operation)

    def _perform(self, db: Database, operation: Operation[T]) -> T:
        """Performs an operation within a transaction."""
        at = self._clock.moment()
        given = {"now": at.now, "ticks": at.ticks, "tenant": ""}
        return run(operation, partial(db.answer, given))

    async def _run(self, job: Callable[[Database], T]) -> T:
        return await self._submit(job)


_Item = tuple[Callable[[], Any], asyncio.Future[Any]]


class Worker:
    """A daemon thread: a process that forgets to close its store can still exit."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Queues ``job``. Cancelling the future does not stop the job: it runs, and its result is dropped."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, future))
        return future

    def stop(self) -> None:
        """Ends the thread after what is queued already."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, future = item
            result, error = None, None
            try:
                result = job()
            except BaseException as raised:  # the caller's to handle, whatever it is
                error = raised
            with suppress(RuntimeError):  # its loop is closed: nobody waits any more
                future.get_loop().call_soon_threadsafe(_resolve, future, result, error)
            del item, job, future, result, error


def _resolve(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
