"""The embedded store: one SQLite file, one worker thread, one transaction a call.

Decisions: adr/0001-sqlite-on-one-worker-thread.md. Several processes may share the file; a claim is one conditional
update, so SQLite itself decides which of them wins.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence

import msgspec

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import NotFound
from agui_gate.stores.base import (
    NO_BOUNDS,
    ApprovalPage,
    AtWork,
    Bounds,
    Calls,
    Change,
    Page,
    StopRequest,
    Thread,
    ThreadHead,
    Which,
)
from agui_gate.stores.clock import Clock, wall_clock
from agui_gate.stores.paging import from_cursor
from agui_gate.stores.sql.rows import Wanted
from agui_gate.stores.sqlite import ends, heads, ledger, machine, records
from agui_gate.stores.sqlite import statements as sql
from agui_gate.stores.sqlite.database import Database
from agui_gate.stores.sqlite.file import StoreFile
from agui_gate.stores.tombstones import Tombstone


class SQLiteStore(StoreFile):
    """A `Store` in the file ``path``. ``clock`` is the wall clock (`stores.clock`).

    Every call is one job on the worker thread. Cancelling a caller never stops a job that was queued.
    """

    def __init__(self, path: str, *, clock: Clock = wall_clock, bounds: Bounds = NO_BOUNDS) -> None:
        super().__init__(path, clock)
        self._bounds = bounds
        self._asked = True  # a stop by ourselves, which SQLite doesn't tell us of

    # --- threads

    async def lease_thread(
        self, principal: str, thread_id: str, agent: str, run_key: str, *, whole: bool = True, create: bool = True
    ) -> Thread:
        """See `ThreadStore`. A caller that is cancelled here leaves no lease behind."""
        opened = self._submit(lambda db: self._lease_thread(db, principal, thread_id, agent, run_key, whole, create))
        try:
            return await opened
        except asyncio.CancelledError:
            if self._worker is not None:
                self._submit(lambda db: self._abandon(db, run_key)).add_done_callback(_forget)
            raise

    async def read_thread(self, principal: str, thread_id: str, *, whole: bool = True) -> Thread | None:
        """See `ThreadStore`."""
        return await self._run(lambda db: self._read_thread(db, principal, thread_id, whole))

    async def read_calls(self, principal: str, thread_id: str) -> Calls | None:
        """See `ThreadStore`."""
        return await self._run(lambda db: self._read_calls(db, principal, thread_id))

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """See `ThreadStore`."""
        await self._run(lambda db: self._commit(db, int(thread.key), change, run_key))

    async def renew(self, run_keys: Collection[str]) -> Collection[str]:
        """See `ThreadStore`."""
        return await self._run(lambda db: self._renew(db, run_keys)) if run_keys else ()

    async def at_work(self, threads: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], AtWork]:
        """See `ThreadStore`."""
        return await self._run(lambda db: sql.at_work(db, threads, self._clock.moment().ticks)) if threads else {}

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """See `ThreadStore`."""
        return await self._run(lambda db: self._ask_to_stop(db, principal, thread_id, request))

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """See `ThreadStore`."""
        return await self._run(lambda db: self._take_stops(db, run_keys)) if run_keys else {}

    async def list_threads(
        self,
        principal: str,
        *,
        limit: int,
        cursor: str | None = None,
        archived: bool | None = False,
        agent: str | None = None,
    ) -> Page:
        """See `ThreadStore`."""
        after = None if cursor is None else from_cursor(cursor)
        wanted = Wanted(principal=principal, archived=archived, agent=agent)
        return await self._read(lambda db: heads.list_heads(db, wanted, after, limit, self._clock.moment()))

    async def update_thread(
        self,
        principal: str,
        thread_id: str,
        *,
        title: str | None | msgspec.UnsetType = msgspec.UNSET,
        archived: bool | msgspec.UnsetType = msgspec.UNSET,
    ) -> ThreadHead | None:
        """See `ThreadStore`."""
        return await self._run(lambda db: self._update_thread(db, principal, thread_id, title, archived))

    async def delete_thread(self, thread: Thread, run_key: str) -> None:
        """See `ThreadStore`."""
        await self._run(lambda db: self._delete_thread(db, int(thread.key), run_key))

    def _lease_thread(
        self, db: Database, principal: str, thread_id: str, agent: str, run_key: str, whole: bool, create: bool
    ) -> Thread:
        assert self._owner is not None
        owner = self._owner.name
        with db.transaction(durable=False):
            at = self._clock.moment()
            row = sql.find_thread(db, principal, thread_id)
            if row is None and not create:
                raise NotFound("There is no such thread.")
            if row is None:
                return sql.create_thread(db, principal, thread_id, agent, run_key, owner, at)
            if whole:
                self._bounds.check_readable(row.bytes)
            sql.take_lease(db, row, run_key, owner, at.ticks)
            thread = sql.read_thread(db, row, at) if whole else row.head(at)
            if _overdue(thread.approvals, at.now):
                ledger.expire(db, at.now, "thread = :thread", {"thread": row.key})
                thread.approvals = ledger.approvals_where(db, "thread = :thread", {"thread": row.key})
            return thread

    def _read_thread(self, db: Database, principal: str, thread_id: str, whole: bool) -> Thread | None:
        with db.snapshot():
            at = self._clock.moment()
            row = sql.find_thread(db, principal, thread_id)
            if row is None:
                return None
            if not whole:
                return row.head(at)
            self._bounds.check_readable(row.bytes)
            thread = sql.read_thread(db, row, at)
        thread.approvals = _fresh(db, thread.approvals, at.now, "thread = :thread", {"thread": row.key})
        return thread

    def _read_calls(self, db: Database, principal: str, thread_id: str) -> Calls | None:
        with db.snapshot():
            at = self._clock.moment()
            row = sql.find_thread(db, principal, thread_id)
            if row is None:
                return None
            head = heads.read_head(db, row.key, at)
            approvals = ledger.approvals_where(db, "thread = :thread", {"thread": row.key}, listed=True)
        return Calls(head, _fresh(db, approvals, at.now, "thread = :thread", {"thread": row.key}))

    def _commit(self, db: Database, key: int, change: Change, run_key: str) -> None:
        with db.transaction(durable=change.durable):
            now = self._clock()
            length = sql.length_under_lease(db, key, run_key)
            grown = 0
            if change.keep is not None and change.keep < length:
                grown += sql.drop_end(db, key, change.keep)
                length = change.keep
            if change.entries:
                grown += sql.append_journal(db, key, length, list(change.entries))
            if change.approvals:
                grown += ledger.record_approvals(db, key, list(change.approvals), now)
            if change.replaced:
                records.mark_replaced(db, key, list(change.replaced))
            sql.change_thread(db, key, change, length + len(change.entries), grown, now)

    def _renew(self, db: Database, run_keys: Collection[str]) -> set[str]:
        with db.transaction(durable=False):
            lost = sql.renew_leases(db, run_keys, self._clock.moment().ticks)
            machine.keep_clock(db, self._clock)
        return lost

    def _update_thread(
        self,
        db: Database,
        principal: str,
        thread_id: str,
        title: str | None | msgspec.UnsetType,
        archived: bool | msgspec.UnsetType,
    ) -> ThreadHead | None:
        with db.transaction(durable=False):
            row = sql.find_thread(db, principal, thread_id)
            if row is None:
                return None
            if title is not msgspec.UNSET:
                heads.set_title(db, row.key, title)
            if archived is not msgspec.UNSET:
                heads.set_archived(db, row.key, archived)
            return heads.read_head(db, row.key, self._clock.moment())

    def _delete_thread(self, db: Database, key: int, run_key: str) -> None:
        with db.transaction(durable=True):
            sql.length_under_lease(db, key, run_key)
            ends.bury(db, key, self._clock())
            sql.delete_thread(db, key)

    def _ask_to_stop(self, db: Database, principal: str, thread_id: str, request: StopRequest) -> str | None:
        with db.transaction(durable=False):
            row = sql.find_thread(db, principal, thread_id)
            if row is None or row.run_status != "running" or row.lapsed(self._clock.moment().ticks):
                return None
            self._asked = True
            ends.ask_to_stop(db, row.key, request)
            return row.run_key

    def _take_stops(self, db: Database, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        if not (db.changed_elsewhere() or self._asked):
            return {}
        with db.transaction(durable=False):
            found = ends.take_stops(db, run_keys)
        self._asked = False
        return found

    def _abandon(self, db: Database, run_key: str) -> None:
        with db.transaction(durable=False):
            sql.void_lease(db, run_key)

    # --- approvals

    async def approval(self, principal: str, approval_id: str) -> Approval | None:
        """See `ApprovalStore`."""
        condition = "principal = :principal AND id = :id"
        found = await self._run(
            lambda db: self._read_approvals(db, condition, {"principal": principal, "id": approval_id})
        )
        return found[0] if found else None

    async def list_approvals(
        self, principal: str, *, limit: int, cursor: str | None = None, which: Which = "pending"
    ) -> ApprovalPage:
        """See `ApprovalStore`."""
        after = None if cursor is None else from_cursor(cursor).key
        return await self._run(lambda db: self._list_approvals(db, principal, which, after, limit))

    async def move(
        self,
        approval_id: str,
        to: State,
        *,
        decision: Decision | None = None,
        output: Output | None = None,
        run_key: str | None = None,
    ) -> Approval:
        """See `ApprovalStore`."""
        return await self._run(lambda db: self._move(db, approval_id, to, decision, output, run_key))

    async def tombstones(
        self, principal: str, *, thread_id: str | None = None, approval_id: str | None = None, limit: int = 100
    ) -> list[Tombstone]:
        """See `ApprovalStore`."""
        return await self._read(lambda db: ends.read_tombstones(db, principal, thread_id, approval_id, limit))

    def _list_approvals(
        self, db: Database, principal: str, which: Which, after: int | None, limit: int
    ) -> ApprovalPage:
        now = self._clock()
        with db.snapshot():
            if not records.has_overdue(db, principal, now):
                return records.list_approvals(db, principal, which, after, limit)
        with db.transaction(durable=False):
            ledger.expire(db, now, "principal = :principal", {"principal": principal})
            return records.list_approvals(db, principal, which, after, limit)

    def _read_approvals(self, db: Database, condition: str, values: Mapping[str, object]) -> list[Approval]:
        now = self._clock()
        with db.snapshot():
            found = ledger.approvals_where(db, condition, values)
        return _fresh(db, found, now, condition, values)

    def _move(
        self,
        db: Database,
        approval_id: str,
        to: State,
        decision: Decision | None,
        output: Output | None,
        run_key: str | None,
    ) -> Approval:
        with db.transaction(durable=True):
            if run_key is not None:
                sql.check_holder(db, approval_id, run_key)
            moved = ledger.move_approval(db, approval_id, to, decision, output, self._clock())
            if moved is None:
                ends.amend(db, approval_id, to, output)
        if moved is None:
            raise NotFound("There is no such approval.")
        return moved


def _fresh(
    db: Database, found: list[Approval], now: int, condition: str, values: Mapping[str, object]
) -> list[Approval]:
    """``found`` by that condition, after the overdue ones were expired. Outside any transaction."""
    if not _overdue(found, now):
        return found
    with db.transaction(durable=False):
        ledger.expire(db, now, condition, values)
        return ledger.approvals_where(db, condition, values)


def _overdue(approvals: Sequence[Approval], now: int) -> bool:
    return any(approval.overdue_at(now) for approval in approvals)


def _forget(future: asyncio.Future[None]) -> None:
    """Take note of a failure nobody waits for: the lease then lapses by itself."""
    if not future.cancelled():
        future.exception()
