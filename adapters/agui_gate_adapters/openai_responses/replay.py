"""A transcript as input items, for a provider that has none of it.

Reasoning binds items by their ids. A reasoning item must be followed by the very item that it preceded, and an item
with an id wants its reasoning item (R4, R5). So a turn is replayed in one of two ways, never half (S19):

- *verbatim*: all of its items, in their order, with their ids and sealed reasoning, exactly as they came;
- *by value*: text and calls without ids, and no reasoning.

Calls that the provider ran itself could be replayed by id alone, and there is nothing it could look the id up in. So
they are told as text, and their turn goes by value. So do held calls, unless this is the request that answers them.

Verbatim is only for turns that this very adapter made, that have no gaps, and that nobody changed since. And it is only
where there is reasoning to keep, since ids are good for nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agui_gate.adapter import AssistantTurn, ReasoningPart, SettledCall, TextPart, Transcript, UserTurn, retold
from agui_gate_adapters.common.names import stable_id

from . import held_calls
from .content import result, user_message
from .wire import Body

MAX_CALL_ID = 64
"""Characters that a call id may have on input (R17)."""

_Part = TextPart | ReasoningPart | SettledCall
_Asked = Mapping[str, Sequence[Body]]
"""By call id: the items of held calls that are answered with this request."""


def replay(
    transcript: Transcript, *, origin: str, sealed: frozenset[str] = frozenset(), answers: bool = False
) -> list[Body]:
    """The whole transcript. ``sealed`` names the turns (by id) that may be verbatim if they can be.

    ``answers``: held calls get the answers that this request has for them.
    """
    items: list[Body] = []
    used: set[str] = set()
    for turn in transcript:
        if isinstance(turn, UserTurn):
            items.append(user_message(turn))
        else:
            ours = turn.origin == origin
            asked = held_calls.requests(turn, transcript) if ours and answers else {}
            items += _assistant(turn, used, asked, ours=ours, sealed=turn.id in sealed)
    return items


def output(call_id: str, content: str | list[Body]) -> Body:
    """A call's output. It pairs by ``call_id`` alone; an item id must never be in it."""
    return {"type": "function_call_output", "call_id": call_id, "output": content}


def _assistant(turn: AssistantTurn, used: set[str], asked: _Asked, *, ours: bool, sealed: bool) -> list[Body]:
    calls = turn.local_calls
    call_ids = [_call_id(call, f"{turn.id}\0{position}", used) for position, call in enumerate(calls)]
    if sealed and ours and is_whole(turn) and call_ids == [call.part.wire_id for call in calls]:
        items = [_verbatim(part) for part in turn.parts]
    else:
        items = _by_value(turn.parts, call_ids, asked, ours=ours)
    items += [output(call_id, result(call.output)) for call_id, call in zip(call_ids, calls, strict=True)]
    return items + (held_calls.responses(turn) if asked else [])


def _call_id(call: SettledCall, place: str, used: set[str]) -> str:
    """The provider's own id, or a new one where it is missing, too long, or was there before (S24)."""
    call_id = call.part.wire_id
    if not call_id or len(call_id) > MAX_CALL_ID or call_id in used:
        call_id = stable_id("call_", place, call.part.id)
    used.add(call_id)
    return call_id


def is_whole(turn: AssistantTurn) -> bool:
    """Whether the turn has reasoning and is complete as it came: no item without its id, none missing, none changed."""
    if not any(isinstance(part, ReasoningPart) for part in turn.parts) or isinstance(turn.parts[-1], ReasoningPart):
        return False
    return all(_is_intact(part, position) for position, part in enumerate(turn.parts))


def _is_intact(part: _Part, position: int) -> bool:
    private = _private(part)
    if not private.get("id") or private.get("index") != position:
        return False
    match part:
        case SettledCall():
            return part.part.local and not part.edited
        case ReasoningPart():
            return bool(part.encrypted)
        case TextPart():
            return bool(part.text)


def _private(part: _Part) -> dict[str, Any]:
    return (part.part.private if isinstance(part, SettledCall) else part.private) or {}


def _verbatim(part: _Part) -> Body:
    private = _private(part)
    match part:
        case SettledCall():
            call = part.part
            return {"id": private["id"], **_function_call(call.wire_id, call.name, call.arguments)}
        case ReasoningPart():
            return {
                "type": "reasoning",
                "id": private["id"],
                "summary": _summary(part, private),
                "encrypted_content": part.encrypted,
            }
        case TextPart():
            return {
                "type": "message",
                "id": private["id"],
                "role": "assistant",
                "status": "completed",
                "content": [_content(part, private)],
                **_phase(private),
            }


def _content(part: TextPart, private: dict[str, Any]) -> Body:
    if private.get("refusal"):
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": part.text, "annotations": []}


def _summary(part: ReasoningPart, private: dict[str, Any]) -> list[Body]:
    """Always a list, empty when nothing was visible (S21, R14); raw reasoning is not a summary."""
    raw = private.get("raw", ())
    return [{"type": "summary_text", "text": text} for position, text in enumerate(part.summary) if position not in raw]


def _by_value(parts: Sequence[_Part], call_ids: list[str], asked: _Asked, *, ours: bool) -> list[Body]:
    items: list[Body] = []
    ids = iter(call_ids)
    for part in parts:
        if isinstance(part, SettledCall) and part.part.local:
            items.append(_function_call(next(ids), part.part.name, part.arguments))
        elif isinstance(part, SettledCall):
            items += asked.get(part.part.id) or [_message(retold(part))]
        elif isinstance(part, TextPart) and part.text:
            items.append(_message(part.text) | (_phase(part.private) if ours and part.private else {}))
    return items


def _message(text: str) -> Body:
    return {"type": "message", "role": "assistant", "content": text}


def _function_call(call_id: str, name: str, arguments: str) -> Body:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments or "{}"}


def _phase(private: dict[str, Any]) -> Body:
    """What kind of message it was (commentary, final answer): models that say it want it back."""
    phase = private.get("phase")
    return {"phase": phase} if isinstance(phase, str) else {}
