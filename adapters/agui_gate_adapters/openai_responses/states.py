"""The states of a response's output items, each turning what is known of its item into model events.

Here are text, reasoning and calls; what the provider works on itself is in `hosted_tools.py`.

All states share one life: `start` when the item appears, deltas, then `rest` for what a `.done` event adds. `finish`
comes with the complete item, or `abandon` when the response ended without it. `private` keeps what a replay needs: the
provider's item id, and the item's position, which tells a whole turn from one with gaps (`replay.py`).
"""

from typing import ClassVar

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    Private,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from agui_gate_adapters.common.failures import log

from .wire import Item

Events = list[ModelEvent]


class ItemState:
    """What all items have in common. ``key`` is unique in the response, ``position`` counts items from 0."""

    __slots__ = ("closed", "key", "position")
    type: ClassVar[str] = ""

    def __init__(self, key: str, position: int) -> None:
        self.key = key
        self.position = position
        self.closed = False

    @property
    def answerable(self) -> bool:
        """Whether a response with this item can be continued."""
        return True

    def is_for(self, item: Item) -> bool:
        """Whether a later mention may be of this item."""
        return item.type == self.type

    def start(self, item: Item, out: Events) -> None:
        """Begins the item."""

    def finish(self, item: Item, out: Events) -> None:
        """Ends the item, as complete as it will be."""
        self.closed = True

    def abandon(self, out: Events) -> None:
        """Closes an item that is still open at the end of the response; it isn't complete."""
        self.closed = True

    def private(self, item: Item) -> Private:
        """Returns id and position of a complete item."""
        known: Private = {"index": self.position}
        if item.id and item.status in (None, "completed"):
            known["id"] = item.id
        return known


class MessageState(ItemState):
    """Assistant text: one message, however many content parts (a refusal is text too)."""

    __slots__ = ("refused", "seen")
    type = "message"

    def __init__(self, key: str, position: int) -> None:
        super().__init__(key, position)
        self.seen: tuple[int | None, ...] | set[int | None] = ()  # mostly one: a set takes 216 bytes
        self.refused = False

    def start(self, item: Item, out: Events) -> None:
        """Begins the item; nothing is shown before the first delta."""
        out.append(TextStart(self.key))

    def rest(self, part: int | None, text: str | None, out: Events) -> None:
        """Adds a part's whole text, if none of it came before (B13)."""
        if text and not self.closed and part not in self.seen:
            self.add(part)
            out.append(TextDelta(self.key, text))

    def add(self, part: int | None) -> None:
        """Adds a part to those `seen`."""
        if isinstance(self.seen, set):
            self.seen.add(part)
        else:
            self.seen = {*self.seen, part} if self.seen else (part,)

    def finish(self, item: Item, out: Events) -> None:
        """Adds the parts that were never streamed, then ends the message."""
        # A server that leaves out content_index (None) has shown everything as one part.
        if None not in self.seen:
            for index, piece in enumerate(item.content or ()):
                self.rest(index, piece.text or piece.refusal, out)
        private = self.private(item)
        if item.phase:
            private["phase"] = item.phase
        if any(piece.type == "refusal" for piece in item.content or ()):
            private["refusal"] = self.refused = True
        self.closed = True
        out.append(TextEnd(self.key, private))

    def abandon(self, out: Events) -> None:
        """Ends it without an id: what is not complete is never replayed verbatim."""
        if not self.closed:
            self.closed = True
            out.append(TextEnd(self.key))


class ReasoningState(ItemState):
    """Reasoning. Summary and raw text are different streams; each of their parts is a paragraph (S20: none is fine)."""

    __slots__ = ("_paragraphs",)
    type = "reasoning"

    def __init__(self, key: str, position: int) -> None:
        super().__init__(key, position)
        self._paragraphs: dict[tuple[str, int], int] = {}

    def start(self, item: Item, out: Events) -> None:
        """Begins the reasoning, also if it is hidden."""
        out.append(ReasoningStart(self.key))

    def delta(self, part: tuple[str, int], text: str | None, out: Events) -> None:
        """Adds a piece of a part."""
        if text and not self.closed:
            paragraph = self._paragraphs.setdefault(part, len(self._paragraphs))
            out.append(ReasoningDelta(self.key, text, paragraph))

    def rest(self, part: tuple[str, int], text: str | None, out: Events) -> None:
        """Adds a part's whole text, if none of it came before."""
        if part not in self._paragraphs:
            self.delta(part, text, out)

    def finish(self, item: Item, out: Events) -> None:
        """Adds the paragraphs that were never streamed, then ends with the sealed form."""
        for kind, pieces in (("summary", item.summary), ("text", item.content)):
            for index, piece in enumerate(pieces or ()):
                self.rest((kind, index), piece.text, out)
        private = self.private(item)
        # Raw reasoning is no summary and must not come back as one: these paragraphs are left out of a replay.
        raw = [paragraph for (kind, _), paragraph in self._paragraphs.items() if kind == "text"]
        if raw:
            private["raw"] = raw
        self.closed = True
        # The sealed form of `output_item.added` differs from this one; only this one is valid.
        out.append(ReasoningEnd(self.key, item.encrypted_content or None, private))

    def abandon(self, out: Events) -> None:
        """Ends it without an id: what is not complete is never replayed verbatim."""
        if not self.closed:
            self.closed = True
            out.append(ReasoningEnd(self.key))


class CallState(ItemState):
    """A function call. It starts once name and call id are known, and ends only complete (B25)."""

    __slots__ = ("_arguments", "_ended", "_started")
    type = "function_call"

    def __init__(self, key: str, position: int) -> None:
        super().__init__(key, position)
        self._arguments: list[str] = []
        self._started = False
        self._ended = False

    @property
    def answerable(self) -> bool:
        """Only a complete call gets an output."""
        return self._ended

    def start(self, item: Item, out: Events) -> None:
        """Starts at once, or at the end where a server names the call only then."""
        if not self._started and item.name and item.call_id:
            self._started = True
            out.append(CallStart(self.key, item.call_id, item.name))
            out.extend(CallDelta(self.key, text) for text in self._arguments)

    def delta(self, text: str | None, out: Events) -> None:
        """Adds a piece of the arguments, held back until the call has started."""
        if text and not self.closed:
            self._arguments.append(text)
            if self._started:
                out.append(CallDelta(self.key, text))

    def rest(self, arguments: str | None, out: Events) -> None:
        """Adds what the deltas did not bring of the whole arguments."""
        sofar = "".join(self._arguments)
        if arguments and arguments.startswith(sofar):
            self.delta(arguments[len(sofar) :], out)
        elif arguments:
            log.debug("the deltas of call %s do not add up to its arguments; the latter count", self.key)

    def finish(self, item: Item, out: Events) -> None:
        """Ends a complete call; one that was cut stays open and is never run."""
        if item.status not in (None, "completed"):
            return
        arguments = item.arguments_text or "".join(self._arguments) or "{}"
        self.start(item, out)
        self.rest(arguments, out)
        self.closed = True
        if self._started:
            self._ended = True
            out.append(CallEnd(self.key, arguments, self.private(item)))
