"""Logs in this process: bounded by time after a run's end, and by bytes over all runs that ended."""

import time
from collections import Counter, deque
from collections.abc import Callable

from agui_gate.bus.base import Published
from agui_gate.bus.log import LIMIT, EventLog

KEPT_SECONDS = 300.0
"""How long the events of a run that ended can be read again."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes kept of all runs that ended. Whoever has the most of them loses the oldest first, and nobody else's."""

LOG_BYTES = 1024
"""What a log counts by itself, however little it holds."""


class MemoryBus:
    """`memory://`: live events for one process."""

    def __init__(
        self,
        *,
        kept_seconds: float = KEPT_SECONDS,
        run_bytes: int = LIMIT,
        kept_bytes: int = KEPT_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kept_seconds, self._run_bytes, self._kept_bytes = kept_seconds, run_bytes, kept_bytes
        self._clock = clock
        self._logs: dict[str, Published] = {}
        self._ended: dict[str, deque[tuple[float, str]]] = {}  # by principal, the oldest first
        self._sizes: Counter[str] = Counter()  # of those, by principal
        self._ended_bytes = 0

    def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> Published:
        """A log for a new run."""
        published = Published(run_key, principal, thread_id, EventLog(self._run_bytes), run_id)
        self._logs[run_key] = published
        return published

    def find(self, run_key: str) -> Published | None:
        """A run's log, if it is still kept."""
        self.expire()
        return self._logs.get(run_key)

    def ended(self, run_key: str) -> None:
        """The run is over; its log goes after a while."""
        published = self._logs.get(run_key)
        if published is None or published.log.ended:
            return
        published.log.end()
        self._ended.setdefault(published.principal, deque()).append((self._clock() + self._kept_seconds, run_key))
        self._sizes[published.principal] += _size(published)
        self._ended_bytes += _size(published)
        self.expire()

    def forget(self, principal: str, thread_id: str) -> None:
        """Drop the logs of a deleted thread's runs, which are over."""
        mine = self._ended.get(principal, deque())
        gone = [item for item in mine if self._logs[item[1]].thread_id == thread_id]
        for item in gone:
            mine.remove(item)
            self._drop(item[1])

    def expire(self) -> None:
        """Drop the logs that are over their time. Over the bytes, the oldest ones of whoever has the most."""
        now = self._clock()
        for ended in list(self._ended.values()):
            while ended and ended[0][0] <= now:
                self._drop(ended.popleft()[1])
        while self._sizes and self._ended_bytes > self._kept_bytes:
            ((most, _),) = self._sizes.most_common(1)
            self._drop(self._ended[most].popleft()[1])

    def _drop(self, run_key: str) -> None:
        published = self._logs.pop(run_key)
        principal = published.principal
        self._sizes[principal] -= _size(published)
        self._ended_bytes -= _size(published)
        if not self._sizes[principal]:
            del self._sizes[principal], self._ended[principal]


def _size(published: Published) -> int:
    return published.log.size + LOG_BYTES
