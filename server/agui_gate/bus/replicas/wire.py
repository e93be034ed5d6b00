"""The wire that carries frames and notes from process to process: the seam between a shared bus and its server.

A wire is simple. It keeps what it is given, under the numbers that it is given, and brings notes to addresses. When to
send, what to keep, who follows, and what to do while the server is away: that is the same for every wire, and isn't its
business. Each process has one wire object, used by one event loop.

Every coroutine raises `Unavailable` when the server is away or refuses, and may be cancelled at any moment. What it
was to write is then written or isn't. The caller writes the same again until that goes well. So the same `Batch` may
come twice, and must not be kept twice. A coroutine needs no time-out of its own: callers set one. A wire whose
connection is lost makes a new one with the next call.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

NOTE_BYTES = 7000
"""The largest payload of a note."""

READ_BYTES = 1024 * 1024
"""About how much one `Wire.read` gives of one run: whole pieces, at least one."""


class Run(msgspec.Struct, frozen=True):
    """A run, and whose it is. ``address`` is that of the process that runs it."""

    run_key: str
    principal: str
    thread_id: str
    run_id: str
    address: str


class Batch(msgspec.Struct, frozen=True):
    """Frames of a run that are to be kept: from ``first`` up to ``next`` (not included), in one piece.

    It may be none of them: then it says that there is such a run, or that it has ended. Frames before ``keep`` may go;
    a piece that has later ones too stays. What ``ended`` stays for as long as the wire was told when it was made.
    """

    run: Run
    first: int
    next: int
    data: bytes
    keep: int
    ended: bool


class Note(NamedTuple):
    """A few bytes for the process at address ``to``, or for every process (the sender too) if that is empty.

    ``payload`` is UTF-8 without NUL, `NOTE_BYTES` at most. Notes may be lost, and come in any order.
    """

    to: str
    payload: bytes


class Head(NamedTuple):
    """The state of a run on the wire: the frames from ``first`` up to ``next`` (not included) are kept."""

    run: Run
    first: int
    next: int
    ended: bool


class Wanted(NamedTuple):
    """The frames of a run from number ``seq`` on."""

    run_key: str
    seq: int


class Piece(NamedTuple):
    """Frames as they were given in a `Batch`: ``first`` is the number of the first one."""

    first: int
    data: bytes


class Said(NamedTuple):
    """Pieces of a run in their order. The first one may begin before what was wanted, or after it: then the frames in
    between are lost. ``next`` and ``ended`` are the run's, which may have more than these pieces.
    """

    pieces: Sequence[Piece]
    next: int
    ended: bool


class Wire(Protocol):
    """A connection to the server of a shared bus."""

    async def start(self, address: str, hear: Callable[[bytes], None], again: Callable[[], None]) -> None:
        """Connects, and hears the notes for ``address`` and for every process. Raises `ConfigurationError`.

        ``hear`` gets each payload, in the event loop. Hearing goes on by itself, however often the connection is lost:
        ``again`` is called whenever notes may have been missed and are heard again.
        """
        ...

    async def send(self, batches: Sequence[Batch], notes: Sequence[Note]) -> None:
        """Keeps ``batches``, in their order, then tells ``notes``: in one round trip where that can be.

        Who hears one of these notes finds the batches kept.
        """
        ...

    async def find(self, run_key: str) -> Head | None:
        """Returns a run, if anything is kept of it."""
        ...

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[Said | None]:
        """Returns what runs have said, in one round trip; None for those of which nothing is kept."""
        ...

    async def put_opening(self, run_key: str, seq: int, data: bytes) -> None:
        """Keeps the run's newest opening, instead of the one before. A minute is enough; the run need not be known."""
        ...

    async def opening(self, run_key: str) -> tuple[int, bytes] | None:
        """Returns the opening that was put last, with its ``seq``."""
        ...

    async def forget(self, principal: str, thread_id: str) -> None:
        """Drops the thread's runs that have ended."""
        ...

    async def expire(self) -> None:
        """Drops what is over its time, in small batches. Called about once a minute in each process."""
        ...

    async def aclose(self) -> None:
        """Closes. Safe to call twice, and before `start`."""
        ...
