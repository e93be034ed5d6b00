"""A heartbeat in the event loop, and what it misses."""

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

GOAL = 0.050
"""Seconds. A stall under this is not noticed by those who read a stream."""


_READ = msgspec.json.encode({f"k{i}": [i, {"a": str(i)}] for i in range(13_000)})
_READ_SECONDS = 0.005
"""What it took to read that where `GOAL` was set."""


def slower() -> float:
    """How many times slower this machine is now than that one was; at least 1."""
    return max(1.0, sorted(_read() for _ in range(9))[4] / _READ_SECONDS)


def _read() -> float:
    gc.disable()
    try:
        begun = time.thread_time()
        msgspec.json.decode(_READ)
        return time.thread_time() - begun
    finally:
        gc.enable()


class Heartbeat:
    """Beats as often as the loop lets it, whenever it is entered. ``stalls`` are the gaps in seconds that were longer
    than they should be, ``work`` is what this process worked in them, on whatever thread: the surer number where a
    machine has other things to do.
    """

    def __init__(self) -> None:
        self.stalls: list[float] = []
        self.work: list[float] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Heartbeat":
        gc.collect()
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        await asyncio.sleep(0.002)
        self._task.cancel()

    async def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before, worked = loop.time(), time.process_time()
            await asyncio.sleep(0.001)
            self.stalls.append(loop.time() - before - 0.001)
            self.work.append(time.process_time() - worked)

    @property
    def over(self) -> int:
        """How many were over the goal."""
        return sum(stall > GOAL for stall in self.stalls)


@contextmanager
def as_served() -> Iterator[None]:
    """Within: the garbage collector leaves alone what was loaded, as it does in `agui-gate serve`."""
    before = gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if not before:
            gc.unfreeze()
