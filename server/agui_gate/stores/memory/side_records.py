"""What the memory store keeps beside its threads: what waits, audit, outbox, tombstones; and what it forgets."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

import msgspec

from agui_gate.core.approvals import UNFINISHED, Approval
from agui_gate.core.audit import Happened
from agui_gate.stores.audit import EventPage, HeadPage
from agui_gate.stores.clock import StoreClock
from agui_gate.stores.expiry import EXPIRE, Expired
from agui_gate.stores.memory.ledger import MemoryLedger
from agui_gate.stores.memory.record import Record
from agui_gate.stores.memory.trail import Tombs, Trail
from agui_gate.stores.orphans import ORPHANS, Named, Orphans
from agui_gate.stores.outbox import Notice
from agui_gate.stores.retention import BEGINNING, FORGET, Ages, Place, Swept, Tally, awaits_page


class KeptBeside:
    """That part of a `MemoryStore`."""

    _trail: Trail
    _ledger: MemoryLedger
    _clock: StoreClock
    _threads: dict[str, Record]
    _tombs: Tombs

    def _require_open(self) -> None:
        raise NotImplementedError

    def _remove(self, record: Record, run_key: str) -> None:
        raise NotImplementedError

    async def waiting_ids(self, principals: Collection[str], limit: int) -> Mapping[str, list[str]]:
        """See `ApprovalStore`."""
        self._require_open()
        return {principal: self._ledger.waiting_ids(principal, limit) for principal in principals}

    async def read_approvals(self, principal: str, approval_ids: Sequence[str]) -> tuple[list[Approval], Sequence[str]]:
        """See `ApprovalStore`."""
        self._require_open()
        return self._ledger.read(principal, approval_ids, self._clock())

    async def expire(self, most: int = EXPIRE) -> Expired:
        """See `Expiry`."""
        self._require_open()
        return self._ledger.expire(self._clock(), most)

    async def orphans(self, after: int = 0, most: int = ORPHANS) -> Orphans:
        """See `OrphanStore`."""
        self._require_open()
        looked, ticks = self._ledger.at_work(after, most), self._clock.moment().ticks
        left = [(self._threads[key], each) for key, each in looked if self._threads[key].status(ticks) != "running"]
        found = [msgspec.structs.replace(each, run_key=record.run_key or "") for record, each in left]
        return Orphans(found, looked[-1][1].seq if len(looked) == most else None)

    async def unknown(self, limit: int) -> tuple[int, Sequence[Named]]:
        """See `OrphanStore`."""
        self._require_open()
        return self._ledger.unknown(limit)

    async def note(self, happened: Sequence[Happened]) -> None:
        """See `AuditStore`."""
        self._require_open()
        for one in happened:
            if self._ledger.get(one.approval_id) is not None:
                self._trail.add(self._ledger.thread_of(one.approval_id), self._clock(), [one])

    async def read_events(
        self,
        *,
        limit: int,
        cursor: str | None = None,
        principal: str | None = None,
        thread_id: str | None = None,
        since: int = 0,
    ) -> EventPage:
        """See `AuditStore`."""
        self._require_open()
        return self._trail.events(limit, cursor, principal, thread_id, since)

    async def read_heads(self, *, limit: int, cursor: str | None = None) -> HeadPage:
        """See `AuditStore`."""
        self._require_open()
        return self._trail.heads(limit, cursor)

    async def read_ledger(self, thread: str | None) -> list[Approval]:
        """See `AuditStore`."""
        self._require_open()
        keys = [key for key in self._threads if not self._trail.has(key)] if thread is None else [thread]
        return [approval for key in keys for approval in self._ledger.of_thread(key)]

    async def is_agreed(self, approval: Approval) -> bool:
        """See `AuditStore`. Nobody else changes what this store has."""
        return True

    async def take_notices(self, taker: str, *, told: Collection[int] = (), limit: int) -> Sequence[Notice]:
        """See `OutboxStore`."""
        self._require_open()
        return self._trail.take(taker, told, limit, self._clock())

    # --- what is forgotten

    async def sweep(self, ages: Ages, place: Place = BEGINNING, most: int = FORGET) -> Swept:
        """See `RetentionStore`. One step looks at everything: there is no more than fits into memory."""
        self._require_open()
        now, ticks = self._clock.moment()
        threads = records = 0
        if ages.threads is not None:
            before = now - ages.threads
            old = (r for r in self._threads.values() if r.updated_at <= before and r.status(ticks) != "running")
            idle = list(islice((record for record in old if not self._is_unfinished(record, now)), most))
            for record in idle:
                self._remove(record, "")
            threads = len(idle)
        if ages.records is not None:
            before = now - ages.records
            records = self._trail.forget(self._threads.keys(), before) + self._tombs.forget(before)
        return Swept(threads, records, BEGINNING)

    def _is_unfinished(self, record: Record, now: int) -> bool:
        approvals = self._ledger.all(record.approvals, now)
        if any(approval.state in UNFINISHED for approval in approvals):
            return True
        if record.run_status == "finished":
            return False
        if record.awaits_since != record.updated_at and awaits_page(record.entries, approvals):
            record.awaits_since = record.updated_at
        return record.awaits_since == record.updated_at

    async def tally(self) -> Tally:
        """See `RetentionStore`."""
        self._require_open()
        now, records = self._clock(), self._threads.values()
        ends = self._trail.ages()
        return Tally(
            threads=len(records),
            bytes=sum(record.bytes for record in records),
            approvals=sum(len(record.approvals) for record in records),
            pending=sum(self._ledger.waiting(record.approvals, now) for record in records),
            tombstones=len(self._tombs),
            events=len(ends),
            notices=self._trail.waiting,
            oldest_thread=min((record.updated_at for record in records), default=None),
            oldest_event=min(ends, default=None),
        )
