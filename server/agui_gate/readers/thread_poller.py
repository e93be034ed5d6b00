"""Coming back to a thread on which something works whose live events can't be had.

A run of another process is such a thing (`agui-gate run` beside `agui-gate serve`), and so is a decision, which says no
events at all. RUN_FINISHED would be a lie then: pages would take messages, and be refused with `thread_busy`. So the
client is told what was saved so far, and by CUSTOM `agui-gate:at_work` that something goes on. Whenever more was saved
it is told that. In the end, when nothing is at work any more, it is told what stands then, what waits for a person, and
how the last run ended. For a person it is a chat in which something happens, in larger steps than usual.

What was at work may be followed by a run whose live events can be had: the conversation goes on after a decision. Then
the client reads these.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agui_gate.agents.team import Team
from agui_gate.bus.base import Reader
from agui_gate.concurrency import if_large
from agui_gate.core.sse import PING
from agui_gate.errors import AguiGateError, NotFound, ThreadBusy
from agui_gate.protocol.run_input import RunInput
from agui_gate.readers.private_frames import PrivateFrames, as_it_stands, failed, so_far
from agui_gate.readers.wake_ups import LOOK_SECONDS, Watch, Watcher
from agui_gate.stores.base import AtWork, Thread
from agui_gate.stores.outbox import is_run
from agui_gate.threads.budget import Reservation
from agui_gate.threads.history import heaviness

FOLLOW_SECONDS = 3600.0
"""Seconds that a client follows at most. It may connect again."""

ReadThread = Callable[[], Awaitable[tuple[Thread, Reservation] | None]]
"""The whole thread now, and its part of the budget."""

Join = Callable[[Thread], Awaitable[Reader | None]]
"""A reader of the run that is at work on the thread, if its live events can be had."""


class ThreadPoller:
    """A `Reader` of a thread that is at work. ``thread`` is as it was read; ``again`` reads it again, ``join`` the next
    run on it.
    """

    def __init__(
        self,
        team: Team,
        run: RunInput,
        thread: Thread,
        reservation: Reservation,
        frames: PrivateFrames,
        watch: Watch,
        again: ReadThread,
        join: Join,
    ) -> None:
        self._team, self._run, self._frames, self._again, self._join = team, run, frames, again, join
        self._live: Reader | None = None
        frames.retold = frames.retold or is_run(thread.run_key or "")  # how this run ends was told to nobody here
        self._watch, self._place = watch, (thread.principal, thread.id)
        self._watcher: Watcher = watch.enter(self._place, at_work(thread))
        self._new: tuple[Thread, Reservation] | None = (thread, reservation)
        self._known: AtWork | None = None
        self._stale = self._closed = self._pinged = self._over = False
        self._until = asyncio.get_running_loop().time() + FOLLOW_SECONDS

    async def read(self) -> bytes:
        """See `Reader`."""
        while not (self._closed or self._over):
            try:
                if data := await self._next():
                    return data
            except AguiGateError as error:
                self._over = True
                return failed(self._frames, error)
        return await self._live.read() if self._live and not self._closed else b""

    async def _next(self) -> bytes:
        """Returns what there is to say now, after a wait if that is nothing. Raises what ends it."""
        if self._new is not None:
            return await self._tell(*self._new)
        left = self._until - asyncio.get_running_loop().time()
        if left <= 0:
            raise ThreadBusy("This thread is still running. Connect again to follow it.")
        self._stale = await self._watcher.wait(min(left, LOOK_SECONDS) if self._stale else left) or self._stale
        if self._pinged:
            self._pinged = False
            return PING
        return await self._look() if self._stale and not self._closed else b""

    async def _look(self) -> bytes:
        """Reads the thread again. What is new is told with the next read. Raises `NotFound` if it was deleted."""
        try:
            found = await self._again()
        except AguiGateError:  # no room for it, or the store is away: the next time, then
            return b""
        self._stale = False
        if found is None:
            raise NotFound("This thread has been deleted.")
        if self._known is None or at_work(found[0]) != self._known:
            self._new = found
        return b""

    async def _tell(self, thread: Thread, reservation: Reservation) -> bytes:
        """Returns what there is to say of ``thread``. Its ``reservation`` lasts as long as this does, also after
        `close`.
        """
        working = at_work(thread)
        if working and self._known and working.run_key != self._known.run_key and await self._joined(thread):
            return b""
        make = as_it_stands if working is None else so_far
        data = await if_large(heaviness(thread), make, self._team, self._run, thread, self._frames)
        self._new, self._known, self._over = None, working, working is None
        return data

    async def _joined(self, thread: Thread) -> bool:
        """Returns whether the client reads a run from now on."""
        self._live = await self._join(thread)
        if self._live is None:
            return False
        self._new, self._over = None, True
        self._watch.leave(self._place, self._watcher)
        if self._closed:
            self._live.close()
        return True

    def ping(self) -> None:
        """See `Reader`."""
        if self._live is not None:
            self._live.ping()
        self._pinged = True
        self._watcher.wake()

    def close(self) -> None:
        """See `Reader`."""
        self._closed = True
        if self._live is not None:
            self._live.close()
        self._new = None
        self._watch.leave(self._place, self._watcher)
        self._watcher.wake()


def at_work(thread: Thread) -> AtWork | None:
    """Returns what works on the thread, as it was read."""
    if thread.run_status != "running" or thread.run_key is None:
        return None
    return AtWork(thread.run_key, thread.updated_at)
