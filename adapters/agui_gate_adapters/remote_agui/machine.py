"""Turns the events of a remote run into model events. Pure, one instance a run.

Text and reasoning come as they are said. A call is told when it is known what it is: the remote's own, with its result;
one that the remote asks about; or one of a tool that was lent to it, which is for us to run. That is known when its
result comes, or when the run ends. A call of a tool that nobody has gets a result that says so.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from agui_gate.adapter import (
    ANSWER,
    Activity,
    CallEnd,
    CallHeld,
    CallResult,
    CallStart,
    ModelEvent,
    Notice,
    Private,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StateChanged,
    TextDelta,
    TextEnd,
    TextStart,
    TurnDone,
    Usage,
    is_deeper,
    misfit,
    open_question,
    token_count,
)
from agui_gate.client import Fold, Json, Malformed, Question, TooMuch, events
from agui_gate.client.fold import bounded
from agui_gate.client.questions import LEGACY, REASONS, of_cards, of_confirmation, of_interrupts, of_legacy, of_paused

# What the end of a run elsewhere says: how its questions are answered, how it ended, and what it cost. Pure.


def answering(question: Question) -> Private:
    """Returns how the question is answered: the member for yes and no, whether no is possible, and with a reason.

    ``wants``: it wants more than a yes, or nobody says what it wants. ``shared``: a yes says to which arguments it is.
    """
    schema = question.schema or {}
    word = next(iter(question.approve().payload))
    kept: Private = {"ask": question.id, "word": word, "way": question.way}
    kept["no"] = misfit({word: False}, schema) is None
    kept["reasons"] = next((name for name in REASONS if name in question.reject("x").payload), False)
    if not question.approval or misfit({word: True}, schema) is not None:
        kept["wants"] = True
    elif question.is_shared:
        kept["shared"] = True
    return kept


def done(event: events.RunFinished) -> TurnDone:
    """Makes the end of the turn."""
    stopped = (event.outcome or {}).get("type") == "cancelled"
    usage = _usage(event.usage or [])
    return TurnDone("incomplete", "stopped_by_the_remote_agent", usage) if stopped else TurnDone(usage=usage)


def _usage(told: list[Json]) -> Usage | None:
    """Adds up all reported usage, under the names of the first report."""
    counts: Usage | None = None
    for entry in told:
        one = Usage(
            _word(entry.get("provider")),
            _word(entry.get("model")),
            **{name: token_count(entry.get(wire)) for name, wire in _COUNTS.items()},
        )
        counts = one if counts is None else counts.plus(one)
    return counts


_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cached_input_tokens": "cachedInputTokens",
    "reasoning_tokens": "reasoningTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}


def _word(value: Any) -> str:
    return value[:100] if isinstance(value, str) else ""


CARD_TOOL = "confirm_changes"
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
MAX_ITEMS = 2_000
"""Messages, calls and results of one run."""
_ITEMS = (
    events.TextMessageStart,
    events.ReasoningMessageStart,
    events.ToolCallStart,
    events.ToolCallResult,
    events.ActivitySnapshot,
    events.SubagentStarted,
)
MAX_NAME = 200
"""Characters of an id or a name that is passed on."""
MAX_CUSTOM = 1024 * 1024
"""Bytes of CUSTOM events that are passed on, of one run."""
MAX_TOLD = 4 * 1024 * 1024
"""Bytes, about, of the shared state, or of one activity."""
PER_CHANGE, PER_BYTE = 100.0, 0.05
"""Microseconds, about, that a change of these takes here, besides what it takes to make it."""
MAX_LEVELS = 64
OURS = "agui-gate:"
WAITS = "It has no result yet: the remote agent asked something first."
NOBODYS = (
    "The remote agent left its call of the tool {} without a result, and asked nothing about it. "
    "If it waits for a person there, switch on that it asks by AG-UI interrupts, such as emit_interrupt_outcome=True."
)
AGNO = "agno"
"""The source of raw events by which Agno's servers are known. Their runs that wait for a person end as any other."""


class Machine:
    """``messages`` are those of the input, ``lent`` the names of our tools. ``state`` is shared, if it is not None."""

    def __init__(self, messages: list[Json], lent: frozenset[str], state: Any = None) -> None:
        self._fold = Fold(messages, state)
        self._shares = state is not None
        self._told_of: Any = self._fold.state
        """The state as it was told. A patch that can't be applied leaves it as it is."""
        self._room = MAX_CUSTOM
        self._known = {message["id"] for message in messages}
        self._lent = lent
        answered = {message.get("toolCallId") for message in messages}
        self._open = {c["id"]: None for m in messages for c in m.get("toolCalls", ()) if c["id"] not in answered}
        """Calls of earlier runs that have no result yet."""
        self._begun: dict[str, str] = {}
        """Parents of the calls that this run began and that were not told yet, by the calls' ids."""
        self._texts: set[str] = set()
        self._thoughts: set[str] = set()
        self._said: set[str] = set()
        self._older: Question | None = None
        """What was asked by a custom event, as servers of 0.x do."""
        self._agno = False
        """Whether a server of Agno's speaks."""
        self._items = 0
        self.ended = False
        """Whether the run came to its end. Nothing may be fed after that."""

    def feed(self, event: events.AnyEvent) -> list[ModelEvent]:
        """Returns the model events for an event of the run. Raises `TooMuch` and `Malformed`."""
        if isinstance(event, _ITEMS):
            self._count(1)
        if isinstance(event, events.ToolCallStart):
            self._fold.restart(event.tool_call_id)  # said once more, or another call of the same id: nothing is glued
        self._fold.apply(event)
        with bounded():
            told = list(self._told(event))
        self.ended = isinstance(event, events.RunFinished)
        return told

    def _count(self, items: int) -> None:
        self._items += items
        if self._items > MAX_ITEMS:
            raise TooMuch(f"The agent began more than {MAX_ITEMS:,} messages, calls and questions in one run.")

    def _told(self, event: events.AnyEvent) -> Iterator[ModelEvent]:
        match event:
            case events.TextMessageStart(role="assistant"):
                self._texts.add(event.message_id)
                self._said.add(event.message_id)
                yield TextStart(event.message_id)
            case events.TextMessageContent() if event.message_id in self._texts:
                yield TextDelta(event.message_id, event.delta)
            case events.TextMessageEnd() if event.message_id in self._texts:
                self._texts.discard(event.message_id)
                yield TextEnd(event.message_id, {"id": event.message_id})
            case events.ToolCallStart() if event.tool_call_id not in self._open:
                self._begun.setdefault(event.tool_call_id, event.parent_message_id or event.tool_call_id)
            case events.ToolCallResult():
                yield from self._result(event)
            case events.RunFinished():
                yield from self._end(event)
            case _:
                yield from self._thought(event)

    def _thought(self, event: events.AnyEvent) -> Iterator[ModelEvent]:
        """Ends reasoning with its run, as its sealed form may come late."""
        match event:
            case events.ReasoningMessageStart():
                self._thoughts.add(event.message_id)
                yield ReasoningStart(event.message_id)
            case events.ReasoningMessageContent() if event.message_id in self._thoughts:
                yield ReasoningDelta(event.message_id, event.delta)
            case _:
                yield from self._beside(event)

    def _beside(self, event: events.AnyEvent) -> Iterator[ModelEvent]:
        """Passes on state, activities and other events, but not those of the remote's own subagents."""
        match event:
            case events.ActivitySnapshot() | events.ActivityDelta():
                message = self._fold.message(event.message_id)
                if message is not None and message["role"] == "activity":
                    self._measure(message["content"])
                    yield Activity(event.message_id[:MAX_NAME], event.activity_type[:MAX_NAME], message["content"])
            case events.StateSnapshot() | events.StateDelta() if self._shares and self._fold.state is not self._told_of:
                self._told_of = self._fold.state
                self._measure(self._fold.state)
                yield StateChanged(self._fold.state)
            case events.Raw(source=source):
                self._agno = self._agno or source == AGNO
            case events.Custom(name=name) if name == LEGACY:
                self._older = of_legacy(event)
            case events.Custom():
                yield from self._custom(event)

    def _measure(self, value: Any) -> None:
        """Take what it costs to tell people of a value. Raises `TooMuch` for one that is too large."""
        size = self._fold.work.size_of(value, MAX_TOLD)
        self._fold.work.spend(PER_CHANGE + size * PER_BYTE)
        if size > MAX_TOLD:
            raise TooMuch(f"The agent's state, or an activity of it, is larger than {MAX_TOLD:,} bytes.")

    def _custom(self, event: events.Custom) -> Iterator[ModelEvent]:
        """Passes on a custom event, unless it could be taken for one of this server's."""
        refused = event.name.startswith(OURS) or len(event.name) > MAX_NAME
        if self._room >= 0:
            self._room -= int(self._fold.work.size_of(event.value, self._room))
        if not refused and self._room >= 0 and not is_deeper(event.value, MAX_LEVELS):
            yield Notice(event.name, event.value)

    def _result(self, event: events.ToolCallResult) -> Iterator[ModelEvent]:
        """Adds a result to a call of the remote's own, which an earlier run may have begun."""
        yield from self._hosted(event.tool_call_id, _text_of(event.content), event.message_id)

    def _hosted(self, call_id: str, content: str, message_id: str = "", **more: bool) -> Iterator[ModelEvent]:
        """Makes a call with its result. ``open``: the remote has not sent one yet; ``failed``: it can't."""
        call = self._fold.call(call_id)
        if call is None:
            return  # a result of nothing
        self._open.pop(call_id, None)
        key, private = self._start(call_id, call)
        yield CallStart(key, call_id, _name(call), hosted=True)
        if more.get("open"):
            private["open"] = True
        yield CallEnd(key, call["function"]["arguments"] or "{}", private)
        yield CallResult(key, content, more.get("failed", False), {"result": message_id} if message_id else None)

    def _start(self, call_id: str, call: Json) -> tuple[str, Private]:
        """Returns the key of a call that begins now, and what is kept of it."""
        kept: Private = {"name": call["function"]["name"]}
        if call_id in self._begun:
            kept["message"] = self._begun.pop(call_id)
        else:
            kept["again"] = True
        return f"call-{call_id}", kept

    def _end(self, event: events.RunFinished) -> Iterator[ModelEvent]:
        self._count(len(self._fold.interrupts))
        self._fold.work.spend(len(self._fold.messages))
        yield from self._only_in_snapshots()
        for message_id in sorted(self._thoughts):
            message = self._fold.message(message_id) or {}
            yield ReasoningEnd(message_id, message.get("encryptedValue"), {"id": message_id})
        results = self._results()
        questions = self._questions(results)
        if any(question.way == "call" for question in questions):  # its answer has to be the last message
            asked = {question.call_id for question in questions}
            for call_id in [one for one in self._begun if one not in asked]:
                yield from self._left(call_id, results.get(call_id), asks=True)
        for question in questions:
            yield from self._held(question)
        for call_id in list(self._begun):
            yield from self._left(call_id, results.get(call_id), asks=bool(questions))
        for call_id in list(self._open):
            yield from self._from_snapshot(call_id, results.get(call_id))
        yield done(event)

    def _only_in_snapshots(self) -> Iterator[ModelEvent]:
        """Returns texts that came only in snapshots."""
        if self._said:
            return  # a snapshot may have the same words under other ids
        for message in self._fold.messages:
            new = message["id"] not in self._known
            if message["role"] == "assistant" and new and message.get("content"):
                key = message["id"]
                self._count(1)
                yield from (TextStart(key), TextDelta(key, message["content"]), TextEnd(key, {"id": key}))

    def _questions(self, results: dict[str, Json]) -> list[Question]:
        """Returns what the remote asks, by interrupts, or in the ways of servers without interrupts.

        Raises `Malformed` for two questions of one id (INT-2): a yes to one could be taken for a yes to the other.
        """
        found = of_interrupts(self._fold.interrupts, self._fold.call, self._fold.subagents)
        if len({question.id for question in found}) < len(found):
            raise Malformed("The agent asks two things under one id.")
        if found:
            return found
        cards = [card for card in of_cards(list(self._begun), self._fold.call) if card.id not in self._lent]
        return cards or ([self._older] if self._older is not None else self._waiting(results))

    def _waiting(self, results: dict[str, Json]) -> list[Question]:
        """Returns calls whose result is a person's answer: ADK's confirmations, and what Agno left open."""
        names = {CARD_TOOL, *self._lent}
        begun = [call for i in self._begun if i not in results and (call := self._fold.call(i)) is not None]
        theirs = [call for call in begun if call["function"]["name"] not in names]
        asked = [question for question in map(of_confirmation, theirs) if question is not None]
        return asked or ([of_paused(call) for call in theirs] if self._agno else [])

    def _held(self, question: Question) -> Iterator[ModelEvent]:
        """Makes a held call of a question. A question about no call, and a card, become calls themselves."""
        named = question.way in ("card", "call")  # by the call that it is about, not by its own
        call_id = question.id if named else question.call_id
        call = self._fold.call(call_id) if call_id else None
        kept = answering(question)
        asked, editable = question.arguments, question.editable
        if "wants" in kept:
            asked, editable = open_question(asked, question.schema), (ANSWER,)
        arguments = msgspec.json.encode(asked).decode()
        if call is None:
            key, wire_id, kept = f"ask-{question.id}", question.id, kept | {"again": True}
            name = _NAME.sub("_", question.tool or question.reason or question.way)[:64] or "question"
        else:
            issued = call["function"]["arguments"] or "{}"
            key, told = self._start(call_id, call)
            kept, wire_id = told | kept | {"arguments": issued}, call_id
            name = _named(question.tool or CARD_TOOL) if named else _name(call)
            if "wants" not in kept and not named and "shared" not in kept:  # else they are as somebody edited them
                arguments = issued
        yield CallStart(key, wire_id, name, hosted=True, asks=True)
        yield CallEnd(key, arguments, kept)
        yield CallHeld(key, None, _asked(question)[:1_000], editable)

    def _results(self) -> dict[str, Json]:
        """Returns this run's results by call, also those that only a snapshot has; of several, the first."""
        found: dict[str, Json] = {}
        for message in self._fold.messages:
            if "toolCallId" in message and message["id"] not in self._known:  # those of the input: of earlier calls
                found.setdefault(message["toolCallId"], message)
        return found

    def _left(self, call_id: str, result: Json | None, *, asks: bool) -> Iterator[ModelEvent]:
        """Ends a call without a streamed result: it is in a snapshot, waits, runs here, or has no tool."""
        call = self._fold.call(call_id)
        told = list(self._from_snapshot(call_id, result))
        if call is None or (self._fold.interrupts and call["function"]["name"] == CARD_TOOL):
            self._begun.pop(call_id, None)  # a card beside the interrupt that asks the same
        elif told:
            yield from told
        elif call["function"]["name"] in self._lent:
            key, kept = self._start(call_id, call)
            yield CallStart(key, call_id, call["function"]["name"])
            yield CallEnd(key, call["function"]["arguments"], kept)
        elif asks:
            yield from self._hosted(call_id, WAITS, open=True)
        else:
            yield from self._hosted(call_id, NOBODYS.format(_name(call)), failed=True)

    def _from_snapshot(self, call_id: str, result: Json | None) -> Iterator[ModelEvent]:
        """Makes a call with a result that came only in a snapshot."""
        if result is not None:
            yield from self._hosted(call_id, _text_of(result["content"]), result["id"])


def _asked(question: Question) -> str:
    """Returns the question with the name of who asks, unless the server has sent that already."""
    said = not question.agent or question.message.startswith(f"{question.agent} asks:")
    return question.message if said else f"{question.agent} asks: {question.message}"


def _name(call: Json) -> str:
    """Returns the call's name for people."""
    return _named(call["function"]["name"])


def _named(name: str) -> str:
    """Returns a name for people; the card's name has a meaning here."""
    name = _NAME.sub("_", name)[:64] or "tool"
    return f"remote_{name}" if name == CARD_TOOL else name


def _text_of(parts: str | list[Json]) -> str:
    if isinstance(parts, str):
        return parts
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
