"""Decisions that are carried out outside any run, so that a stop and the end of the process can find them.

A decision runs its tool under its thread's lease, and the thread is busy for as long as that takes. Whoever stops the
thread means this, too.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

T = TypeVar("T")
Place = tuple[str, str]
"""A principal and a thread of theirs."""


class Stopped(Exception):
    """The work was stopped, as somebody wanted it. What it had begun has ended; what came of it is in the store."""


class Work:
    """One decision that holds its thread's lease, as ``run_key``. ``over`` is set when it has given the lease back.
    ``by_shutdown``: the server's end stopped it, and nobody who asked for it.
    """

    def __init__(self, run_key: str) -> None:
        self.run_key = run_key
        self.over = asyncio.Event()
        self.by_shutdown = False
        self._task: asyncio.Future[Any] | None = None
        self._stopped = False

    async def carry(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits ``work``. Raises `Stopped` after `stop`; cancelling the caller cancels ``work``."""
        if self._stopped:
            work.close()
            raise Stopped
        self._task = task = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller is not None and caller.cancelling():
                raise
            raise Stopped from None

    def stop(self) -> None:
        """Cancels what is carried. Asked again, nothing happens: what it saves in the end is not cut short."""
        if self._task is not None and not self._stopped:
            self._task.cancel()
        self._stopped = True


class DecisionsInProgress:
    """The decisions at work. At most one a thread, as each holds its lease."""

    def __init__(self) -> None:
        self._works: dict[Place, Work] = {}

    @property
    def keys(self) -> set[str]:
        """Keys of the leases that are held."""
        return {work.run_key for work in self._works.values()}

    def __contains__(self, place: Place) -> bool:
        return place in self._works

    @contextmanager
    def at(self, place: Place, run_key: str) -> Iterator[Work]:
        """Registers a decision that holds the thread's lease, for as long as the context is open."""
        work = self._works[place] = Work(run_key)
        try:
            yield work
        finally:
            if self._works.get(place) is work:
                del self._works[place]
            work.over.set()

    async def stop(self, place: Place, seconds: float) -> bool | None:
        """Stops the thread's decision, waits ``seconds`` at most, and says whether it is over. None if none is at
        work.
        """
        work = self._works.get(place)
        if work is None:
            return None
        work.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await work.over.wait()
        return work.over.is_set()

    def asked(self, run_key: str, gently: bool) -> None:
        """Asks the decision with this lease to stop; gently means not to cut one off, so it goes on."""
        for work in self._works.values():
            if work.run_key == run_key and not gently:
                work.stop()

    async def all_over(self) -> None:
        """Waits until no decision is at work."""
        while self._works:
            await asyncio.gather(*(work.over.wait() for work in self._works.values()))

    async def stop_all(self, seconds: float) -> None:
        """Stops every decision at work as the server ends, and waits likewise."""
        for work in self._works.values():
            work.by_shutdown = True
        await asyncio.gather(*(self.stop(place, seconds) for place in list(self._works)))
