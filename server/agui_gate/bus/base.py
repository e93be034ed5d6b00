"""The seam to live events: which runs there are and what they say.

A run says frames, numbered from 0 without a gap. Any number of readers follow it, from any frame that is still kept,
in this process or in another one that shares the bus. A bus keeps frames and nothing else: what stands is in the
store. So it may lose them, and a reader is told then (`FellBehind`), rather than getting a gap.

What a run says must never wait, neither for a reader nor for a network: a delta is a few microseconds. So the methods
of `Publisher` are synchronous. A bus that sends frames elsewhere collects them and sends them together, from a task of
its own, in their order. Everything else is a coroutine. See docs/adr/0013-the-bus-is-an-interface.md.

Beside the frames a bus carries signals to the other replicas: that there is something to look for in the store. They
are hints and no more. Whoever waits for one looks from time to time anyway. So a signal that is lost costs a moment,
one that comes twice costs a look, and none of them changes what is true.
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec


class FellBehind(Exception):
    """The wanted frames are no longer kept."""


class Messages(Protocol):
    """A conversation's messages as JSON, as they were at one moment."""

    def __call__(self) -> msgspec.Raw:
        """Returns the messages, made the first time that somebody asks."""
        ...

    async def prepare(self) -> None:
        """Makes them now, without keeping the event loop busy."""
        ...


class Opening(msgspec.Struct, frozen=True):
    """A point of a run at which nothing is half said: what a reader that comes later is told before the frames from
    ``seq`` on. ``messages`` makes the conversation as it was there; ``state`` is the shared state, as JSON.

    There is one for each turn and more, and most are never read. A bus that has to send it elsewhere therefore makes
    ``messages`` when somebody joins.
    """

    seq: int
    messages: Messages
    state: Any


Tell = Callable[[Opening], bytes]
"""Makes frames of an opening, for the one reader that joins."""


class Published(msgspec.Struct, frozen=True):
    """A run that is known, and whose it is. ``run_id``: the client's name for it.

    Frames from ``first`` on are kept, of those before ``next``.
    """

    run_key: str
    principal: str
    thread_id: str
    run_id: str
    first: int
    next: int


class Publisher(Protocol):
    """Takes the frames of one run. Nothing waits here, and nothing fails: what can't be kept is lost to readers."""

    def append(self, frame: bytes) -> None:
        """Adds the next frame."""
        ...

    def opened(self, opening: Opening) -> None:
        """Readers that join from now on begin there."""
        ...

    def end(self) -> None:
        """Ends the run's frames: no more will come; what there is goes after a while. Safe to call twice."""
        ...

    @property
    def followed_elsewhere(self) -> bool:
        """True if somebody reads it in another process and doesn't just watch, as far as is known here."""
        ...


class Reader(Protocol):
    """Reads one run."""

    async def read(self) -> bytes:
        """Whole frames, as many as are ready, in one piece; waits if none are. Empty at the end. Raises `FellBehind`.

        Cancelling it loses nothing: the next call gives what this one would have given.
        """
        ...

    def ping(self) -> None:
        """Has a `read` that waits return a comment, so that its connection stays open."""
        ...

    def close(self) -> None:
        """Stops reading; a `read` that waits returns the end."""
        ...


class Signal(msgspec.Struct, frozen=True, array_like=True):
    """A hint to the other replicas, about one thread.

    ``written``: something of it was saved, or its lease was given back. ``approvals``: so were approvals of it.
    ``stop``: a `StopRequest` waits in the store for what is at work on it.
    """

    kind: Literal["written", "approvals", "stop"]
    principal: str
    thread_id: str


Hear = Callable[[Signal], None]
"""Told of another replica's signal, in the event loop. Never waits, and never raises."""


class Bus(Protocol):
    """Keeps what runs say for as long as they run and a while after. What fails raises `Unavailable`.

    Several replicas share it: each has an object of its own that leads to the same place. Those in one process may also
    share the object.
    """

    async def start(self) -> None:
        """Connects. Raises `ConfigurationError` with a sentence."""
        ...

    async def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> Publisher:
        """Opens a new run."""
        ...

    async def find(self, run_key: str) -> Published | None:
        """Returns a run, if it is still kept."""
        ...

    async def read(self, run_key: str, after: int = -1) -> Reader | None:
        """Returns a reader of what a run said after the frame ``after``, and then of what it says; None if it isn't
        kept.
        """
        ...

    async def join(self, run_key: str, tell: Tell, *, watching: bool = False) -> Reader | None:
        """Returns a reader that comes late, and was told nothing of the run: first the run's opening, then the frames
        from there on. None if the run is over, or isn't known: what stands is in the store.

        Where the frames that follow the opening are lost, it is told the opening and waits for the next one. It is told
        that one too, and goes on from there. ``watching``: it is not one of `Publisher.followed_elsewhere`.
        """
        ...

    async def forget(self, principal: str, thread_id: str) -> None:
        """Drops what a deleted thread's runs said, which are over. Who is reading it reads it to its end."""
        ...

    async def expire(self) -> None:
        """Drops what is over its time. Called every second."""
        ...

    def listen(self, hear: Hear) -> None:
        """Has ``hear`` told what other replicas tell. Each replica calls it once, before `start`."""
        ...

    def tell(self, signal: Signal) -> None:
        """Tells the other replicas, soon. Best effort: nothing waits here, nothing fails, and equal ones that are told
        together may arrive as one. Whoever tells has no need to hear it, and may.
        """
        ...

    async def aclose(self) -> None:
        """Sends what isn't sent yet, and closes. Safe to call twice."""
        ...
