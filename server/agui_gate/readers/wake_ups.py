"""Waiting for what works on a thread: at once where that is known here, by a slow look at the store where it is not.

A decision waits for a thread that is busy, a stop for what it stops, and a client that comes back follows what another
process does. All of them wait here. What is written under a lease of this process wakes them, and so does a signal of
another replica (`happened`). For what nobody tells there is one look at the store every `LOOK_SECONDS` for all who
wait, as long as anybody does. So it costs the same whether one waits or ten thousand, and nothing if nobody does.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import structlog

from agui_gate.concurrency import stop_tasks
from agui_gate.errors import AguiGateError, ShuttingDown
from agui_gate.stores.base import AtWork

if TYPE_CHECKING:
    from agui_gate.stores.capabilities import SharedStore

LOOK_SECONDS = 0.5
"""Seconds between two looks at what other processes did."""

Place = tuple[str, str]
"""A principal and a thread of theirs."""

log = structlog.get_logger("agui_gate.watch")


class Watcher:
    """Waits for something to happen on a thread. ``seen``: what it knows to be at work there.

    Without ``seen``, what the first look finds is that. If it finds nothing at work, that is worth waking up for.
    """

    __slots__ = ("_changed", "_event", "_knows", "_seen", "_stopped")

    def __init__(self, seen: AtWork | None = None) -> None:
        self._event = asyncio.Event()
        self._seen, self._knows = seen, seen is not None
        self._changed = self._stopped = False

    async def wait(self, seconds: float) -> bool:
        """Waits until something happened, or somebody woke it, ``seconds`` at most. Returns whether something happened.

        Raises `ShuttingDown` when the server stops.
        """
        if not (self._changed or self._stopped):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._event.wait()
        if self._stopped:
            raise ShuttingDown
        self._event.clear()
        changed, self._changed = self._changed, False
        return changed

    def wake(self) -> None:
        """Has `wait` return, although nothing happened."""
        self._event.set()

    def happened(self) -> None:
        """Wakes it: something happened."""
        self._changed = True
        self._event.set()

    def looked(self, now: AtWork | None) -> None:
        """Takes what is at work now, as far as the store says."""
        news = now != self._seen if self._knows else now is None
        if news:
            self.happened()
        self._seen, self._knows = now, True

    @property
    def knows(self) -> bool:
        """True if ``at_work`` is known: there was a look, or it was said."""
        return self._knows

    @property
    def at_work(self) -> AtWork | None:
        """The work that was there at the last look."""
        return self._seen

    def stop(self) -> None:
        """Wakes it, as the server stops."""
        self._stopped = True
        self._event.set()


class Watch:
    """All who wait, on the threads of one store."""

    def __init__(self, store: "SharedStore") -> None:
        self._store = store
        self._watchers: dict[Place, set[Watcher]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._stopped = False

    @contextmanager
    def on(self, place: Place) -> Iterator[Watcher]:
        """Within, what happens on that thread wakes the watcher."""
        watcher = self.enter(place)
        try:
            yield watcher
        finally:
            self.leave(place, watcher)

    def enter(self, place: Place, seen: AtWork | None = None) -> Watcher:
        """Returns a watcher of that thread, until it leaves."""
        watcher = Watcher(seen)
        if self._stopped:
            watcher.stop()
        self._watchers.setdefault(place, set()).add(watcher)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_on(), name="agui-gate watch")
        return watcher

    def leave(self, place: Place, watcher: Watcher) -> None:
        """Removes one that waits no more. Safe to call twice."""
        watchers = self._watchers.get(place, set())
        watchers.discard(watcher)
        if not watchers:
            self._watchers.pop(place, None)

    def happened(self, principal: str, thread_id: str) -> None:
        """Something was written to this thread."""
        for watcher in self._watchers.get((principal, thread_id), ()):
            watcher.happened()

    def open(self) -> None:
        """Lets people wait."""
        self._stopped = False

    def stop(self) -> None:
        """Lets nobody wait any more."""
        self._stopped = True
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.stop()

    async def aclose(self) -> None:
        """Looks no more."""
        if self._looking is not None:
            await stop_tasks([self._looking])

    async def _look_on(self) -> None:
        while self._watchers:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except AguiGateError:
                continue  # the store is away: whoever waits goes on waiting
            except Exception:
                log.exception("look_failed")

    async def look(self) -> None:
        """Looks once, for all who wait."""
        watched = {place: list(watchers) for place, watchers in self._watchers.items()}
        found = await self._store.at_work(watched) if watched else {}
        for place, watchers in watched.items():
            for watcher in watchers:
                watcher.looked(found.get(place))
