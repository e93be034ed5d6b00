"""The events of one run in this process, as encoded frames, for any number of readers.

Theory of operation
-------------------
A run appends; a reader is a position. Frames are written once into blocks of bytes that all readers share. So a second
reader costs no memory, and no copy of its own until it takes what it missed in one piece. Nothing here waits for a
reader: over ``limit`` bytes the oldest blocks go. A block that a reader has not read yet stays up to `PATIENCE` times
that. So a burst doesn't cut off a healthy reader. A reader that is still there then has fallen behind for good.

Positions are sequence numbers: frame 0 is the run's first. A reader that continues after frame n gets n + 1 and on.
"""

import asyncio
from array import array
from collections.abc import Callable
from contextlib import suppress

import msgspec

from agui_gate.bus.base import FellBehind, Opening, Tell
from agui_gate.config.limits import EVENTS_BYTES
from agui_gate.core.sse import PING

BLOCK = 32 * 1024
"""Bytes of a block, about: the unit in which old frames are dropped and waiting ones are sent."""

PATIENCE = 4
"""The number by which the limit is multiplied for frames that somebody still has to read."""

KEPT_BLOCKS = 4
"""Blocks that stay whatever their size: a frame may be larger than the limit, and its readers have not seen it yet."""


class _Block(msgspec.Struct):
    first: int
    data: bytearray | bytes
    offsets: "array[int]"


class Frames(msgspec.Struct, frozen=True, gc=False):
    """The frames of a run that has ended, in so few objects that a server can keep those of thousands.

    ``blocks`` have the number of their first frame, the frames, and where each begins, as an array of ``I``.
    """

    first_seq: int
    next_seq: int
    size: int
    blocks: tuple[tuple[int, bytes, bytes], ...]

    def log(self) -> "EventLog":
        """Returns a log of them that has ended. All such logs share the frames."""
        log = EventLog()
        log._blocks = [_Block(first, data, array("I", offsets)) for first, data, offsets in self.blocks]
        log.next_seq, log.size, log.ended = self.next_seq, self.size, True
        return log


class EventLog:
    """The frames of one run, and its `Publisher`. ``ended`` once no more will come, of which ``on_end`` is told once.
    ``size``: bytes kept.

    The first frame that it is given has the number ``first``.
    """

    __slots__ = ("_block", "_blocks", "_last", "_limit", "_on_end", "_waiting", "ended",
                 "followed_elsewhere", "next_seq", "opening", "readers", "run_key", "size")  # fmt: skip

    def __init__(
        self, limit: int = EVENTS_BYTES, on_end: Callable[["EventLog"], object] = str, first: int = 0, run_key: str = ""
    ) -> None:
        self._limit, self._on_end, self.run_key = limit, on_end, run_key
        self._block = min(BLOCK, limit // 8)
        self._waiting: list[asyncio.Future[None]] = []
        self.begin_at(first)
        self.ended = self.followed_elsewhere = False
        self.opening: Opening | None = None
        self.readers: list[LogReader] = []

    def begin_at(self, seq: int) -> None:
        """Drops what there is: the next frame has that number. Who reads what is before it has fallen behind."""
        self._last = _Block(seq, bytearray(), array("I"))
        self._blocks = [self._last]  # so few that a deque takes more memory than it saves time
        self.size = 0
        self.next_seq = seq
        self._wake()

    @property
    def first_seq(self) -> int:
        """The oldest frame that is kept."""
        return self._blocks[0].first

    def append(self, frame: bytes) -> None:
        """Adds the next frame and wakes who waits for it."""
        block = self._last
        data = block.data
        if len(data) >= self._block:
            block = self._new_block()
            data = block.data
        block.offsets.append(len(data))
        data += frame
        self.size += len(frame)
        self.next_seq += 1
        if self._waiting:
            self._wake()

    def opened(self, opening: Opening) -> None:
        """Readers that join from now on begin there."""
        self.opening = opening

    def end(self) -> None:
        """Ends the log: no more frames will come."""
        if not self.ended:
            self.ended = True
            self._wake()
            self._on_end(self)

    def frames(self) -> Frames:
        """Returns what is kept of it, once it has ended."""
        blocks = tuple([(block.first, bytes(block.data), block.offsets.tobytes()) for block in self._blocks])
        return Frames(self.first_seq, self.next_seq, self.size, blocks)

    def read(self, seq: int) -> tuple[bytes, int]:
        """Frames from ``seq`` on, as many as one block holds, and the position after them.

        Nothing if there are none yet. Raises `FellBehind` if ``seq`` is older than what is kept.
        """
        if seq >= self.next_seq:
            return b"", seq
        for block in reversed(self._blocks):  # live readers are in the last one
            if seq >= block.first:
                start = block.offsets[seq - block.first]
                data = bytes(memoryview(block.data)[start:]) if start else bytes(block.data)
                return data, block.first + len(block.offsets)
        raise FellBehind

    def wait(self) -> asyncio.Future[None]:
        """Done at the next frame or at the end."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def wait_no_more(self, future: asyncio.Future[None]) -> None:
        """Stops one from waiting who goes on for another reason: a run may say nothing for long, and readers come and
        go.
        """
        with suppress(ValueError):
            self._waiting.remove(future)

    def leave(self, reader: "LogReader") -> None:
        """Removes a reader that reads no more."""
        self.readers = [one for one in self.readers if one is not reader]

    def _new_block(self) -> _Block:
        self._last = _Block(self.next_seq, bytearray(), array("I"))
        self._blocks.append(self._last)
        while self.size > self._limit and len(self._blocks) > KEPT_BLOCKS and not self._wanted():
            self.size -= len(self._blocks.pop(0).data)
        return self._last

    def _wanted(self) -> bool:
        """Returns whether the oldest block has to stay for somebody who reads."""
        end = self._blocks[1].first
        return self.size <= PATIENCE * self._limit and any(reader.position < end for reader in self.readers)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class LogReader:
    """A reader of one log, from the frame after a given one. ``position`` is the next frame that it reads. `close`
    it.
    """

    __slots__ = ("_closed", "_log", "_ping", "_wake", "position")

    def __init__(self, log: EventLog, after: int = -1) -> None:
        self._log = log
        self.position = after + 1
        self._closed = self._ping = False
        self._wake: asyncio.Future[None] | None = None
        log.readers.append(self)

    async def read(self) -> bytes:
        """See `Reader.read`."""
        while not self._closed:
            data = self._take()
            if data or self._log.ended:
                return data
            if self._ping:
                self._ping = False
                return PING
            self._wake = wake = self._log.wait()
            try:
                await wake
            except asyncio.CancelledError:
                self._log.wait_no_more(wake)
                raise
            self._wake = None
        return b""

    def has_ended(self) -> bool:
        """Returns whether it has read all that the run will ever say."""
        return self._log.ended and self.position >= self._log.next_seq

    def _take(self) -> bytes:
        """Returns the frames that are ready now."""
        data, self.position = self._log.read(self.position)
        return data

    def ping(self) -> None:
        """See `Reader.ping`."""
        if self._wake is not None and not self._wake.done():
            self._ping = True
            self._go_on(self._wake)

    def close(self) -> None:
        """See `Reader.close`."""
        self._closed = True
        self._log.leave(self)
        if self._wake is not None and not self._wake.done():
            self._go_on(self._wake)

    def _go_on(self, wake: asyncio.Future[None]) -> None:
        wake.set_result(None)
        self._log.wait_no_more(wake)


class LateReader(LogReader):
    """A reader that comes late: see `Bus.join`. ``tell`` makes frames of the opening."""

    __slots__ = ("_joined", "_tell", "_told")

    def __init__(self, log: EventLog, tell: Tell) -> None:
        super().__init__(log, after=log.next_seq - 1)
        self._tell = tell
        self._joined = self._told = False

    async def read(self) -> bytes:
        """See `Reader.read`."""
        if not self._joined and (opening := self._log.opening) is not None:
            await opening.messages.prepare()
        return await super().read()

    def _take(self) -> bytes:
        opening = self._log.opening
        if self._joined or opening is None:
            return super()._take()
        self._joined = opening.seq >= self._log.first_seq
        if self._told and not self._joined:
            return b""
        self._told = True
        self.position = opening.seq if self._joined else self._log.next_seq
        return self._tell(opening)
