"""Model events → the client's stream and the turn's record, in one pass. Pure.

The adapter's keys are mapped to AG-UI ids here. Message ids are fresh for every turn, since clients run handlers only
for messages they have not seen (docs/clients.md#fresh-message-ids). A provider's call id is kept for the client where
it is free in this thread, and re-minted where it repeats. The provider's own is kept beside it (S24).

A call is only recorded as runnable if its end came. A stream that breaks off leaves its calls malformed, in a turn
marked ``cut`` (B25).

A call that has to be decided may be held back: it is recorded, and what it says is not shown. It gets a message of its
own, since it is shown later than what stands around it (`protocol/dialects/`).

A hosted call's result is shown as it comes and kept in ``results``, for the journal to have after the turn.

What a model may say in one turn has its limits. They are counted here as it is said. They are counted in characters: a
model that never ends is what they are for, and that costs next to nothing a delta.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from agui_gate.adapter import (
    Activity,
    CallDelta,
    CallEnd,
    CallHeld,
    CallPart,
    CallResult,
    CallStart,
    ModelEvent,
    Notice,
    Output,
    Private,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningPart,
    ReasoningStart,
    StateChanged,
    TextDelta,
    TextEnd,
    TextPart,
    TextStart,
    TurnDone,
)
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core.agent_view import ALONE, Viewpoint
from agui_gate.core.events import Custom
from agui_gate.core.json_text import completion, object_or_empty, parse_object
from agui_gate.core.sequencer import Lane
from agui_gate.core.transcript import CallKind, ResultEntry, Shown, TurnEntry
from agui_gate.errors import ForeignRef, LimitReached
from agui_gate.protocol.snapshot import result_id

HoldsBack = Callable[[CallStart], bool]
"""Returns whether a call that begins is not to be shown before its turn is over."""

Tap = Callable[[Any], None]
Taps = Mapping[type, Tap]
"""Functions that are called with each recorded event of a type: with `CallBegun`, `Activity` and `StateChanged`."""

NOTHING: Mapping[Any, Any] = MappingProxyType({})
"""What an answer has none of: an empty dictionary of its own takes 64 bytes."""

MAX_CALL_ID = 128

MAX_HOSTED_RESULT = 64 * 1024
"""Characters of a hosted call's result that are shown and kept. The provider has the whole of it."""

ITEM_BYTES = 256
"""Bytes that an item counts by itself, however little it says."""

LOOSE_PIECES = 8
"""Pieces of a text that are joined at one go."""


class ArgumentSink(Protocol):
    """Takes the arguments of one call as they come, as JSON."""

    def add(self, text: str) -> None:
        """Takes a piece of the arguments."""

    def end(self, text: str) -> None:
        """Takes all of the arguments, once they have come."""


class CallBegun:
    """A call begins that the provider doesn't run itself, under the id that it has from now on.

    A tap may set ``sink``, to take its arguments.
    """

    __slots__ = ("call_id", "name", "sink")

    def __init__(self, call_id: str, name: str) -> None:
        self.call_id, self.name = call_id, name
        self.sink: ArgumentSink | None = None


class _Item:
    """An item of the response while it streams."""

    __slots__ = ("begins", "call_kind", "encrypted", "ended", "id", "kind", "loose", "name", "opened", "paragraph",
                 "parent_id", "pieces", "private", "shown", "sink", "wire_id")  # fmt: skip

    def __init__(self, kind: str, item_id: str) -> None:
        self.kind, self.id = kind, item_id
        self.pieces: list[str] = []
        self.loose: list[str] = []
        """For text: the latest pieces. Others are joined, as thousands of deltas take ten times as much memory."""
        self.private: Private | None = None
        self.encrypted: str | None = None
        self.ended = False
        self.opened: bool | None = None
        """For a call: True if its arguments begin as an object, so that they are shown; None before they begin."""
        self.paragraph = 0
        self.begins: list[int] = []
        """For reasoning: which of its pieces begin a paragraph."""
        self.wire_id = self.name = self.parent_id = ""
        self.call_kind: CallKind = "server"
        self.shown: Shown = "at_once"
        self.sink: ArgumentSink | None = None


class TurnRecorder:
    """Takes one turn's events. ``reserve_id`` takes an id for a call, and returns False if it can't have it.

    ``theirs`` are the names of the client's tools; ``holds_back`` says which calls are not shown as they come. ``taps``
    are called with what is recorded.
    ``speaker`` says it, and in which task; clients are told of any but the entry agent.
    ``results`` are those of hosted calls, ``held`` says how to ask about held ones; both by the call's id.
    """

    def __init__(
        self,
        sequencer: Lane,
        new_id: Callable[[], str],
        reserve_id: Callable[[str], bool],
        origin: str,
        limits: Limits = DEFAULTS,
        theirs: Container[str] = (),
        holds_back: HoldsBack | None = None,
        speaker: Viewpoint = ALONE,
        taps: Taps = NOTHING,
    ) -> None:
        self._limits, self._speaker, self._taps = limits, speaker, taps
        self._theirs, self._holds_back = theirs, holds_back
        self._room = limits.turn_bytes
        self._calls = 0
        self._seq, self._new_id, self._reserve_id, self._origin = sequencer, new_id, reserve_id, origin
        self._items: dict[tuple[str, str], _Item] = {}
        self._order: list[_Item] = []
        self._parent_id = ""
        self.turn_id = new_id()
        self.done: TurnDone | None = None
        self.results: Mapping[str, ResultEntry] = NOTHING
        self.held: Mapping[str, CallHeld] = NOTHING

    def feed(self, events: Sequence[ModelEvent]) -> None:
        """Takes one batch, in order. Raises `LimitReached` at the event that is one too many; it is not taken."""
        for event in events:
            if type(event) is TextDelta:  # by far the most frequent
                item = self._items.get(("text", event.key))
                if item is None or item.ended:
                    item = self._fresh("text", event.key)
                if text := event.text:
                    self._room -= len(text)
                    if self._room < 0:
                        raise self._too_long()
                    loose = item.loose
                    loose.append(text)
                    if len(loose) == LOOSE_PIECES:
                        item.pieces.append("".join(loose))
                        loose.clear()
                    self._parent_id = item.id
                    self._seq.text(item.id, text)
            elif type(event) is TurnDone:
                self._origin = event.origin or self._origin
                if event.ref is not None and event.ref.origin != self._origin:
                    raise ForeignRef
                self.done = event
            else:
                self._other(event)

    @property
    def unended(self) -> set[str]:
        """The calls that never came to their end: what there is of their arguments may look whole."""
        return {item.id for item in self._order if item.kind == "call" and not item.ended}

    def close_calls(self) -> None:
        """Ends the calls that the provider left open.

        What is shown of their arguments becomes whole JSON, since clients parse it; what is recorded stays as it came
        and never runs (B25).
        """
        for item in self._order:
            if item.kind == "call" and not item.ended:
                self._end_args(item, "".join(item.pieces) if item.opened else "")

    def entry(self) -> TurnEntry:
        """Returns the turn as it is recorded now. Without a `TurnDone` it is a cut one."""
        cut = self.done is None
        parts = [part for item in self._order if (part := self._part(item)) is not None]
        return TurnEntry(
            self.turn_id, tuple(parts), self._origin, cut=cut, agent=self._speaker.agent, task=self._speaker.task
        )

    def _take(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise self._too_long()

    def _too_long(self) -> LimitReached:
        return LimitReached(
            f"The model's answer was cut off: it is longer than {self._limits.turn_bytes:,} bytes. "
            "What it said is kept. Send a message to continue."
        )

    def _one_more_call(self) -> None:
        self._calls += 1
        if self._calls > self._limits.turn_calls:
            raise LimitReached(
                f"The model's answer was cut off: it makes more than {self._limits.turn_calls:,} calls. "
                "None of them was run. Send a message to continue."
            )

    def _other(self, event: ModelEvent) -> None:
        """Takes any event but a piece of text and the end of the turn."""
        match event:
            case TextStart():
                self._fresh("text", event.key)
            case TextEnd():
                item = self._item("text", event.key)
                item.private, item.ended = event.private, True
                self._seq.text_end(item.id)
            case CallDelta():
                self._call_delta(event.key, event.text)
            case CallStart() | CallEnd() | CallResult() | CallHeld():
                self._call_event(event)
            case ReasoningStart():
                self._fresh("reasoning", event.key)
            case ReasoningDelta():
                self._reasoning(event)
            case ReasoningEnd():
                item = self._item("reasoning", event.key)
                self._take(len(event.encrypted or ""))
                item.private, item.encrypted, item.ended = event.private, event.encrypted, True
                self._seq.reasoning_end(item.id, event.encrypted)
            case Notice():
                self._seq.other(Custom(event.name, event.value))
            case Activity() | StateChanged() if (tap := self._taps.get(type(event))) is not None:
                tap(event)

    def _call_event(self, event: CallStart | CallEnd | CallResult | CallHeld) -> None:
        match event:
            case CallStart():
                self._call(event)
            case CallEnd():
                self._call_end(event)
            case CallResult():
                self._call_result(event)
            case CallHeld():
                self._call_held(event)

    def _fresh(self, kind: str, key: str) -> _Item:
        self._take(ITEM_BYTES)
        item = _Item(kind, self._new_id())
        if self._speaker.agent and kind == "text":
            self._seq.named(item.id, self._speaker.agent)
        self._items[kind, key] = item
        self._order.append(item)
        return item

    def _item(self, kind: str, key: str) -> _Item:
        item = self._items.get((kind, key))
        return item if item is not None and not item.ended else self._fresh(kind, key)

    def _reasoning(self, event: ReasoningDelta) -> None:
        item = self._item("reasoning", event.key)
        if not event.text:
            return
        text = event.text
        self._take(len(text))
        if not item.pieces or event.paragraph != item.paragraph:
            text = f"\n\n{text}" if item.pieces else text
            item.paragraph = event.paragraph
            item.begins.append(len(item.pieces))
        item.pieces.append(event.text)
        self._seq.reasoning(item.id, text)

    def _call(self, event: CallStart) -> None:
        self._one_more_call()
        item = self._fresh("call", event.key)
        free = 0 < len(event.wire_id) <= MAX_CALL_ID and self._reserve_id(event.wire_id)
        item.id = event.wire_id if free else f"call_{item.id}"
        item.wire_id, item.name = event.wire_id or item.id, event.name
        item.call_kind = "hosted" if event.hosted else "client" if event.name in self._theirs else "server"
        if self._holds_back is not None and self._holds_back(event):
            item.parent_id, item.shown = self._new_id(), "after_turn"  # the sequencer shows nothing of it: not begun
        else:
            item.parent_id = self._parent_id = self._parent_id or self._new_id()
            self._seq.call(item.id, item.name, item.parent_id)
        if not event.hosted and (tap := self._taps.get(CallBegun)) is not None:
            begun = CallBegun(item.id, item.name)
            tap(begun)
            item.sink = begun.sink

    def _call_delta(self, key: str, text: str) -> None:
        item = self._items.get(("call", key))
        if item is not None and not item.ended and text:
            self._take(len(text))
            item.pieces.append(text)
            if item.sink is not None:
                item.sink.add(text)
            if item.opened:
                self._seq.call_args(item.id, text)
            else:
                self._open_args(item, text)

    def _open_args(self, item: _Item, text: str) -> None:
        """Shows the arguments from where they begin as an object. Clients parse what they were shown, so words that a
        model writes in their place are recorded (and told to it), but not shown.
        """
        if item.opened is None and (begun := text.lstrip()):
            item.opened = begun.startswith("{")
            if item.opened:
                self._seq.call_args(item.id, "".join(item.pieces))

    def _call_end(self, event: CallEnd) -> None:
        item = self._items.get(("call", event.key))
        if item is None or item.ended:
            return
        streamed = "".join(item.pieces) if item.opened else ""
        arguments = event.arguments if event.arguments.strip() else "{}"
        self._take(max(0, len(arguments) - sum(map(len, item.pieces))))
        item.pieces, item.private, item.ended = [arguments], event.private, True
        if item.sink is not None:
            item.sink.end(arguments)
        if not streamed:
            item.opened = None
            self._open_args(item, arguments)
            streamed = arguments if arguments.lstrip().startswith("{") else ""
        elif arguments.startswith(streamed):  # what was not streamed yet
            self._seq.call_args(item.id, arguments[len(streamed) :])
            streamed = arguments
        self._end_args(item, streamed)

    def _call_result(self, event: CallResult) -> None:
        item = self._hosted(event.key)
        if item is None:
            return
        content = event.content
        if len(content) > MAX_HOSTED_RESULT:
            content = f"{content[:MAX_HOSTED_RESULT]}… (cut)"
        self._take(len(content))
        if event.private:
            item.private = {**(item.private or {}), **event.private}
        if item.shown != "at_once":  # it was run without asking, so nothing is to be decided
            self._show(item)
        result = ResultEntry(item.id, result_id(item.id), Output(content, event.is_error))
        self.results = {**self.results, item.id: result}
        self._seq.result(item.id, result_id(item.id), content)

    def _show(self, item: _Item) -> None:
        item.shown = "at_once"
        self._seq.call(item.id, item.name, item.parent_id)
        self._seq.call_args(item.id, object_or_empty("".join(item.pieces)))
        self._seq.call_end(item.id)

    def _call_held(self, event: CallHeld) -> None:
        item = self._hosted(event.key)
        if item is not None:
            item.call_kind = "held"
            self.held = {**self.held, item.id: event}

    def _hosted(self, key: str) -> _Item | None:
        """Returns a hosted call that has ended and has neither a result nor a question: nothing is said about any
        other.
        """
        item = self._items.get(("call", key))
        fresh = item is not None and item.ended and item.call_kind == "hosted" and item.id not in self.results
        return item if fresh else None

    def _end_args(self, item: _Item, streamed: str) -> None:
        rest = completion(streamed) if streamed.strip() else "{}"
        self._seq.call_args(item.id, rest or "")
        self._seq.call_end(item.id)

    def _part(self, item: _Item) -> TextPart | ReasoningPart | CallPart | None:
        text = "".join([*item.pieces, *item.loose])
        if item.kind == "text":
            return TextPart(item.id, text, item.private) if text else None
        if item.kind == "reasoning":
            kept = bool(item.pieces or item.encrypted or item.private)
            return ReasoningPart(item.id, _paragraphs(item), item.encrypted, item.private) if kept else None
        if not item.name:
            return None
        malformed = not item.ended or parse_object(text) is None
        kind, shown = item.call_kind, item.shown
        return CallPart(item.id, item.wire_id, item.name, text, item.parent_id, kind, malformed, item.private, shown)


def _paragraphs(item: _Item) -> tuple[str, ...]:
    ends = [*item.begins[1:], len(item.pieces)]
    return tuple("".join(item.pieces[begin:end]) for begin, end in zip(item.begins, ends, strict=False))
