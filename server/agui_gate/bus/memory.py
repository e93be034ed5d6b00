"""The bus of one process: bounded by time after a run's end, and by bytes over all runs that ended."""

import time
from collections import Counter, deque
from collections.abc import Callable

import msgspec

from agui_gate.bus.base import Hear, Published, Reader, Signal, Tell
from agui_gate.bus.log import EventLog, Frames, LateReader, LogReader
from agui_gate.config.limits import EVENTS_BYTES, EVENTS_SECONDS

KEPT_BYTES = 64 * 1024 * 1024
"""Bytes kept of all runs that ended. Whoever has the most of them loses the oldest first, and nobody else's."""

LOG_BYTES = 1024
"""Bytes that a log counts by itself, however little it holds."""


class _Kept(msgspec.Struct, frozen=True):
    """A run and its frames: its log, and only what is in it once it has ended."""

    principal: str
    thread_id: str
    run_id: str
    log: EventLog | Frames

    @property
    def size(self) -> int:
        return self.log.size + LOG_BYTES


class MemoryBus:
    """`memory://`: live events for one process, in which several engines may share it, unless it ``is_private``."""

    def __init__(
        self,
        *,
        kept_seconds: float = EVENTS_SECONDS,
        run_bytes: int = EVENTS_BYTES,
        kept_bytes: int = KEPT_BYTES,
        clock: Callable[[], float] = time.monotonic,
        is_private: bool = False,
    ) -> None:
        self.is_private = is_private
        self._kept_seconds, self._run_bytes, self._kept_bytes = kept_seconds, run_bytes, kept_bytes
        self._clock = clock
        self._runs: dict[str, _Kept] = {}
        self._ended: dict[str, deque[tuple[float, str]]] = {}  # by principal, the oldest first
        self._sizes: Counter[str] = Counter()  # of those, by principal
        self._ended_bytes = 0
        self._listening: list[Hear] = []

    async def start(self) -> None:
        """Does nothing: there is nothing to connect to."""

    async def aclose(self) -> None:
        """Does nothing: there is nothing to send."""

    async def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> EventLog:
        """See `Bus`."""
        log = EventLog(self._run_bytes, self._over, run_key=run_key)
        self._runs[run_key] = _Kept(principal, thread_id, run_id, log)
        return log

    async def find(self, run_key: str) -> Published | None:
        """See `Bus`."""
        kept = self._find(run_key)
        if kept is None:
            return None
        return Published(run_key, kept.principal, kept.thread_id, kept.run_id, kept.log.first_seq, kept.log.next_seq)

    async def read(self, run_key: str, after: int = -1) -> Reader | None:
        """See `Bus`."""
        kept = self._find(run_key)
        if kept is None:
            return None
        return LogReader(kept.log.log() if isinstance(kept.log, Frames) else kept.log, after)

    async def join(self, run_key: str, tell: Tell, *, watching: bool = False) -> Reader | None:
        """See `Bus`."""
        kept = self._find(run_key)
        return None if kept is None or isinstance(kept.log, Frames) else LateReader(kept.log, tell)

    async def forget(self, principal: str, thread_id: str) -> None:
        """See `Bus`."""
        mine = self._ended.get(principal, deque())
        gone = [item for item in mine if self._runs[item[1]].thread_id == thread_id]
        for item in gone:
            mine.remove(item)
            self._drop(item[1])

    async def expire(self) -> None:
        """See `Bus`."""
        self._expire()

    def listen(self, hear: Hear) -> None:
        """See `Bus`."""
        self._listening.append(hear)

    def tell(self, signal: Signal) -> None:
        """See `Bus`."""
        if len(self._listening) > 1:  # else there is nobody but who tells it
            for hear in self._listening:
                hear(signal)

    def _find(self, run_key: str) -> _Kept | None:
        self._expire()
        return self._runs.get(run_key)

    def _over(self, log: EventLog) -> None:
        """Notes that the run has ended; it goes after a while."""
        run_key = log.run_key
        kept = self._runs[run_key] = msgspec.structs.replace(self._runs[run_key], log=log.frames())
        self._ended.setdefault(kept.principal, deque()).append((self._clock() + self._kept_seconds, run_key))
        self._sizes[kept.principal] += kept.size
        self._ended_bytes += kept.size
        self._expire()

    def _expire(self) -> None:
        """Drops the runs that are over their time. Over the bytes, the oldest ones of whoever has the most."""
        now = self._clock()
        for ended in list(self._ended.values()):
            while ended and ended[0][0] <= now:
                self._drop(ended.popleft()[1])
        while self._sizes and self._ended_bytes > self._kept_bytes:
            ((most, _),) = self._sizes.most_common(1)
            self._drop(self._ended[most].popleft()[1])

    def _drop(self, run_key: str) -> None:
        kept = self._runs.pop(run_key)
        self._sizes[kept.principal] -= kept.size
        self._ended_bytes -= kept.size
        if not self._sizes[kept.principal]:
            del self._sizes[kept.principal], self._ended[kept.principal]
