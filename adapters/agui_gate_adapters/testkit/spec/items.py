"""Checks what a run opens and has to close: messages, calls with their results, reasoning, steps, chunks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.page import Page
from agui_gate_adapters.testkit.spec.rules import Breach, Json, listed, word

Key = tuple[str, str, str]
"""Kind, id, and owner where that is a part of the name."""


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort of item: its name, the member with its id, the rule on its order, and the one on what is left open."""

    name: str
    id: str
    order: str
    left_open: str = "LIFE-3"


TEXT = Sort("message", "messageId", "STR-1")
CALL = Sort("call", "toolCallId", "STR-1")
SPAN = Sort("reasoning", "messageId", "REAS-1")
THOUGHT = Sort("reasoning message", "messageId", "REAS-1")
STEP = Sort("step", "stepName", "LIFE-9", "LIFE-9")

OPENS = {
    "TEXT_MESSAGE_START": TEXT,
    "TOOL_CALL_START": CALL,
    "REASONING_START": SPAN,
    "REASONING_MESSAGE_START": THOUGHT,
    "STEP_STARTED": STEP,
}
GOES_ON = {"TEXT_MESSAGE_CONTENT": TEXT, "TOOL_CALL_ARGS": CALL, "REASONING_MESSAGE_CONTENT": THOUGHT}
CLOSES = {
    "TEXT_MESSAGE_END": TEXT,
    "TOOL_CALL_END": CALL,
    "REASONING_END": SPAN,
    "REASONING_MESSAGE_END": THOUGHT,
    "STEP_FINISHED": STEP,
}
SAME = ("role", "name", "toolCallName", "parentMessageId", "subagentRunId")
"""What a message or a call keeps when it is opened again."""

ROLES = {"TEXT_MESSAGE_START": "", "REASONING_START": "reasoning", "REASONING_MESSAGE_START": "reasoning"}
"""Events that name a message, with its role; "": the event says it."""


@dataclass(slots=True)
class Items:
    """What is open, and how what was opened was called."""

    page: Page
    open: dict[Key, Json] = field(default_factory=dict)
    opened: dict[Key, Json] = field(default_factory=dict)

    def judge(self, event: Json) -> Iterator[Breach]:
        """Finds what an event breaks about open items."""
        kind = event["type"]
        if kind in OPENS:
            yield from self._opens(event, OPENS[kind])
        elif kind in GOES_ON:
            yield from self._needs_open(event, GOES_ON[kind])
        elif kind in CLOSES:
            yield from self._needs_open(event, CLOSES[kind])
            self.open.pop(_key(event, CLOSES[kind]), None)
        elif kind == "RUN_FINISHED":
            yield from self._left_open()
        if kind in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"):
            self.open.clear()
            self.opened.clear()

    def _opens(self, event: Json, sort: Sort) -> Iterator[Breach]:
        key = _key(event, sort)
        if key in self.open:
            yield Breach(sort.order, f"{event['type']} for the {sort.name} `{key[1]}`, which is already open")
        elif key in self.opened and sort in (TEXT, CALL):
            before = self.opened[key]
            changed = [name for name in SAME if _trait(event, name) != _trait(before, name)]
            if changed:
                yield Breach("TEXT-2", f"the {sort.name} `{key[1]}` is reopened with a different `{changed[0]}`")
        yield from self._named(event)
        yield from self._owned(event)
        self.open[key] = event
        self.opened.setdefault(key, event)

    def _named(self, event: Json) -> Iterator[Breach]:
        """Checks that a message's id names one message of the thread."""
        if event["type"] not in ROLES:
            return
        if self.page.replayed and word(event, "messageId") in self.page.held_messages:
            told = f"a replayed run streams `{word(event, 'messageId')}` again, which the input holds already"
            yield Breach("LIFE-8", told)
        role = ROLES[event["type"]] or word(event, "role") or "assistant"
        known = self.page.roles.get(word(event, "messageId"), role)
        if known != role:
            yield Breach("EVT-4", f"`{word(event, 'messageId')}` already names a {known} message")

    def _owned(self, event: Json) -> Iterator[Breach]:
        """Checks that a call has the owner of its message."""
        parent = word(event, "parentMessageId")
        if event["type"] == "TOOL_CALL_START" and parent in self.page.owners:
            owner, own = self.page.owners[parent], word(event, "subagentRunId")
            if own and own != owner:
                yield Breach("SUB-4", f"the call is of subagent `{own}`, its message is not")

    def _needs_open(self, event: Json, sort: Sort) -> Iterator[Breach]:
        key = _key(event, sort)
        if key not in self.open:
            yield Breach(sort.order, f"{event['type']} for the {sort.name} `{key[1]}`, which is not open")
        elif (tag := word(event, "subagentRunId")) and tag != word(self.open[key], "subagentRunId"):
            yield Breach("SUB-4", f"{event['type']} has a different subagent than the event that opened `{key[1]}`")

    def _left_open(self) -> Iterator[Breach]:
        sorts = {sort.name: sort for sort in OPENS.values()}
        for name, item, _ in self.open:
            yield Breach(sorts[name].left_open, f"RUN_FINISHED while the {name} `{item}` is open")


def _key(event: Json, sort: Sort) -> Key:
    return sort.name, word(event, sort.id), word(event, "subagentRunId") if sort is STEP else ""


def _trait(event: Json, name: str) -> object:
    return event.get(name) or ("assistant" if name == "role" and event["type"] == "TEXT_MESSAGE_START" else None)


@dataclass(slots=True)
class Calls:
    """The calls of the run that is open, and those of them that have no result."""

    page: Page
    pending: list[str] = field(default_factory=list)
    withdrawn: set[str] = field(default_factory=set)
    restated: dict[str, str] = field(default_factory=dict)
    """Arguments streamed for calls that the input holds: more of them may come, the same ones are said again."""

    def judge(self, event: Json) -> Iterator[Breach]:
        """Finds what an event breaks about calls."""
        match event["type"]:
            case "RUN_STARTED":
                self.pending, self.withdrawn, self.restated = [], set(), {}
            case "TOOL_CALL_START":
                self._starts(word(event, "toolCallId"))
            case "TOOL_CALL_ARGS" if word(event, "toolCallId") in self.restated:
                self.restated[word(event, "toolCallId")] += word(event, "delta")
            case "TOOL_CALL_END":
                yield from self._ends(word(event, "toolCallId"))
            case "TOOL_CALL_RESULT":
                yield from self._answers(event)
            case "MESSAGES_SNAPSHOT":
                yield from self._restated(listed(event.get("messages")))
            case "RUN_FINISHED":
                yield from self._finishes(event)
            case _:
                pass

    def _starts(self, call_id: str) -> None:
        if call_id in self.page.held_calls:
            self.restated[call_id] = ""
        if call_id not in self.pending:
            self.pending.append(call_id)

    def _ends(self, call_id: str) -> Iterator[Breach]:
        """Checks that a closed call that is opened again doesn't repeat its arguments."""
        again = self.restated.pop(call_id, "")
        if again and _same(again, self.page.held_calls[call_id]):
            yield Breach("LIFE-8", f"the call `{call_id}` is streamed again, although the input already contains it")

    def _answers(self, event: Json) -> Iterator[Breach]:
        call_id, message_id = word(event, "toolCallId"), word(event, "messageId")
        if self.page.is_frontend(call_id):
            yield Breach("TOOL-4", f"a result for `{call_id}`, a call of the frontend tool the input advertises")
        if call_id in self.page.held_results:
            yield Breach("LIFE-8", f"the result of `{call_id}` is sent again, although the input already contains it")
        elif call_id in self.page.results:
            yield Breach("TOOL-2", f"a second result for `{call_id}`", "note")
        elif call_id not in self.page.calls:
            yield Breach("TOOL-2", f"a result for `{call_id}`, a call that this client has never seen", "note")
        elif message_id in self.page.roles:
            yield Breach("EVT-4", f"the result's messageId `{message_id}` already names another message")
        if call_id in self.pending:
            self.pending.remove(call_id)

    def _restated(self, messages: list[Json]) -> Iterator[Breach]:
        """Checks that a snapshot has no results of frontend calls that nobody sent; it may take calls back."""
        kept = {word(call, "id") for message in messages for call in listed(message.get("toolCalls"))}
        answered = {word(message, "toolCallId") for message in messages if word(message, "role") == "tool"}
        self.withdrawn |= {i for i in self.pending if i not in kept or i in answered}
        for call_id in sorted(answered - self.page.results.keys()):
            if self.page.is_frontend(call_id):
                yield Breach("TOOL-4", f"the snapshot has a result for `{call_id}`, a frontend call without an answer")

    def _finishes(self, event: Json) -> Iterator[Breach]:
        outcome = event.get("outcome", {"type": "success"})
        kind = outcome.get("type") if isinstance(outcome, dict) else None
        left = [i for i in self.pending if i not in self.withdrawn]
        if kind == "interrupt":
            for interrupt in listed(outcome.get("interrupts")):
                if self.page.is_frontend(word(interrupt, "toolCallId")):
                    yield Breach("TOOL-5", f"an interrupt about `{interrupt['toolCallId']}`, a frontend tool's call")
        elif kind == "success":
            for call_id in left:
                if not self.page.is_frontend(call_id):
                    name = self.page.calls[call_id].name
                    said = f"`{call_id}` is left without a result, and the input advertises no tool `{name}`"
                    yield Breach("TOOL-5", said, "SHOULD")
            yield from self._list(outcome, left)

    def _list(self, outcome: Json, left: list[str]) -> Iterator[Breach]:
        told = outcome.get("pendingToolCallIds")
        if not told:
            if left:
                yield Breach("TOOL-6", "calls are left without a result, and no `pendingToolCallIds` names them")
        elif told not in (left, self.pending):
            yield Breach("TOOL-6", f"`pendingToolCallIds` is {told}, the calls without a result are {left}", "MUST")


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same arguments, however they are spaced."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return one == other


# The chunk form of messages, calls and reasoning: what it stands for, and where it is mixed with the other form.


@dataclass(frozen=True, slots=True)
class Form:
    """What a chunk of one kind is made of."""

    prefix: str
    body: str
    id: str
    needed: tuple[str, ...]
    told: tuple[str, ...]


FORMS = {
    "TEXT_MESSAGE_CHUNK": Form("TEXT_MESSAGE", "CONTENT", "messageId", ("messageId",), ("role", "name")),
    "TOOL_CALL_CHUNK": Form(
        "TOOL_CALL", "ARGS", "toolCallId", ("toolCallId", "toolCallName"), ("toolCallName", "parentMessageId")
    ),
    "REASONING_MESSAGE_CHUNK": Form("REASONING_MESSAGE", "CONTENT", "messageId", ("messageId",), ()),
}
LONG = {f"{form.prefix}_{end}": form for form in FORMS.values() for end in ("START", form.body, "END")}


ENDS_ALL = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT")
ENDS_LANE = (
    "TEXT_MESSAGE_",
    "TOOL_CALL_",
    "STEP_",
    "STATE_",
    "CUSTOM",
    "REASONING_",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
)
STANDS_ASIDE = "REASONING_ENCRYPTED_VALUE"
"""What ends an item in chunk form: an event of the run, or one of these kinds of the same owner, but the last."""


@dataclass(slots=True)
class Chunks:
    """What is open in chunk form: one item an owner ("" is the agent itself), by the chunk that opened it."""

    open: dict[str, Json] = field(default_factory=dict)

    def judge(self, event: Json) -> Iterator[Breach]:
        """Finds where the chunk form is broken."""
        kind = event["type"]
        if kind in FORMS:
            yield from self._chunk(event, FORMS[kind])
        elif kind in LONG:
            form = LONG[kind]
            ids = [word(opener, form.id) for opener in self.open.values() if FORMS[opener["type"]] is form]
            if word(event, form.id) in ids:
                yield Breach("STR-2", f"{kind} for `{word(event, form.id)}`, which began in chunk form")

    def _chunk(self, event: Json, form: Form) -> Iterator[Breach]:
        opener = self._continued(event, form)
        if opener is None:
            missing = [name for name in form.needed if not word(event, name)]
            if missing:
                yield Breach("STR-2", f"the first {event['type']} of an item has no `{missing[0]}`")
            return
        for name in form.told:
            if name in event and event[name] != opener.get(name, "assistant" if name == "role" else None):
                yield Breach("STR-2", f"{event['type']} repeats `{name}` with a different value than the first chunk")

    def _continued(self, event: Json, form: Form) -> Json | None:
        """Returns the chunk that opened what this one continues; None where it opens an item."""
        opener = self.open.get(self._lane(event, form))
        goes_on = opener is not None and FORMS[opener["type"]] is form
        return opener if goes_on and word(event, form.id) in ("", word(opener or {}, form.id)) else None

    def _lane(self, event: Json, form: Form) -> str:
        """Returns whose chunk it is. Without an owner: by its id, else the agent's own, else the only open one."""
        owner, own_id = word(event, "subagentRunId"), word(event, form.id)
        lanes = {lane: word(one, form.id) for lane, one in self.open.items() if FORMS[one["type"]] is form}
        if owner or ("" in lanes and not own_id):
            return owner
        named = [lane for lane, item in lanes.items() if own_id in ("", item)]
        return named[0] if len(named) == 1 else ""

    def unfolded(self, event: Json) -> Iterator[Json]:
        """Yields the event in the long form, after the ends of what it ends in chunk form."""
        kind = str(event.get("type"))
        if kind in FORMS:
            yield from self._long(event, FORMS[kind])
            return
        if kind in ENDS_ALL:
            for lane in list(self.open):
                yield self._end(lane)
        elif kind.startswith(ENDS_LANE) and kind != STANDS_ASIDE and word(event, "subagentRunId") in self.open:
            yield self._end(word(event, "subagentRunId"))
        yield event

    def _long(self, event: Json, form: Form) -> Iterator[Json]:
        lane, opener = self._lane(event, form), self._continued(event, form)
        owner = {"subagentRunId": lane} if lane else {}
        if opener is None:
            if lane in self.open:
                yield self._end(lane)
            if not word(event, form.id):
                return  # nothing says what it is a part of
            opener = self.open[lane] = event
            told = {name: event[name] for name in (form.id, *form.told) if name in event}
            yield {"type": f"{form.prefix}_START", **told, **owner}
        if "delta" in event:
            yield {
                "type": f"{form.prefix}_{form.body}",
                form.id: word(opener, form.id),
                "delta": event["delta"],
                **owner,
            }

    def _end(self, lane: str) -> Json:
        opener = self.open.pop(lane)
        form = FORMS[opener["type"]]
        return {"type": f"{form.prefix}_END", form.id: word(opener, form.id)}
