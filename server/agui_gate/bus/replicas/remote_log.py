"""A run of another process, as it is read here: its log, and who joins it late."""

from collections.abc import Callable

import msgspec

from agui_gate.bus.base import Opening, Tell
from agui_gate.bus.log import EventLog, LogReader
from agui_gate.bus.replicas.wire import Head, Said

FRAME_END = b"\n\n"
"""Nowhere inside a frame: see `core.sse`."""

_opening = msgspec.json.Decoder(tuple[int, msgspec.Raw, msgspec.Raw])


class Given:
    """Messages that came over the wire: `Messages`."""

    def __init__(self, made: msgspec.Raw) -> None:
        self._made = made

    def __call__(self) -> msgspec.Raw:
        """Returns the messages."""
        return self._made

    async def prepare(self) -> None:
        """Does nothing: the messages are ready."""


class FollowedLog(EventLog):
    """The log of a run of another process, from frame ``first`` on. ``on_left`` is told when a reader has left."""

    __slots__ = ("_on_left", "head", "heard", "told", "watchers")

    def __init__(self, head: Head, limit: int, first: int, on_left: Callable[["FollowedLog"], None]) -> None:
        super().__init__(limit, first=first)
        self._on_left = on_left
        self.watchers: set[LogReader] = set()
        """The readers who don't keep the run going."""
        self.head = head
        self.heard = True
        """Since it was looked at last."""
        self.told: int | None = None
        """A reader was told the opening of this number, and waits for a later one."""

    @property
    def key(self) -> str:
        """The run's."""
        return self.head.run.run_key

    def opened(self, opening: Opening) -> None:
        """See `Publisher`. Who waits for one is woken."""
        super().opened(opening)
        self._wake()

    def leave(self, reader: LogReader) -> None:
        """See `EventLog`."""
        if reader in self.readers:
            super().leave(reader)
            self.watchers.discard(reader)
            self._on_left(self)

    def take(self, said: Said) -> bool:
        """Adds what the run said. Whether that was all of it for now."""
        for piece in said.pieces:
            if piece.first > self.next_seq:
                self.begin_at(piece.first)
            frames = piece.data.split(FRAME_END)[self.next_seq - piece.first : -1]
            for frame in frames:
                self.append(frame + FRAME_END)
        if not said.pieces and said.next > self.next_seq:
            self.begin_at(said.next)
        return self.next_seq >= said.next


class JoinedReader(LogReader):
    """A reader that comes late: see `Bus.join`. ``later`` is called if it needs an opening later than ``opening``."""

    __slots__ = ("_is_lost", "_later", "_opening", "_tell", "_told")

    def __init__(self, followed: FollowedLog, opening: Opening, tell: Tell, later: Callable[[int], None]) -> None:
        super().__init__(followed, after=opening.seq - 1)
        self._opening: Opening | None = opening
        self._tell, self._later = tell, later
        self._told, self._is_lost = -1, False

    def entered(self) -> None:
        """Notes that the log has got what there is: a later opening is needed if the frames that follow this one are
        lost.
        """
        if self._opening is not None and self._opening.seq < self._log.first_seq:
            self._later(self._opening.seq)

    def _take(self) -> bytes:
        opening, self._opening = self._opening, None
        if self._is_lost:
            opening = self._next_opening()
        if opening is None:
            return b"" if self._is_lost else super()._take()
        self._told = opening.seq
        self._is_lost = opening.seq < self._log.first_seq
        self.position = self._log.next_seq if self._is_lost else opening.seq
        if self._is_lost:
            self._later(opening.seq)
        return self._tell(opening)

    def _next_opening(self) -> Opening | None:
        opening = self._log.opening
        if opening is None or opening.seq <= self._told or opening.seq < self._log.first_seq:
            return None
        return opening


def opening_of(data: bytes) -> Opening | None:
    """Returns an opening as it was sent; None if another version has, in a way that this one can't read."""
    try:
        seq, messages, state = _opening.decode(data)
    except msgspec.MsgspecError:
        return None
    return Opening(seq, Given(messages), state)
