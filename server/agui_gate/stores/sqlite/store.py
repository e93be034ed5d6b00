"""The embedded store: one SQLite file, one worker thread, one transaction a call.

Decisions: adr/0001-sqlite-on-one-worker-thread.md. Several processes may share the file; a claim is one conditional
update, so SQLite itself decides which of them wins. The operations are those of every store in SQL (`stores/sql`); here
is what runs them, and what is SQLite's alone.
"""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.base import NO_BOUNDS, Bounds, StopRequest
from agui_gate.stores.clock import Clock, wall_clock
from agui_gate.stores.sql.operations import Kind, Operation
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sqlite import machine
from agui_gate.stores.sqlite.database import Database
from agui_gate.stores.sqlite.file import StoreFile
from agui_gate.stores.sqlite.variant import SQLiteVariant

if TYPE_CHECKING:
    from agui_gate.stores.epochs import Epoch

T = TypeVar("T")


class SQLiteStore(SQLStore, StoreFile):
    """A `Store` in the file ``path``. ``clock`` is the wall clock (`stores.clock`). ``any_past``: see `open_store`.

    Every call is one job on the worker thread. Cancelling a caller never stops a job that was queued.
    """

    def __init__(
        self, path: str, *, clock: Clock = wall_clock, bounds: Bounds = NO_BOUNDS, any_past: bool = False
    ) -> None:
        SQLStore.__init__(self, SQLiteVariant(), bounds)
        StoreFile.__init__(self, path, clock, self._sql, any_past)
        self._asked = True  # a stop by ourselves, which SQLite doesn't tell us of

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
                lost = self._perform(db, lambda: self._sql.threads.renew(run_keys))
                machine.keep_clock(db, self._clock)
            return lost

        return await self._run(job) if run_keys else ()

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """See `ThreadStore`."""

        def job(db: Database) -> str | None:
            self._asked = True
            return self._job("write", lambda: self._sql.threads.ask_to_stop(principal, thread_id, request), db)

        return await self._run(job)

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """See `ThreadStore`."""

        def job(db: Database) -> Mapping[str, StopRequest]:
            if not (db.changed_elsewhere() or self._asked):
                return {}
            found = self._job("write", lambda: self._sql.threads.take_stops(run_keys), db)
            self._asked = False
            return found

        return await self._run(job) if run_keys else {}

    async def _do(self, kind: Kind, operation: Operation[T]) -> T:
        return await self._submit(partial(self._job, kind, operation))

    def _later(self, operation: Operation[None]) -> None:
        if self._worker is not None:
            self._submit(partial(self._job, "write", operation)).add_done_callback(_forget)

    @property
    def _holder(self) -> str:
        if self._owner is None:
            raise Unavailable("The store is closed.")
        return self._owner.name


def _forget(future: asyncio.Future[None]) -> None:
    """Takes note of a failure nobody waits for: the lease then lapses by itself."""
    if not future.cancelled():
        future.exception()
