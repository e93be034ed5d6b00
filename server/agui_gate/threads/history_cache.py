"""Keeps the histories of threads between their runs, so that a run reads and settles what is new and nothing else.

What is kept is never the truth. Under the thread's lease the store compares it with the thread (`JournalVersion`). The
key of the thread's last run is another one after each run, decision, deletion or restored backup, in whichever process.
Then all of it is read. Records of gated calls, the state and the reference are read in any case.

A history belongs to one lease at a time. It is taken out when the thread is leased. It comes back when the lease was
given back with everything saved, and at no other time.
"""

import msgspec

from agui_gate.stores.base import JournalVersion
from agui_gate.threads.history import History

IDLE_SECONDS = 900.0
"""Seconds after which a history is dropped that nobody has taken."""

MOST = 4_000
"""Histories, however small: each consists of objects that the garbage collector looks at."""

Place = tuple[str, str]
"""A principal, and the id of a thread of theirs."""


class CachedHistory(msgspec.Struct, frozen=True):
    """A ``history`` of a thread whose journal the store has as ``known``; since a time of the event loop. ``size`` is
    in bytes.
    """

    history: History
    known: JournalVersion
    size: int
    since: float


class HistoryCache:
    """Up to ``limit`` bytes of histories; the one that was used last is dropped last. 0: nothing is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: dict[Place, CachedHistory] = {}
        self.size = 0
        """Bytes that are held, as `History.held` estimates them."""

    def find(self, place: Place) -> CachedHistory | None:
        """Returns what is kept of a thread. Only who leases the thread then may use it, after `drop`."""
        kept = self._kept.get(place)
        if kept is not None and len(kept.history.journal.entries) != kept.known.entries:
            self.drop(place)  # somebody has changed it without the lease
            return None
        return kept

    def drop(self, place: Place) -> None:
        """Drops what is kept of a thread, if anything is."""
        kept = self._kept.pop(place, None)
        if kept is not None:
            self.size -= kept.size

    def put(self, place: Place, history: History, known: JournalVersion, now: float) -> None:
        """Keeps a history that nobody changes any more. What is too much goes, beginning with the oldest."""
        self.drop(place)
        history.rest()
        size = history.held
        if size <= self._limit:
            self._kept[place] = CachedHistory(history, known, size, now)
            self.size += size
        while self.size > self._limit or len(self._kept) > MOST:
            self.drop(next(iter(self._kept)))

    def expire(self, now: float) -> None:
        """Drops what nobody has used for `IDLE_SECONDS`: its thread may have been deleted elsewhere."""
        while self._kept and next(iter(self._kept.values())).since < now - IDLE_SECONDS:
            self.drop(next(iter(self._kept)))
