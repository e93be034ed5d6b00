"""The tombstones of the memory store."""

from collections import deque
from collections.abc import Iterable

from agui_gate.core.approvals import Approval
from agui_gate.stores.tombstones import Tombstone, tombstone

MAX_TOMBS = 1000
"""Tombstones kept of one principal: the latest ones."""


class Tombs:
    """Tombstones by principal. No method awaits, so each is atomic."""

    def __init__(self) -> None:
        self._tombs: dict[str, deque[Tombstone]] = {}

    def bury(self, approvals: Iterable[Approval], now: int) -> None:
        """Keep what has to stay of these records."""
        for kept in filter(None, (tombstone(approval, now) for approval in approvals)):
            self._tombs.setdefault(kept.principal, deque(maxlen=MAX_TOMBS)).append(kept)

    def of(self, principal: str, thread_id: str | None, approval_id: str | None) -> list[Tombstone]:
        """This principal's, the latest deletion first."""
        mine = self._tombs.get(principal, ())
        found = [t for t in mine if thread_id in (None, t.thread_id) and approval_id in (None, t.id)]
        return sorted(found, key=lambda t: (-t.deleted_at, t.id))
