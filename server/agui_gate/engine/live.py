"""Runs in flight, apart from the sockets that read them.

A `LiveRun` owns the task of one run. What the run says goes into its log on the bus, where any number of readers follow
it; the run never waits for one of them. When the last reader leaves a run whose agent says `on_disconnect="cancel"`,
the run is stopped after a short grace in which a reader may come back.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec
import structlog

from agui_gate.bus.base import Published
from agui_gate.bus.log import Reader
from agui_gate.core.answers import Way
from agui_gate.core.events import Event
from agui_gate.protocol.encoder import FrameEncoder

DISCONNECT_GRACE = 0.5
"""Seconds in which a reader may come back before a run that nobody reads is stopped."""

log = structlog.get_logger("agui_gate.live")


class Messages(Protocol):
    """A conversation's messages as JSON, as they were at one moment."""

    def __call__(self) -> msgspec.Raw:
        """Them, made the first time that somebody asks."""
        ...

    async def prepare(self) -> None:
        """Make them now, without keeping the event loop busy."""
        ...


class _Nothing:
    def __call__(self) -> msgspec.Raw:
        return msgspec.Raw(b"[]")

    async def prepare(self) -> None:
        return


class Opening(msgspec.Struct, frozen=True):
    """A point of a run at which nothing is half said: what a client that comes later is told before the frames from
    ``seq`` on. ``messages`` makes the conversation as it was there; ``state`` is the shared state.
    """

    seq: int
    messages: Messages
    state: Any


class LiveRun:
    """One run: its task, its log, its readers. ``key`` is the server's own name for it.

    ``opening`` is where a client that comes later begins. ``stop_alone``: whether it is stopped when nobody reads it
    for ``grace`` seconds. ``run_id`` is the client's name for it, which may come twice. ``deciding`` says whether
    something that a person approved is at work in it, ``lose`` tells it that its lease is lost, ``way`` is how its
    `resume[]` came.
    """

    __slots__ = (
        "_alone",
        "_cancelled",
        "_encoder",
        "_grace",
        "_readers",
        "deciding",
        "key",
        "lose",
        "opening",
        "published",
        "run_id",
        "stop_alone",
        "task",
        "thread_bytes",
        "way",
    )

    def __init__(self, published: Published, run_id: str, *, stop_alone: bool, grace: float = DISCONNECT_GRACE) -> None:
        self.key = published.run_key
        self.run_id = run_id
        self.published = published
        self.stop_alone = stop_alone
        self.opening = Opening(1, _Nothing(), {})
        self.deciding: Callable[[], bool] = lambda: False
        self.lose: Callable[[], None] = lambda: None
        self.task: asyncio.Task[None] | None = None
        self.thread_bytes = 0
        """How large its thread was when it began."""
        self.way: Way = "resume"
        self._encoder = FrameEncoder(self.key)
        self._grace = grace
        self._readers = 0
        self._cancelled = False
        self._alone: asyncio.TimerHandle | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the run's task."""
        self.task = asyncio.get_running_loop().create_task(work, name=f"run {self.key}")
        self.task.add_done_callback(self._end)

    def cancel(self, *, gently: bool = False) -> None:
        """Stop the run; it ends its stream by itself. Asked again, nothing happens: its last save is not cut short.

        ``gently``: not while something that a person approved is at work (`deciding`); then nothing happens.
        """
        if self.task is not None and not self._cancelled:
            # Not at once: a task that is cancelled before its first step never begins, and so never ends its stream.
            asyncio.get_running_loop().call_soon(self._cancel, gently)

    def _cancel(self, gently: bool) -> None:
        if self.task is None or self._cancelled or (gently and self.deciding()):
            return
        self._cancelled = True
        self.task.cancel()

    def opened(self, messages: Messages, state: Any) -> None:
        """Clients that come from now on begin here, after what was published so far."""
        self.opening = Opening(max(1, self.published.log.next_seq), messages, state)  # frame 0 is RUN_STARTED

    def publish(self, event: Event) -> None:
        """Add an event to the log."""
        self.published.log.append(self._encoder.frame(event))

    def read(self, after: int = -1) -> Reader:
        """A new reader, from the frame after ``after`` on. It counts until `leave`."""
        self.enter()
        return Reader(self.published.log, after)

    def enter(self) -> None:
        """Somebody reads it, until `leave`. A reader that doesn't enter neither keeps the run going nor stops it."""
        self._readers += 1
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None

    @property
    def alone(self) -> bool:
        """Nobody reads it any more, and it is about to be stopped for that."""
        return self._alone is not None

    def leave(self) -> None:
        """A reader is gone."""
        self._readers -= 1
        if self._readers == 0 and self.stop_alone and not self.published.log.ended:
            self._alone = asyncio.get_running_loop().call_later(self._grace, self.cancel)

    def _end(self, task: asyncio.Task[None]) -> None:
        if self._alone is not None:
            self._alone.cancel()
        if not task.cancelled() and task.exception() is not None:
            log.error("run_task_failed", run=self.key, exc_info=task.exception())
