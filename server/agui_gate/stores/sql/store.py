"""A store in SQL: each method is an operation in steps, which a driver runs in a transaction."""

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.audit import Happened
from agui_gate.core.transcript import Output
from agui_gate.errors import NotFound
from agui_gate.stores.base import (
    EXPIRE,
    ORPHANS,
    ApprovalPage,
    AtWork,
    Bounds,
    Calls,
    Change,
    Expired,
    JournalVersion,
    Named,
    Orphans,
    Page,
    StopRequest,
    Thread,
    ThreadHead,
    Which,
)
from agui_gate.stores.outbox import Notice
from agui_gate.stores.sql import orphans
from agui_gate.stores.sql.changes import Changes
from agui_gate.stores.sql.journal import Journal
from agui_gate.stores.sql.leases import Leases, Wish
from agui_gate.stores.sql.ledger import Ledger, Move
from agui_gate.stores.sql.operations import Kind, Operation, Steps
from agui_gate.stores.sql.people_store import PeopleOperations
from agui_gate.stores.sql.trail import Trail
from agui_gate.stores.sql.variant import Variant

if TYPE_CHECKING:
    from agui_gate.core.terms import Terms
    from agui_gate.stores.audit import EventPage, HeadPage
    from agui_gate.stores.epochs import Epoch
    from agui_gate.stores.operators import Backlog
    from agui_gate.stores.retention import Ages, Place, Swept, Tally
    from agui_gate.stores.sql.audit import AuditReader
    from agui_gate.stores.sql.deletions import Deletions
    from agui_gate.stores.sql.epochs import Epochs
    from agui_gate.stores.sql.lists import Lists
    from agui_gate.stores.sql.operators import SqlOperators
    from agui_gate.stores.sql.retention import Retention
    from agui_gate.stores.sql.threads import Threads
    from agui_gate.stores.sql.trail_reader import TrailReader
    from agui_gate.stores.tombstones import Tombstone

T = TypeVar("T")


class Operations:
    """Every operation, in the words of one database. Says nothing to it: a driver does (`steps`).

    No run needs the later ones, so the module of each is imported when it is first used.
    """

    def __init__(self, variant: Variant, bounds: Bounds) -> None:
        self._variant, self._bounds = variant, bounds
        self.trail = Trail(variant)
        self.ledger = Ledger(variant, self.trail)
        self.journal = Journal(variant)
        self.leases = Leases(variant, self.ledger, self.journal, bounds)
        self.changes = Changes(variant, self.ledger, self.journal, self.trail)

    @cached_property
    def audit(self) -> "AuditReader":
        """Reads the audit trail."""
        from agui_gate.stores.sql.audit import AuditReader

        return AuditReader(self.ledger)

    @cached_property
    def deletions(self) -> "Deletions":
        """Deletes threads, and keeps what outlives them."""
        from agui_gate.stores.sql.deletions import Deletions

        return Deletions(self._variant, self.ledger, self.trail)

    @cached_property
    def epochs(self) -> "Epochs":
        """Begins epochs."""
        from agui_gate.stores.sql.epochs import Epochs

        return Epochs(self._variant, self.ledger, self.trail)

    @cached_property
    def lists(self) -> "Lists":
        """Lists threads and approvals."""
        from agui_gate.stores.sql.lists import Lists

        return Lists(self._variant, self.ledger)

    @cached_property
    def retention(self) -> "Retention":
        """Forgets what is old."""
        from agui_gate.stores.sql.retention import Retention

        return Retention(self._variant, self.ledger, self.journal, self.trail, self.deletions, self._bounds)

    @cached_property
    def threads(self) -> "Threads":
        """Reads and changes threads without a lease."""
        from agui_gate.stores.sql.threads import Threads

        return Threads(self._variant, self.ledger, self.leases, self._bounds)


class SQLStore(PeopleOperations):
    """The methods of `Store`, but for its lifecycle and what a driver has to do itself."""

    bus_url = ""
    """See `StoreLifecycle`."""

    def __init__(self, variant: Variant, bounds: Bounds) -> None:
        self._sql = Operations(variant, bounds)

    @abstractmethod
    def _later(self, operation: Operation[None]) -> None:
        """Runs it after what this caller has asked for, without waiting. What it raises is nobody's concern."""

    @property
    @abstractmethod
    def _holder(self) -> str:
        """The owner of the leases that are taken here (`LeaseOwner.name`). Raises `Unavailable` when it is closed."""

    async def lease_thread(
        self,
        principal: str,
        thread_id: str,
        agent: str,
        run_key: str,
        *,
        whole: bool = True,
        create: bool = True,
        known: JournalVersion | None = None,
    ) -> Thread:
        """See `ThreadStore`. A caller that is cancelled here leaves no lease behind."""
        return await self._lease(Wish(principal, thread_id, agent, run_key, self._holder, whole, create, known))

    async def _lease(self, wish: Wish) -> Thread:
        try:
            return await self._do("write", partial(self._sql.leases.lease, wish))
        except asyncio.CancelledError:
            self._later(lambda: self._sql.leases.void(wish.run_key))
            raise

    async def read_thread(self, principal: str, thread_id: str, *, whole: bool = True) -> Thread | None:
        """See `ThreadStore`."""
        thread = await self._do("read", lambda: self._sql.threads.read(principal, thread_id, whole))
        if thread is not None and _overdue(thread.approvals, thread.now):
            thread.approvals = await self._do("write", lambda: self._sql.ledger.fresh_of(int(thread.key)))
        return thread

    async def read_calls(self, principal: str, thread_id: str) -> Calls | None:
        """See `ThreadStore`."""
        found = await self._do("read", lambda: self._sql.threads.read_calls(principal, thread_id))
        if found is None:
            return None
        row, calls = found
        if not _overdue(calls.approvals, row.now):
            return calls
        return Calls(calls.head, await self._do("write", lambda: self._sql.ledger.fresh_of(row.key)))

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """See `ThreadStore`."""
        key = int(thread.key)
        kind: Kind = "durable" if change.durable else "write"
        await self._do(kind, lambda: self._sql.changes.commit(key, change, run_key))

    async def renew(self, run_keys: Collection[str]) -> Collection[str]:
        """See `ThreadStore`."""
        return await self._do("write", lambda: self._sql.leases.renew(run_keys)) if run_keys else ()

    async def at_work(self, threads: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], AtWork]:
        """See `ThreadStore`."""
        return await self._do("read", lambda: self._sql.threads.at_work(threads)) if threads else {}

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """See `ThreadStore`."""
        return await self._do("write", lambda: self._sql.threads.ask_to_stop(principal, thread_id, request))

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """See `ThreadStore`."""
        return await self._do("write", lambda: self._sql.leases.take_stops(run_keys)) if run_keys else {}

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
        lists = self._sql.lists
        after, equal = lists.after(cursor), {"principal": principal, "archived": archived, "agent": agent}
        return await self._do("read", lambda: lists.threads(equal, after, limit))

    async def update_thread(
        self,
        principal: str,
        thread_id: str,
        *,
        title: str | None | msgspec.UnsetType = msgspec.UNSET,
        archived: bool | msgspec.UnsetType = msgspec.UNSET,
    ) -> ThreadHead | None:
        """See `ThreadStore`."""
        return await self._do("write", lambda: self._sql.threads.update(principal, thread_id, title, archived))

    async def delete_thread(self, thread: Thread, run_key: str) -> None:
        """See `ThreadStore`."""
        await self._do("durable", lambda: self._sql.deletions.delete(int(thread.key), run_key))

    async def approval(self, principal: str, approval_id: str) -> Approval | None:
        """See `ApprovalStore`."""
        for name in ("id = :id", "was = :id AND was <> ''"):
            mine = (f"principal = :principal AND {name}", {"principal": principal, "id": approval_id})
            if found := await self._fresh(*mine):
                return found[0]
        return None

    async def _fresh(self, condition: str, values: Mapping[str, object]) -> list[Approval]:
        found = await self._do("read", lambda: self._sql.ledger.read(condition, values))
        return await self._do("write", lambda: self._sql.ledger.fresh(condition, values)) if found is None else found

    async def begin_epoch(self) -> "Epoch":
        """See `EpochStore`."""
        return await self._do("durable", self._sql.epochs.begin)

    async def list_approvals(
        self, principal: str, *, limit: int, cursor: str | None = None, which: Which = "pending"
    ) -> ApprovalPage:
        """See `ApprovalStore`."""
        after = self._sql.lists.after(cursor)
        page = await self._do("read", lambda: self._sql.lists.approvals(principal, which, after, limit))
        if page is None:
            page = await self._do("write", lambda: self._sql.lists.fresh_approvals(principal, which, after, limit))
        return page

    async def waiting_ids(self, principals: Collection[str], limit: int) -> Mapping[str, list[str]]:
        """See `ApprovalStore`."""
        return await self._do("read", lambda: self._sql.lists.waiting_ids(principals, limit)) if principals else {}

    async def working_states(self, principals: Collection[str]) -> Mapping[str, State]:
        """See `WorkingStore`."""
        return await self._do("read", lambda: self._sql.lists.working_states(principals)) if principals else {}

    async def read_approvals(self, principal: str, approval_ids: Sequence[str]) -> tuple[list[Approval], Sequence[str]]:
        """See `ApprovalStore`."""
        return await self._do("read", lambda: self._sql.lists.read(principal, approval_ids))

    async def expire(self, most: int = EXPIRE) -> Expired:
        """See `Expiry`."""
        wait_ms = await self._do("read", self._sql.ledger.next_expiry)
        if wait_ms is None or wait_ms > 0:
            return Expired([], wait_ms)
        from agui_gate.stores.sql.expiry import expire_due

        return await self._do("write", lambda: expire_due(self._sql.ledger, most))

    async def orphans(self, after: int = 0, most: int = ORPHANS) -> Orphans:
        """See `OrphanStore`."""
        return await self._do("read", lambda: orphans.orphans(after, most))

    async def unknown(self, limit: int) -> tuple[int, Sequence[Named]]:
        """See `OrphanStore`."""
        return await self._do("read", lambda: orphans.unknown(limit))

    async def backlog(self) -> "Backlog":
        """See `BacklogStore`."""
        from agui_gate.stores.sql.backlog import backlog

        return await self._do("read", lambda: backlog(self._sql.ledger.expired))

    async def move(
        self,
        approval_id: str,
        to: State,
        *,
        decision: Decision | None = None,
        output: Output | None = None,
        run_key: str | None = None,
        terms: "Terms | None" = None,
    ) -> Approval:
        """See `ApprovalStore`."""
        return await self._move(Move(approval_id, to, decision, output, run_key, terms))

    async def _move(self, move: Move) -> Approval:
        def moving() -> Steps[Approval | None]:
            moved = yield from self._sql.ledger.move(move)
            if moved is None:
                yield from self._sql.deletions.amend(move)
            return moved

        moved = await self._do("durable", moving)
        if moved is None:
            raise NotFound("There is no such approval.")
        return moved

    @property
    def operators(self) -> "SqlOperators":
        """See `OperatedStore`."""
        from agui_gate.stores.sql.operators import SqlOperators

        return SqlOperators(self, self._sql)

    async def tombstones(
        self, principal: str, *, thread_id: str | None = None, approval_id: str | None = None, limit: int = 100
    ) -> "list[Tombstone]":
        """See `ApprovalStore`."""
        return await self._do("read", lambda: self._sql.deletions.read(principal, thread_id, approval_id, limit))

    async def note(self, happened: Sequence[Happened]) -> None:
        """See `AuditStore`."""
        if happened:
            await self._do("write", lambda: self._sql.trail.note(happened))

    async def read_events(
        self,
        *,
        limit: int,
        cursor: str | None = None,
        principal: str | None = None,
        thread_id: str | None = None,
        since: int = 0,
    ) -> "EventPage":
        """See `AuditStore`."""
        return await self._sql.audit.read(self._do, limit, cursor, principal, thread_id, since)

    async def read_heads(self, *, limit: int, cursor: str | None = None) -> "HeadPage":
        """See `AuditStore`."""
        return await self._do("read", lambda: self._sql.audit.heads(limit, cursor))

    async def read_ledger(self, thread: str | None) -> list[Approval]:
        """See `AuditStore`."""
        if thread is not None:
            return await self._do("read", lambda: self._sql.audit.ledger_of(int(thread)))
        found: list[Approval] = []
        after: int | None = 0
        while after is not None:
            more, after = await self._do("read", partial(self._sql.audit.chainless, after))
            found += more
        return found

    async def is_agreed(self, approval: Approval) -> bool:
        """See `AuditStore`."""
        return await self._do("read", lambda: self._sql.ledger.is_agreed(approval))

    @cached_property
    def trail(self) -> "TrailReader":
        """See `TrailStore`."""
        from agui_gate.stores.sql.trail_reader import TrailReader

        return TrailReader(self._do, self._sql)

    async def take_notices(self, taker: str, *, told: Collection[int] = (), limit: int) -> Sequence[Notice]:
        """See `OutboxStore`."""
        if limit and not told and not await self._do("read", self._sql.trail.has_notices):
            return ()
        return await self._do("write", lambda: self._sql.trail.take(taker, told, limit))

    async def want_runs(self, wanted: bool) -> None:
        """See `OutboxStore`."""
        if not await self._do("read", lambda: self._sql.trail.runs_wanted(wanted)):
            await self._do("write", lambda: self._sql.trail.want_runs(wanted))

    async def sweep(self, ages: "Ages", place: "Place | None" = None, most: int | None = None) -> "Swept":
        """See `RetentionStore`."""
        return await self._do("write", lambda: self._sql.retention.sweep(ages, place, most))

    async def tally(self) -> "Tally":
        """See `RetentionStore`."""
        return await self._sql.retention.tally(self._do)


def _overdue(approvals: Sequence[Approval], now: int) -> bool:
    return any(approval.overdue_at(now) for approval in approvals)
