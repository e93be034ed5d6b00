"""The one clock of a store, and what it means that SQLite's is the clock of one machine.

A SQLite file in WAL mode is used by the processes of one machine. So its clock is that machine's, and all of them have
to read it alike. A machine has two clocks. The *wall clock* is what people see; somebody may set it, forwards or back.
The *boot clock* counts from the start of the machine, also while it sleeps; nobody sets it, and it says nothing about
the date. Each is used for what it is good for:

* **Leases** go by the boot clock (``ticks``). So setting the wall clock ends no lease early and makes none longer.
  The ticks of another boot mean nothing: whoever held a lease then is gone.
* **Expiry, and every time that people see,** goes by ``now``: the wall clock, except that it never goes back.
  When the wall clock is set back, the store's goes on as before; when it is set forwards, so is the store's. So what
  had expired stays expired, and an approval may end too early, but never too late.
* The difference between the two is kept in the file, so that a process that starts later has the same clock. After the
  machine was started again the wall clock is believed again, once everything has expired that had by the old clock.

Where there is no boot clock, `time.monotonic` stands in for it.
"""

import threading
import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Gives ms."""


def wall_clock() -> int:
    """Returns ms since the epoch."""
    return time.time_ns() // 1_000_000


_BOOT = getattr(time, "CLOCK_BOOTTIME", None)


def boot_clock() -> int:
    """Returns ms since the machine was started, the time it slept included where the platform tells."""
    nanoseconds = time.monotonic_ns() if _BOOT is None else time.clock_gettime_ns(_BOOT)
    return nanoseconds // 1_000_000


class StoreClock:
    """Reads both clocks. May be called from any thread. A ``wall`` clock made by hand is both.

    ``offset`` is what the wall clock is ahead of the boot clock: the largest that was seen.
    """

    def __init__(self, wall: Clock = wall_clock) -> None:
        self._wall, self._lock = wall, threading.Lock()
        self._ticks = boot_clock if wall is wall_clock else wall
        self.offset = self._wall() - self._ticks()

    def __call__(self) -> int:
        """Returns ms since the epoch."""
        return self.moment()[0]

    def moment(self) -> tuple[int, int]:
        """Returns both at once: ``now``, in ms since the epoch, and ``ticks``, in ms by the boot clock, for leases."""
        with self._lock:
            ticks = self._ticks()
            self.offset = max(self.offset, self._wall() - ticks)
            return ticks + self.offset, ticks

    def go_on(self, offset: int) -> None:
        """Be no earlier than another process of this machine, whose offset this is."""
        with self._lock:
            self.offset = max(self.offset, offset)
