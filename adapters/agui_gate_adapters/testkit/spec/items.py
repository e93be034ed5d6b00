"""What a run opens and has to close: messages, calls, reasoning, steps."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.finding import Breach, Json, word
from agui_gate_adapters.testkit.spec.page import Page

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
        """What an event does to what is open."""
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
        """An id of a message names one message of the thread."""
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
        """A call has the owner of its message."""
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
