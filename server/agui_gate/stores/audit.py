"""The audit trail as a store keeps it (`core/audit.py`): what is read of it, and what is added by itself.

What happens to an approval by `commit`, `move`, `delete_thread` and the clock is added by these, in the same
transaction. Events that change nothing go along with a commit (`Change.happened`) where there is one.

A read is in the order of chains: thread by thread (by the store's key), and in each by `seq`. A cursor names the last
event that was read, and stays right while events are added.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from agui_gate.core.approvals import Approval
from agui_gate.core.audit import Event, Happened, Head
from agui_gate.stores.tombstones import Tombstone
from agui_gate.stores.usage import ModelRequest


class EventPage(msgspec.Struct, frozen=True):
    """A part of the trail. ``next_cursor`` leads to the next one; None at the end."""

    events: list[Event]
    next_cursor: str | None


class HeadPage(msgspec.Struct, frozen=True):
    """A part of the heads, one a thread."""

    heads: list[Head]
    next_cursor: str | None


class Keys(Protocol):
    """Signs the events of a trail; see `agui_gate.extras.audit.keys`."""

    @property
    def current(self) -> str:
        """The id of the key by which new events are signed."""
        ...

    def chained(self, head: Head, at: int, happened: Iterable[Happened], records: Iterable[Approval]) -> list[Event]:
        """Returns the next events of a chain. ``records``: those that were changed, as they are then."""
        ...

    def hash_of(self, event: Event) -> str | None:
        """Returns the hash that an event has to have; None where its key isn't one of these."""
        ...


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Whose part of the trail is read: all of it, a ``tenant``'s, an ``owner``'s (a key), or of one approval. ``by``:
    only what somebody of that tenant did.
    """

    tenant: str | None = None
    owner: str | None = None
    by: str | None = None
    approval_id: str | None = None


class Link(msgspec.Struct, frozen=True, order=True):
    """An event's place in the trail as people read it: newest first."""

    at: int
    thread: int
    seq: int


class TrailEntry(msgspec.Struct, frozen=True):
    """An event, with the record that it is about as it is now; or what is left of that, where its thread is gone.

    ``request``: of a question, the request to a model whose answer asked, where usage is kept.
    ``reason``: the one that it has; "" for none, None where the key of the person who gave it is gone.
    """

    event: Event
    record: Approval | None = None
    left: Tombstone | None = None
    request: ModelRequest | None = None
    reason: str | None = ""

    @property
    def link(self) -> Link:
        """Its place."""
        return Link(self.event.at, int(self.event.thread), self.event.seq)


class ReadableTrail(Protocol):
    """The trail as people read it, and as it is signed."""

    keys: Keys | None
    """The keys by which what is added from now on is signed."""

    async def read(self, part: Part, before: Link, limit: int) -> Sequence[TrailEntry]:
        """Returns up to ``limit`` events of a part, newest first, from behind that place; fewer where records are long,
        and none at the end. Of long results the record has the beginning.
        """
        ...

    async def reason(self, event: Event) -> str | None:
        """Returns the reason in an event: see `TrailEntry`."""
        ...

    async def unread(self, thread: str) -> Sequence[str]:
        """Returns the ids of records of the thread with that key in which something can't be read, or is said that this
        version doesn't know. Elsewhere they are read as far as they can be.
        """
        ...

    async def strays(self) -> bool:
        """Returns whether there are events that nobody reads, since their row says that they are another store's."""
        ...

    async def begin_keys(self) -> None:
        """Says in the trail that events are signed from here on, once a key."""
        ...


class TrailStore(Protocol):
    """A store whose trail people read, and that can be signed."""

    @property
    def trail(self) -> ReadableTrail:
        """The trail."""
        ...


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
