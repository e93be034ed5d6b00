"""The audit trail as a store keeps it (`core/audit.py`): what is read of it, and what is added by itself.

What happens to an approval by `commit`, `move`, `delete_thread` and the clock is added by these, in the same
transaction. Events that change nothing go along with a commit (`Change.happened`) where there is one.

A read is in the order of chains: thread by thread (by the store's key), and in each by `seq`. A cursor names the last
event that was read, and stays right while events are added.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event, Happened, Head


class EventPage(msgspec.Struct, frozen=True):
    """A part of the trail. ``next_cursor`` leads to the next one; None at the end."""

    events: list[Event]
    next_cursor: str | None


class HeadPage(msgspec.Struct, frozen=True):
    """A part of the heads, one a thread."""

    heads: list[Head]
    next_cursor: str | None


class AuditStore(Protocol):
    """The trail: events are added and read, never changed."""

    async def note(self, happened: Sequence[Happened]) -> None:
        """Adds events that change no approval, all of one thread. One whose approval is not there is left out.

        Needs no lease. Not forced to the disk: the next durable commit takes it along.
        """
        ...

    async def read_events(
        self,
        *,
        limit: int,
        cursor: str | None = None,
        principal: str | None = None,
        thread_id: str | None = None,
        since: int = 0,
    ) -> EventPage:
        """Up to ``limit`` events: all, or those of a principal or a thread id (the client's), from ``since`` on (ms).

        Threads that were deleted have their events still. Raises `InvalidRequest` for what is no cursor.
        """
        ...

    async def read_heads(self, *, limit: int, cursor: str | None = None) -> HeadPage:
        """Returns the heads of up to ``limit`` chains."""
        ...

    async def read_ledger(self, thread: str | None) -> list[Approval]:
        """Returns the records of the thread with that key as they are, oldest first: to be held against its chain.

        None: those of all threads without a chain, which there should be none of. Left out is what was asked before
        there was a trail, in a store of an older version.
        """
        ...

    async def is_agreed(self, approval: Approval) -> bool:
        """Returns whether the trail says that somebody agreed to ``approval``, with the arguments that it has there.

        True also for what was asked before there was a trail. Somebody may have changed the record by other means.
        """
        ...
