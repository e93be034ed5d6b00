"""The backlog of a store: what waits, what is at work, and what nobody has been told of yet, whosever it is."""

from typing import Protocol

import msgspec

MOST_COUNTED = 10_000
"""Rows of one kind that are counted: the figure says this where there are more."""

AT_WORK = 500
"""Calls at work that are looked at."""


class Counted(msgspec.Struct, frozen=True):
    """How many there are, `MOST_COUNTED` at most, and since when (ms, by the store's clock) the oldest of these is."""

    number: int = 0
    since: int | None = None


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """The backlog at ``now``. ``pending``: since they were asked, overdue ones too; the others since they were decided.

    ``orphaned`` are calls at work with nobody who holds their thread's lease; ``claimed`` are those with somebody.
    ``notices`` are in the outbox. ``expired``: approvals that this process has found overdue, since it began.
    """

    now: int
    pending: Counted
    claimed: Counted
    orphaned: Counted
    unknown: Counted
    notices: Counted
    expired: int = 0


class BacklogStore(Protocol):
    """Says how much waits, for operators."""

    async def backlog(self) -> Backlog:
        """Returns the backlog, of one moment. Reads a bounded number of rows, however much there is."""
        ...
