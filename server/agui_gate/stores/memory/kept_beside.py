"""What the memory store keeps beside its threads, for others: the audit trail, and the outbox."""

from collections.abc import Collection, Sequence

from agui_gate.core.audit import Happened
from agui_gate.stores.audit import EventPage, HeadPage
from agui_gate.stores.clock import StoreClock
from agui_gate.stores.memory.ledger import MemoryLedger
from agui_gate.stores.memory.trail import Trail
from agui_gate.stores.outbox import Notice


class KeptBeside:
    """That part of a `MemoryStore`."""

    _trail: Trail
    _ledger: MemoryLedger
    _clock: StoreClock

    def _require_open(self) -> None:
        raise NotImplementedError

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

    async def take_notices(self, taker: str, *, told: Collection[int] = (), limit: int) -> Sequence[Notice]:
        """See `OutboxStore`."""
        self._require_open()
        return self._trail.take(taker, told, limit, self._clock())
