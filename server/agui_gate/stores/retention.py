"""Forgets what is old enough in a store, and counts what it holds.

Three things age, each by a setting of its own:

* *Threads* that nobody changed for so long go, with their journals and approvals, as if they were deleted. What a
  person still has to answer keeps its thread as long as that is so. So does a call that a page still has to run, one
  of which it isn't known what comes of it, and a state that only another version knows. So does a run. An approval
  that is settled ages with its thread: the conversation would not be legal without it.
* *Records* of threads that are gone: tombstones, and, where the trail has no age of its own, audit trails. A trail goes
  as a whole, when its last event is old enough.
* The *trail*: where it has an age, old events go also of threads that are there, and of what belongs to no thread
  (`stores/sql/trail_retention.py`). What is left can be verified as before.

It is done in small steps, each of which looks at 200 rows of a kind at most, in the order of their keys, and goes on
where the one before has ended. So it costs little, needs no index, and several processes may do it at once.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

DAY_MS = 24 * 3_600_000

FORGET = 20
"""Threads that one step deletes."""


class Ages(msgspec.Struct, frozen=True, kw_only=True):
    """The ages, in ms, at which threads, records of threads that are gone, and the trail are forgotten. None: never.
    ``trail``: UNSET for that of the ``records``, where the thread is gone, and never elsewhere.
    """

    threads: int | None = None
    records: int | None = None
    trail: int | None | msgspec.UnsetType = msgspec.UNSET


def ages_of(threads: int, records: int, trail: int | None) -> Ages:
    """Returns the ages that settings say, in days; 0 for never. ``trail``: None where it is not set."""
    of_trail = msgspec.UNSET if trail is None else trail * DAY_MS or None
    return Ages(threads=threads * DAY_MS or None, records=records * DAY_MS or None, trail=of_trail)


class Place(msgspec.Struct, frozen=True):
    """The place that the looking has got to: after this thread, this chain (of events), this tombstone."""

    thread: int = -1
    chain: int = -1
    tombstone: str = ""


BEGINNING = Place()


class Swept(msgspec.Struct, frozen=True):
    """The result of one step: how many threads and records (events and tombstones) went, and where the next one goes
    on.

    At the end that is the `BEGINNING` again. ``broken``: the keys of threads of which old events stay, since events or
    records were changed by somebody else.
    """

    threads: int
    records: int
    place: Place
    broken: Sequence[str] = ()


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a store, counted. ``bytes``: of all threads. Times are ms since the epoch, None if nothing is
    there.

    ``pending``: of the approvals, those that wait. ``notices``: not told yet.
    """

    threads: int
    bytes: int
    approvals: int
    pending: int
    tombstones: int
    events: int
    notices: int
    oldest_thread: int | None
    oldest_event: int | None
    requests: int = 0
    """Requests to models of which the usage is kept."""
    oldest_request: int | None = None


class RetentionStore(Protocol):
    """Forgets what is old."""

    async def sweep(self, ages: Ages, place: Place = BEGINNING, most: int = FORGET) -> Swept:
        """Does one step, in which no more than ``most`` threads are looked into.

        Each thread goes wholly or not at all, in one transaction with what is kept of it.
        """
        ...

    async def tally(self) -> Tally:
        """Counts what there is, step by step, so it takes its time. What changes meanwhile is counted, or not."""
        ...
