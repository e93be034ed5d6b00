"""How much room is left in a thread. Exact when it is opened, close enough while a run adds to it.

What a person decides always finds room: a thread that is full must not keep a call open that waits for an answer. So do
the ends of calls that a run began; what the tools said is cut then.
"""

from collections.abc import Iterable, Sequence

import msgspec

from agui_gate.core.transcript import CardClosedEntry, Entry, Output, TurnEntry
from agui_gate.engine.limits import Limits
from agui_gate.errors import LimitReached
from agui_gate.off_loop import LARGE, LARGE_BYTES
from agui_gate.stores.base import Thread

ALWAYS = 2_000
"""Characters of a result that are kept however full a thread is."""

ANSWER = 64 * 1024
"""Bytes that answers to cards may have over the limit."""

_encode = msgspec.json.encode


class Capacity:
    """The room in one open thread. ``size`` and ``entries`` are what is there."""

    __slots__ = ("_limits", "entries", "size")

    def __init__(self, limits: Limits, thread: Thread) -> None:
        self._limits = limits
        self.size, self.entries = thread.bytes, len(thread.entries)

    @property
    def is_large(self) -> bool:
        """Whether going through the thread takes so long that it is not for the event loop."""
        return self.size > LARGE_BYTES or self.entries > LARGE

    def added(self, entries: Sequence[Entry]) -> None:
        """These are in the journal now."""
        self.entries += len(entries)
        self.size += len(_encode(entries))

    def has_room(self, entry: Entry) -> bool:
        """Whether there is room for one more entry, for which none has to be made."""
        size = self.size + len(_encode(entry))
        return size <= self._limits.thread_bytes and self.entries < self._limits.thread_entries

    def took(self, output: Output) -> None:
        """This is in the record of a gated call now."""
        self.size += len(output.content)

    def dropped(self, entries: Sequence[Entry]) -> None:
        """These are not there any more."""
        self.entries -= len(entries)
        self.size -= len(_encode(entries))

    def check_new(self, entries: Sequence[Entry], dropped: Sequence[Entry] = ()) -> None:
        """Raise `LimitReached` unless a request's entries find room, once ``dropped`` are gone."""
        said = [entry for entry in entries if not isinstance(entry, CardClosedEntry)]
        answers = len(_encode(entries)) if entries and not said else 0
        size = self.size + (len(_encode(said)) if said else 0) - (len(_encode(dropped)) if dropped else 0)
        number = self.entries - len(dropped) + _number(said)
        full = size > self._limits.thread_bytes or number > self._limits.thread_entries
        if (said and full) or (answers and size + answers > self._limits.thread_bytes + ANSWER):
            raise self._full()

    def check_turn(self) -> None:
        """Raise `LimitReached` if there is no room for one more answer of the model."""
        if self.size >= self._limits.thread_bytes or self.entries >= self._limits.thread_entries:
            raise self._full()

    def fitted(self, output: Output) -> Output:
        """``output``, cut where there is no room for the whole of it. Record it before anything is awaited."""
        room = max(ALWAYS, self._limits.thread_bytes - self.size)
        content = output.content
        if len(content) > ALWAYS and (size := len(_encode(content))) > room:
            content = f"{content[: max(ALWAYS, room * len(content) // size)]}… (cut: this conversation is full)"
            return msgspec.structs.replace(output, content=content)
        return output

    def _full(self) -> LimitReached:
        return LimitReached(
            f"This conversation is full (the limits are {self._limits.thread_bytes:,} bytes and "
            f"{self._limits.thread_entries:,} entries). Start a new one. This one can still be read and deleted."
        )


def _number(entries: Iterable[Entry]) -> int:
    """How many entries these are in the end: each call gets a result."""
    return sum(1 + len(entry.calls) if isinstance(entry, TurnEntry) else 1 for entry in entries)
