"""The tombstones of the memory store."""

from collections import deque
from collections.abc import Iterable

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.stores.tombstones import LATE, Tombstone, digest, tombstone

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

    def amend(self, approval_id: str, to: State, output: Output | None) -> Tombstone | None:
        """What came of a call that was at work when its thread was deleted. Returns its tombstone, if there is one."""
        for tombs in self._tombs.values() if to in LATE and output is not None else ():
            for index, tomb in enumerate(tombs):
                if tomb.id == approval_id and tomb.state is State.UNKNOWN and output is not None:
                    tombs[index] = msgspec.structs.replace(tomb, state=to, output_digest=digest(output.content))
                    return tombs[index]
        return None

    def __len__(self) -> int:
        return sum(map(len, self._tombs.values()))

    def forget(self, before: int) -> int:
        """Drop those whose threads were deleted no later than that. Returns their number."""
        there = len(self)
        for principal, tombs in list(self._tombs.items()):
            kept = deque((tomb for tomb in tombs if tomb.deleted_at > before), maxlen=MAX_TOMBS)
            if kept:
                self._tombs[principal] = kept
            else:
                del self._tombs[principal]
        return there - len(self)

    def of(self, principal: str, thread_id: str | None, approval_id: str | None) -> list[Tombstone]:
        """This principal's, the latest deletion first."""
        mine = self._tombs.get(principal, ())
        found = [t for t in mine if thread_id in (None, t.thread_id) and approval_id in (None, t.id)]
        return sorted(found, key=lambda t: (-t.deleted_at, t.id))
