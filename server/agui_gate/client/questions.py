"""Questions that an agent asks people, and their answers: interrupts, confirm cards, LangGraph's older custom event.

Whatever the way, a question is one `Question`, and an answer one `Answer`. A question whose answer has a boolean
``approved`` (or ``accepted``) is an approval. Anything else is answered with whatever its schema says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from agui_gate.client.events import Custom, Json
from agui_gate.core.json_text import parse, parse_object
from agui_gate.core.transcript import CARD_TOOL

LEGACY = "on_interrupt"
"""The custom event by which older servers ask."""
PREFIX = "agui-gate"
CONFIRMATION = "adk_request_confirmation"
"""The tool by whose call ADK asks, where it isn't told to ask by interrupts."""
WORDS = ("approved", "accepted", "confirmed")
REASONS = ("reason", "note")
SHOWN = "effective_arguments"
"""The member of a yes that says to which arguments it is."""

Way = Literal["interrupt", "card", "legacy", "call"]
"""``call``: a call that waits for its result, which is the answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to a question. ``payload`` is what its schema wants; ``cancelled``: nothing is decided."""

    question: "Question"
    payload: Any = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Something that waits for a person.

    ``id`` is the interrupt's, or the card's call id. ``tool`` and ``arguments`` say what is asked about, where that is
    known. ``editable`` are the arguments that may be changed; ``agent`` is who asks, where it is not the agent itself.
    ``approval``: it is answered by yes or no. ``schema`` is that of the answer, as it came. ``waits_for``: who has to
    approve it, in words, where its gate names somebody. ``is_shared``: several people decide it at an agui-gate server,
    and somebody may edit the arguments meanwhile, so a yes says to which it is.
    """

    id: str
    way: Way
    message: str
    reason: str = ""
    tool: str = ""
    call_id: str = ""
    arguments: Json = field(default_factory=dict)
    editable: tuple[str, ...] = ()
    agent: str = ""
    schema: Json | None = None
    approval: bool = True
    expires_at: str = ""
    waits_for: str = ""
    is_shared: bool = False

    def approve(self, edited: Json | None = None) -> Answer:
        """Yes, to the arguments that are shown. ``edited`` are all arguments that shall run instead. Raises ValueError
        where they can't be edited.
        """
        if edited is not None and not self.editable:
            raise ValueError("the arguments of this can't be edited")
        name = "edited_arguments" if self.way == "card" else "editedArgs"
        shown = {SHOWN: self.arguments} if self.is_shared else {}
        return Answer(self, {self._word: True} | shown | ({} if edited is None else {name: edited}))

    def reject(self, reason: str = "") -> Answer:
        """Answers no. The reason goes along where there is a place for it."""
        properties = _dict((self.schema or {}).get("properties", {"reason": {}}))
        name = next((name for name in REASONS if name in properties), "")
        told = {name: reason} if reason and name else {}
        return Answer(self, {self._word: False} | told)

    def reply(self, payload: Any) -> Answer:
        """Answers with any other ``payload``."""
        return Answer(self, payload)

    def cancel(self) -> Answer:
        """Decides nothing: what becomes of it is the agent's business. A card has no such answer: it is a no."""
        return self.reject() if self.way == "card" else Answer(self, cancelled=True)

    @property
    def _word(self) -> str:
        properties = _dict((self.schema or {}).get("properties"))
        if self.way == "card":
            return "accepted"
        return next((word for word in WORDS if word in properties), "approved")


def of_interrupts(
    interrupts: Sequence[Json], call_of: Callable[[str], Json | None], subagents: dict[str, str]
) -> list[Question]:
    """Returns the questions of an interrupt outcome. ``call_of`` finds a call by its id."""
    return [_of_interrupt(one, call_of(str(one.get("toolCallId", ""))), subagents) for one in interrupts]


def _of_interrupt(interrupt: Json, call: Json | None, subagents: dict[str, str]) -> Question:
    metadata = _dict(interrupt.get("metadata"))
    told = metadata | _dict(metadata.get(PREFIX))
    schema = interrupt.get("responseSchema")
    schema = schema if isinstance(schema, dict) else None
    function = (call or {}).get("function", {})
    tool = function.get("name") or told.get("tool") or ""
    raw = _dict(_dict(metadata.get("langgraph")).get("raw"))
    arguments = told.get("arguments") if isinstance(told.get("arguments"), dict) else None
    if arguments is None:
        arguments = parse_object(function.get("arguments", "")) or raw
    return Question(
        id=interrupt["id"],
        way="interrupt",
        message=_text(interrupt.get("message"))
        or (f"Run {tool}?" if tool else _words(raw) or "It asks for an answer."),
        reason=interrupt["reason"],
        tool=_text(tool),
        call_id=_text(interrupt.get("toolCallId")),
        arguments=arguments,
        editable=_editable(schema, told, arguments),
        agent=_text(told.get("agent")) or subagents.get(_text(interrupt.get("subagentRunId")), ""),
        schema=schema,
        approval=_is_approval(schema, interrupt["reason"]),
        expires_at=_text(interrupt.get("expiresAt") or told.get("expires_at")),
        waits_for=_waits_for(told),
        is_shared="needs" in told and "arguments" in told,
    )


def _is_approval(schema: Json | None, reason: str) -> bool:
    if schema is None:
        return reason in ("tool_call", "confirmation")
    properties = _dict(schema.get("properties"))
    return any(_dict(properties.get(word)).get("type") == "boolean" for word in ("approved", "accepted"))


def _editable(schema: Json | None, told: Json, arguments: Json) -> tuple[str, ...]:
    """Returns the arguments that may be edited: those that are named, or all where only the schema says that one
    may.
    """
    edited = _dict(_dict((schema or {}).get("properties")).get("editedArgs"))
    if not edited:
        return ()
    named = told.get("editable")
    if isinstance(named, list):
        return tuple(one for one in named if isinstance(one, str))
    return tuple(_dict(edited.get("properties")) or arguments)


def _waits_for(told: Json) -> str:
    """Returns whom a gate names: a role, or ids, and whom an escalation has added."""
    named = [told.get("approvers"), *_list(told.get("escalated"))] if told.get("approvers") else []
    return " or ".join(", ".join(map(_text, one)) if isinstance(one, list) else _text(one) for one in named)


def of_cards(pending: Sequence[str], call_of: Callable[[str], Json | None]) -> list[Question]:
    """Returns the questions of cards that wait: pending calls of the card's tool."""
    calls = [call for call in map(call_of, pending) if call is not None and call["function"]["name"] == CARD_TOOL]
    return [_of_card(call) for call in calls]


def _of_card(call: Json) -> Question:
    card = parse_object(call["function"]["arguments"]) or {}
    steps = [_text(_dict(step).get("description")) for step in _list(card.get("steps"))]
    tool = _text(card.get("function_name"))
    return Question(
        id=call["id"],
        way="card",
        message="; ".join(filter(None, steps)) or (f"Run {tool}?" if tool else "Confirm the changes?"),
        tool=tool,
        call_id=_text(card.get("function_call_id")),
        arguments=_dict(card.get("function_arguments")),
        editable=tuple(name for name in _list(card.get("editable")) if isinstance(name, str)),
        agent=_text(card.get("agent")),
        expires_at=_text(card.get("expires_at")),
        waits_for=_waits_for(card),
        is_shared="needs" in card,
    )


def of_confirmation(call: Json) -> Question | None:
    """Returns the question of ADK's own call for a confirmation; None where it is no such call."""
    asked = parse_object(call["function"]["arguments"]) or {}
    about, hint = _dict(asked.get("originalFunctionCall")), _dict(asked.get("toolConfirmation")).get("hint")
    if call["function"]["name"] != CONFIRMATION or not about:
        return None
    return _of_call(call, _text(about.get("name")), _dict(about.get("args")), _text(hint), "confirmed")


def of_paused(call: Json) -> Question:
    """Returns the question of a call that a server such as Agno's left without a result, for somebody to confirm it."""
    function = call["function"]
    return _of_call(call, function["name"], parse_object(function["arguments"]) or {}, "", "accepted", "note")


def _of_call(call: Json, tool: str, arguments: Json, message: str, word: str, reason: str = "") -> Question:
    properties: Json = {word: {"type": "boolean"}} | ({reason: {"type": "string"}} if reason else {})
    return Question(
        id=call["id"],
        way="call",
        message=message or f"Run {tool}?",
        tool=tool,
        call_id=call["id"],
        arguments=arguments,
        schema={"type": "object", "properties": properties, "required": [word]},
    )


def of_legacy(event: Custom) -> Question:
    """Returns the question of an `on_interrupt` event."""
    value = event.value
    if isinstance(value, str):
        try:
            value = parse(value)
        except ValueError:
            return Question(id=LEGACY, way="legacy", message=value, approval=False)
    asked = _dict(value)
    message = _words(asked) or msgspec.json.encode(value).decode()
    return Question(id=LEGACY, way="legacy", message=message, arguments=asked, approval=False)


def _words(asked: Json) -> str:
    """Returns what a graph asks, by the names that graphs give it."""
    return next((asked[name] for name in ("message", "question", "action") if isinstance(asked.get(name), str)), "")


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
