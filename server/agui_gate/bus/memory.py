"""Logs in this process: bounded by time after a run's end, and by bytes over all runs that ended."""

import time
from collections import deque
from collections.abc import Callable

from agui_gate.bus.base import Published
from agui_gate.bus.log import LIMIT, EventLog

KEPT_SECONDS = 300.0
"""How long the events of a run that ended can be read again."""

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes kept of all runs that ended; the oldest go first."""


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
        self._ended: deque[tuple[float, str]] = deque()
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
        if published is None:
            return
        published.log.end()
        self._ended.append((self._clock() + self._kept_seconds, run_key))
        self._ended_bytes += published.log.size
        self.expire()

    def forget(self, principal: str, thread_id: str) -> None:
        """Drop the logs of a deleted thread's runs, which are over."""
        whose = (principal, thread_id)
        logs = {key: p for _, key in self._ended if ((p := self._logs[key]).principal, p.thread_id) == whose}
        self._ended = deque(item for item in self._ended if item[1] not in logs)
        for run_key, published in logs.items():
            self._ended_bytes -= published.log.size
            del self._logs[run_key]

    def expire(self) -> None:
        """Drop the logs that are over their time, and the oldest ones over the bytes."""
        now = self._clock()
        while self._ended and (self._ended[0][0] <= now or self._ended_bytes > self._kept_bytes):
            _, run_key = self._ended.popleft()
            self._ended_bytes -= self._logs.pop(run_key).log.size
