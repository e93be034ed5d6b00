"""The store without a file: the same rules in plain dicts, for tests, trials and servers that may forget.

Everything happens on one event loop and no method awaits, so each is atomic by itself.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import Approval, Decision, State, dated
from agui_gate.core.transcript import ConversationRef, Output
from agui_gate.errors import LeaseLost, NotFound, ThreadBusy, Unavailable
from agui_gate.stores.base import (
    LEASE_MS,
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
    new_key,
    provider_id,
)
from agui_gate.stores.clock import Clock, Moment, StoreClock, wall_clock
from agui_gate.stores.cursor import from_cursor, to_cursor
from agui_gate.stores.epochs import Epoch, not_continued
from agui_gate.stores.memory.ledger import MemoryLedger
from agui_gate.stores.memory.record import Record, bare, changed_fields, grown
from agui_gate.stores.memory.side_records import KeptBeside
from agui_gate.stores.memory.trail import Tombs, Trail
from agui_gate.stores.outbox import is_run, run_ended
from agui_gate.stores.tombstones import Tombstone

MAX_PENDING = 1000
"""Pending approvals kept of one principal."""


class MemoryStore(KeptBeside):
    """A `Store` that lives as long as its process. ``clock`` is the wall clock (`stores.clock`)."""

    def __init__(
        self,
        *,
        clock: Clock = wall_clock,
        max_pending: int = MAX_PENDING,
        bounds: Bounds = NO_BOUNDS,
    ) -> None:
        self._clock = StoreClock(clock)
        self._bounds = bounds
        self._bytes: Counter[str] = Counter()  # by principal
        self._number: Counter[str] = Counter()  # of threads, by principal
        self._open = False
        self._threads: dict[str, Record] = {}
        self._keys: dict[tuple[str, str], str] = {}
        self._aliases: dict[tuple[str, str], dict[str, None]] = {}  # → thread keys, latest last
        self._trail = Trail()
        self._epoch = 1
        self._ledger = MemoryLedger(max_pending, self._trail)
        self._tombs = Tombs()

    # --- lifecycle

    async def start(self) -> None:
        """Nothing to open."""
        self._open = True

    async def check(self) -> None:
        """Raise `Unavailable` unless it is open."""
        self._require_open()

    async def aclose(self) -> None:
        """End all leases."""
        self._open = False
        for record in self._threads.values():
            record.lease_until = 0

    def now(self) -> int:
        """See `StoreLifecycle`."""
        return self._clock()

    @property
    def bus_url(self) -> str:
        """See `StoreLifecycle`."""
        return ""

    @property
    def neighbours(self) -> Sequence[int]:
        """See `StoreLifecycle`."""
        return ()

    def _require_open(self) -> None:
        if not self._open:
            raise Unavailable("The store is closed.")

    # --- threads

    async def lease_thread(
        self, principal: str, thread_id: str, agent: str, run_key: str, *, whole: bool = True, create: bool = True
    ) -> Thread:
        """See `ThreadStore`."""
        self._require_open()
        at = self._clock.moment()
        record = self._find(principal, thread_id)
        if record is None and not create:
            raise NotFound("There is no such thread.")
        record = record or self._create(principal, thread_id, agent, at.now)
        if record.run_status == "running" and record.run_key != run_key and not record.lapsed(at.ticks):
            raise ThreadBusy("Another run is active on this thread.")
        if whole:
            self._bounds.check_principal(self._bytes[principal], self._number[principal])
        thread = self._read(record, at, whole)
        if record.lapsed(at.ticks) and record.run_key != run_key:
            self._tell_left(record)
        record.run_key, record.run_status, record.lease_until = run_key, "running", at.ticks + LEASE_MS
        record.stop = None
        return thread

    def _tell_left(self, record: Record) -> None:
        """Its run is over, without having said so."""
        if record.run_key is not None and is_run(record.run_key):
            self._trail.tell(run_ended(record.principal, record.id, record.run_key, "interrupted"), self._clock())

    async def read_thread(self, principal: str, thread_id: str, *, whole: bool = True) -> Thread | None:
        """See `ThreadStore`."""
        self._require_open()
        record = self._find(principal, thread_id)
        return self._read(record, self._clock.moment(), whole) if record else None

    async def read_calls(self, principal: str, thread_id: str) -> Calls | None:
        """See `ThreadStore`."""
        self._require_open()
        record, at = self._find(principal, thread_id), self._clock.moment()
        return Calls(self._head(record, at), self._ledger.all(record.approvals, at.now)) if record else None

    async def commit(self, thread: Thread, change: Change, run_key: str) -> None:
        """See `ThreadStore`."""
        self._require_open()
        now = self._clock()
        record = self._under_lease(thread.key, run_key)
        if change.after not in (None, len(record.entries)):
            raise LeaseLost
        fields = changed_fields(change)  # whatever can fail comes before the first change
        self._ledger.check_new(record.key, change.approvals)
        self._grow(record, grown(record, change, fields))
        if change.keep is not None:
            del record.entries[change.keep :]
        record.entries.extend(change.entries)
        self._trail.add(record.key, now, change.happened)
        for approval in change.approvals:
            self._ledger.record(record.key, dated(approval, now), now)
            record.approvals.append(approval.id)
        self._ledger.mark_replaced(record.key, change.replaced, now, run_key)
        if change.ref is not msgspec.UNSET:
            self._set_ref(record, change.ref)
        for name, value in fields.items():
            setattr(record, name, value)
        if record.title is None:
            record.title = change.default_title
        record.updated_at = now
        if change.status is not None and is_run(run_key):
            self._trail.tell(run_ended(record.principal, record.id, run_key, change.status), now)

    async def renew(self, run_keys: Collection[str]) -> Collection[str]:
        """See `ThreadStore`."""
        self._require_open()
        lost = set(run_keys)
        until = self._clock.moment().ticks + LEASE_MS
        for record in self._threads.values():
            if record.run_status == "running" and record.run_key in lost:
                record.lease_until = until
                lost.discard(record.run_key)
        return lost

    async def at_work(self, threads: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], AtWork]:
        """See `ThreadStore`."""
        self._require_open()
        ticks = self._clock.moment().ticks
        found = {place: self._threads[self._keys[place]] for place in threads if place in self._keys}
        return {
            place: AtWork(record.run_key or "", record.updated_at)
            for place, record in found.items()
            if record.status(ticks) == "running"
        }

    async def ask_to_stop(self, principal: str, thread_id: str, request: StopRequest) -> str | None:
        """See `ThreadStore`."""
        self._require_open()
        record = self._find(principal, thread_id)
        if record is None or record.status(self._clock.moment().ticks) != "running":
            return None
        record.stop = request
        return record.run_key

    async def take_stops(self, run_keys: Collection[str]) -> Mapping[str, StopRequest]:
        """See `ThreadStore`."""
        self._require_open()
        found: dict[str, StopRequest] = {}
        for record in self._threads.values() if run_keys else ():
            if record.stop is not None and record.run_key in run_keys and record.run_status == "running":
                found[record.run_key or ""], record.stop = record.stop, None
        return found

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
        self._require_open()
        after = None if cursor is None else from_cursor(cursor)
        mine = (
            record
            for record in self._threads.values()
            if record.principal == principal and archived in (None, record.archived) and agent in (None, record.agent)
        )
        listed = sorted((r for r in mine if after is None or r.place < after), key=lambda r: r.place, reverse=True)
        at = self._clock.moment()
        heads = [self._head(record, at) for record in listed[:limit]]
        return Page(heads, to_cursor(listed[limit - 1].place) if len(listed) > limit else None)

    async def update_thread(
        self,
        principal: str,
        thread_id: str,
        *,
        title: str | None | msgspec.UnsetType = msgspec.UNSET,
        archived: bool | msgspec.UnsetType = msgspec.UNSET,
    ) -> ThreadHead | None:
        """See `ThreadStore`."""
        self._require_open()
        record = self._find(principal, thread_id)
        if record is None:
            return None
        if title is not msgspec.UNSET:
            record.title = title
        if archived is not msgspec.UNSET:
            record.archived = archived
        return self._head(record, self._clock.moment())

    async def delete_thread(self, thread: Thread, run_key: str) -> None:
        """See `ThreadStore`."""
        self._require_open()
        self._remove(self._under_lease(thread.key, run_key), run_key)

    def _remove(self, record: Record, run_key: str) -> None:
        self._set_ref(record, None)
        now = self._clock()
        self._tombs.bury(self._ledger.all(record.approvals, now), now)
        self._ledger.forget(record.key, record.approvals, now, run_key)
        del self._keys[record.principal, record.id]
        self._bytes[record.principal] -= record.bytes
        self._number[record.principal] -= 1
        if not self._number[record.principal]:
            del self._number[record.principal], self._bytes[record.principal]
        del self._threads[record.key]

    def _grow(self, record: Record, size: int) -> None:
        record.bytes += size
        self._bytes[record.principal] += size

    def _create(self, principal: str, thread_id: str, agent: str, now: int) -> Record:
        self._bounds.check_principal(self._bytes[principal], self._number[principal] + 1)
        key = str(new_key())
        self._number[principal] += 1
        record = Record(key, principal, thread_id, agent, created_at=now, updated_at=now)
        self._threads[key] = record
        self._keys[principal, thread_id] = key
        return record

    def _find(self, principal: str, thread_id: str) -> Record | None:
        """Find by the client's id, else by the provider's current id (S2)."""
        key = self._keys.get((principal, thread_id))
        if key is not None:
            return self._threads[key]
        aliased = self._aliases.get((principal, thread_id))
        return self._threads[next(reversed(aliased))] if aliased else None

    def _set_ref(self, record: Record, ref: ConversationRef | None) -> None:
        if (old := provider_id(record.ref)) is not None:
            named = self._aliases[record.principal, old]
            del named[record.key]
            if not named:
                del self._aliases[record.principal, old]
        if (new := provider_id(ref)) is not None:
            self._aliases.setdefault((record.principal, new), {})[record.key] = None
        record.ref = ref

    def _under_lease(self, key: str, run_key: str) -> Record:
        record = self._threads.get(key)
        if record is None or record.run_status != "running" or record.run_key != run_key:
            raise LeaseLost
        return record

    def _read(self, record: Record, at: Moment, whole: bool) -> Thread:
        thread = bare(record, at)
        if whole:
            self._bounds.check_readable(record.bytes)
            thread.state = None if record.state is None else msgspec.json.decode(record.state)
            thread.entries = record.entries.copy()
            thread.approvals = self._ledger.all(record.approvals, at.now)
        return thread

    def _head(self, record: Record, at: Moment) -> ThreadHead:
        return ThreadHead(
            id=record.id,
            agent=record.agent,
            title=record.title,
            archived=record.archived,
            created_at=record.created_at,
            updated_at=record.updated_at,
            run_key=record.run_key,
            run_status=record.status(at.ticks),
            pending=self._ledger.waiting(record.approvals, at.now),
        )

    # --- approvals

    async def approval(self, principal: str, approval_id: str) -> Approval | None:
        """See `ApprovalStore`."""
        self._require_open()
        found = self._ledger.find(principal, approval_id)
        return self._ledger.all([found.id], self._clock())[0] if found else None

    async def list_approvals(
        self, principal: str, *, limit: int, cursor: str | None = None, which: Which = "pending"
    ) -> ApprovalPage:
        """See `ApprovalStore`."""
        self._require_open()
        after = None if cursor is None else from_cursor(cursor).key
        return self._ledger.page(principal, which, limit, after, self._clock())

    async def tombstones(
        self, principal: str, *, thread_id: str | None = None, approval_id: str | None = None, limit: int = 100
    ) -> list[Tombstone]:
        """See `ApprovalStore`."""
        self._require_open()
        return self._tombs.of(principal, thread_id, approval_id)[:limit]

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
        self._require_open()
        if self._ledger.get(approval_id) is None:
            self._late(approval_id, to, output)
            raise NotFound("There is no such approval.")
        if run_key is not None:
            self._under_lease(self._ledger.thread_of(approval_id), run_key)
        moved = self._ledger.move(approval_id, to, self._clock(), decision, output, run_key or "")
        size = sum(len(msgspec.json.encode(part)) for part in (output, decision) if part is not None)
        self._grow(self._threads[self._ledger.thread_of(approval_id)], size)
        return moved

    def _late(self, approval_id: str, to: State, output: Output | None) -> None:
        """What came of a call whose thread was deleted."""
        tomb = self._tombs.amend(approval_id, to, output)
        gone = tomb and self._trail.last_of(tomb.principal, approval_id)
        if gone and output is not None:
            self._trail.add(gone.thread, self._clock(), [audit.late(gone, to, output)])

    async def begin_epoch(self) -> Epoch:
        """See `EpochStore`. This store has no backup; it is for tests of what comes after one."""
        self._require_open()
        self._epoch += 1
        for record in self._threads.values():
            record.ref = not_continued(record.ref)
            if record.run_status == "running":
                self._tell_left(record)
                record.run_status, record.lease_until = "interrupted", 0
        epoch = self._ledger.begin_epoch(self._epoch, self._clock())
        for record in self._threads.values():
            record.approvals = self._ledger.of(record.key)
        return epoch
