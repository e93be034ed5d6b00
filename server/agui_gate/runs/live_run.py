"""Runs in flight, apart from the sockets that read them.

A `LiveRun` owns the task of one run. What the run says goes into its log on the bus, where any number of readers follow
it. The run never waits for one of them. When the last reader leaves a run that is to be stopped then
(`stop_alone`), that happens after a short grace. A reader may come back in it, on any replica. Who reads on another one
keeps the run going, too, unless it merely watches.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from agui_gate.bus.base import Bus, Messages, Opening, Publisher, Reader, Tell
from agui_gate.config.limits import DISCONNECT_GRACE
from agui_gate.core.answers import Way
from agui_gate.core.events import Event
from agui_gate.core.sse import FrameEncoder
from agui_gate.errors import Unavailable

if TYPE_CHECKING:
    from agui_gate.runs.run import Run

log = structlog.get_logger("agui_gate.live")


class LiveRun:
    """One run in flight: its task, what it says, and how many read that. ``key`` is the server's own name for it.

    ``principal`` and ``thread_id`` name its thread. ``stop_alone``: whether it is stopped when nobody reads it
    for ``grace`` seconds. ``run_id`` is the client's name for it, which may come twice. ``way`` is how its `resume[]`
    came. ``is_draining``: the process is about to end. ``is_drained``: it is stopped because of that.
    ``is_dropped``: we ended a stream of somebody who read it, whose token was taken back or who didn't keep up.
    ``at_end``: what is called when the run has said its last, in order, before anybody who reads it sees its end.
    """

    __slots__ = ("_alone", "_bus", "_cancelled", "_encoder", "_grace", "_on_end", "_publisher", "_readers", "at_end",
                 "is_drained", "is_draining", "is_dropped", "keeps_state", "key", "principal", "reads_stops",
                 "run", "run_id", "stop_alone", "task", "thread_bytes", "thread_id", "way")  # fmt: skip

    def __init__(
        self,
        bus: Bus,
        publisher: Publisher,
        key: str,
        principal: str,
        thread_id: str,
        run_id: str,
        *,
        stop_alone: bool,
        grace: float = DISCONNECT_GRACE,
    ) -> None:
        self._bus, self._publisher = bus, publisher
        self.key, self.principal, self.thread_id, self.run_id = key, principal, thread_id, run_id
        self.stop_alone = stop_alone
        self.at_end: tuple[Callable[[], None], ...] = ()
        self.run: Run | None = None
        """What is at work, until its end."""
        self.task: asyncio.Task[None] | None = None
        self.thread_bytes = 0
        """Bytes of its thread when it began."""
        self.way: Way = "resume"
        self.keeps_state = False
        """True if its client is known to keep the state that it sent, and to change that by patches."""
        self.reads_stops = False
        """True if its client is known to tell a stop from a failure."""
        self._encoder, self._grace, self._readers = FrameEncoder(self.key), grace, 0
        self._cancelled = self.is_drained = self.is_draining = self.is_dropped = False
        self._alone: asyncio.TimerHandle | None = None

    def start(self, run: "Run", on_end: "Callable[[LiveRun], None]") -> None:
        """Begins the task of ``run``, which ends with a call of `over`. ``on_end`` is called after all of `at_end`."""
        self.run, self._on_end = run, on_end
        self.task = asyncio.get_running_loop().create_task(run.execute(), name=f"run {self.key}")

    def over(self) -> None:
        """Ends it: the last step of its task, so that readers get the last event and the end in one."""
        if self._alone is not None:
            self._alone.cancel()
        last: Callable[[], None] = partial(self._on_end, self)
        for tell in (*self.at_end, last):
            try:
                tell()
            except Exception:
                log.exception("run_end_failed", run=self.key)
        self._publisher.end()
        self.run = None  # all that worked in the run is free now, and nobody has to look for cycles
        self.at_end = ()

    def deciding(self) -> bool:
        """See `Run.deciding`."""
        return self.run is not None and self.run.deciding()

    def cancel(self, *, gently: bool = False, draining: bool = False) -> None:
        """Stops the run; it ends its stream by itself. Asked again, nothing happens: its last save is not cut short.

        ``gently``: not while something that a person approved is at work (`deciding`); then nothing happens.
        ``draining``: because the process ends.
        """
        if self.task is not None and not self._cancelled:
            # Not at once: a task that is cancelled before its first step never begins, and so never ends its stream.
            asyncio.get_running_loop().call_soon(self._cancel, gently, draining)

    def _cancel(self, gently: bool, draining: bool) -> None:
        if self.task is None or self._cancelled or (gently and self.deciding()):
            return
        self._cancelled, self.is_drained = True, draining
        self.task.cancel()

    def opened(self, messages: Messages, state: Any) -> None:
        """Clients that come from now on begin here, after what was published so far."""
        self._publisher.opened(Opening(max(1, self._encoder.seq), messages, state))  # frame 0 is RUN_STARTED

    def publish(self, event: Event) -> None:
        """Publishes an event."""
        self._publisher.append(self._encoder.frame(event))

    async def read(self, after: int = -1) -> Reader:
        """Returns a new reader, from the frame after ``after`` on. It counts until `leave`.

        Raises `Unavailable` where a bus that is shared has lost the frames.
        """
        reader = await self._entered(self._bus.read(self.key, after))
        if reader is None:  # a bus that is shared may lose what it keeps
            raise Unavailable("The events of this run can't be read right now. Connect to its thread again.")
        return reader

    async def join(self, tell: Tell, *, watching: bool) -> Reader | None:
        """Returns a new reader that is told what was before: see `Bus.join`. It counts until `leave` (not if
        ``watching``).
        """
        joining = self._bus.join(self.key, tell)
        return await (joining if watching else self._entered(joining))

    async def _entered(self, coming: Awaitable[Reader | None]) -> Reader | None:
        self.enter()
        reader = None
        try:
            reader = await coming
        finally:
            if reader is None:
                self.leave()
        return reader

    def enter(self) -> None:
        """Counts a reader until `leave`. One that doesn't enter neither keeps the run going nor stops it."""
        self._readers += 1
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None

    @property
    def alone(self) -> bool:
        """True if nobody reads it any more, here or elsewhere, and it is about to be stopped for that."""
        return self._alone is not None and not self._publisher.followed_elsewhere

    def leave(self, dropped: bool = False) -> None:
        """Counts a reader no longer. ``dropped``: it didn't leave by itself."""
        self._readers -= 1
        self.is_dropped |= dropped
        if self._readers == 0 and self.stop_alone and self.task is not None and not self.task.done():
            self._alone = asyncio.get_running_loop().call_later(self._grace, self._stop_alone)

    def _stop_alone(self) -> None:
        """Stops it, unless somebody follows it elsewhere, or what a person approved is at work in it and who read was
        made to leave. In these cases look again after a while.
        """
        if self._publisher.followed_elsewhere or ((self.is_draining or self.is_dropped) and self.deciding()):
            self._alone = asyncio.get_running_loop().call_later(DISCONNECT_GRACE + self._grace, self._stop_alone)
        else:
            self.cancel()
