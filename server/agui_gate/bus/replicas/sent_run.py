"""Sends one run of this process: notes how far, to whom, and what of it is still kept at the other end."""

from collections import deque
from collections.abc import Iterator

import msgspec

from agui_gate.bus.base import FellBehind, Opening
from agui_gate.bus.log import EventLog, LogReader
from agui_gate.bus.replicas.messages import Answer, Came, Word
from agui_gate.bus.replicas.wire import Batch, Run
from agui_gate.concurrency import LARGE_BYTES, off_loop

OPENING_BYTES = 8 * 1024 * 1024
"""The largest opening that is sent. Who would have been told a larger one is told what stands, by the store."""


class Outgoing(LogReader):
    """Reads the ``log`` of a run that goes on here, for the wire. ``keep`` bytes of it, about, are kept there.

    As a reader of the log it holds on to what isn't sent yet, as long as any slow reader may, and to the opening.
    """

    __slots__ = (
        "_keep",
        "_kept",
        "_kept_bytes",
        "_said",
        "answers",
        "followers",
        "listens",
        "log",
        "openings",
        "run",
        "wanted",
    )

    def __init__(self, run: Run, log: EventLog, keep: int) -> None:
        super().__init__(log)
        self.run, self.log = run, log
        self._keep, self._kept, self._kept_bytes = keep, deque[tuple[int, int]](), 0
        self._said = False
        self.followers: dict[str, bool] = {}
        """The followers, by address; True if somebody there keeps the run going."""
        self.answers: list[tuple[str, Answer]] = []
        self.listens = False
        """The log is going to say when there is more."""
        self.openings = 0
        """Openings that are being sent; the run doesn't end before they are."""
        self.wanted: int | None = None
        """The opening after which somebody waits for a later one; None: nobody does."""

    @property
    def hurries(self) -> bool:
        """True if somebody elsewhere waits for what it says."""
        return bool(self.followers or self.answers)

    def followed(self, address: str, *, keeps: bool) -> None:
        """Adds a follower: somebody there follows the run."""
        self.followers[address] = keeps
        self.log.followed_elsewhere = any(self.followers.values())

    def left(self, address: str) -> None:
        """Removes a follower: nobody there follows the run any more."""
        del self.followers[address]
        self.log.followed_elsewhere = any(self.followers.values())

    def take(self, size: int) -> Iterator[Batch]:
        """Yields what is to be sent next, up to about ``size`` bytes. The last batch that there is says that it has
        ended.
        """
        while size > 0 and (batch := self._next()) is not None:
            size -= len(batch.data)
            self._said = True
            yield batch
            if batch.ended:
                self.close()
                return

    @property
    def is_over(self) -> bool:
        """True if everything was taken, to the end."""
        return self._closed

    @property
    def has_more(self) -> bool:
        """True if there is something left to take."""
        return not self._said or self.position < self.log.next_seq or (self._at_end and not self._closed)

    def words(self, *, taken: bool) -> Iterator[tuple[str, Word]]:
        """Yields what to tell those who follow with what was ``taken``, and those who asked once that was all."""
        if taken:
            came = Came(self.run.run_key)
            yield from ((address, came) for address in self.followers)
        if not self.has_more:
            yield from self.answers
            if any(answer.opening == self.wanted and answer.opening >= self._keeps for _, answer in self.answers):
                self.wanted = None
            self.answers = []

    @property
    def _at_end(self) -> bool:
        return self.log.ended and self.position == self.log.next_seq and not self.openings

    def new_opening(self) -> Opening | None:
        """Returns the opening, if somebody waits for it. It is given once."""
        opening = self.log.opening
        if self.wanted is None or opening is None or opening.seq <= self.wanted:
            return None
        self.wanted = None
        return opening

    def _next(self) -> Batch | None:
        first = self.position
        try:
            data, self.position = self.log.read(first)
        except FellBehind:  # the wire was away for too long: what is lost is lost, and so is what was before it
            first = self.log.first_seq
            data, self.position = self.log.read(first)
            self._kept.clear()
            self._kept_bytes = 0
        if not data and self._said and not self._at_end:
            return None
        self._count(first, len(data))
        return Batch(self.run, first, self.position, data, self._keeps, self._at_end)

    def _count(self, first: int, size: int) -> None:
        """Frames from ``first`` on are going to be kept at the other end; earlier ones go for them."""
        self._kept.append((first, size))
        self._kept_bytes += size
        while self._kept_bytes > self._keep and len(self._kept) > 1:
            self._kept_bytes -= self._kept.popleft()[1]

    @property
    def _keeps(self) -> int:
        """The number of the first frame that is kept at the other end."""
        return self._kept[0][0]


async def written(opening: Opening) -> bytes | None:
    """Returns an opening as bytes; None if it is too large."""
    await opening.messages.prepare()
    messages = opening.messages()
    whole = (opening.seq, messages, opening.state)
    if len(messages) < LARGE_BYTES:
        data = msgspec.json.encode(whole)
    else:
        data = await off_loop(msgspec.json.encode, whole)
    return data if len(data) <= OPENING_BYTES else None
