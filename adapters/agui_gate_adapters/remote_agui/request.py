"""Makes the input of a run at another AG-UI server from a transcript. Pure.

What the remote said comes back to it as it said it: with its own ids of messages and calls, which are kept in
``private``. So it finds again what it knows. What others said has the ids that it has here, which never change either.

A call that the remote holds is answered by an entry of `resume[]`. Until then it has no result in the history, as in
that of any client.

What other agents of the conversation said before the remote answered for the first time is history, and told as it was.
What they said later is told as messages of the user's, which say so: a server that keeps threads takes nothing else
from a history that it made itself (IN-2).
"""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from agui_gate.adapter import (
    ANSWER,
    AssistantTurn,
    Content,
    Media,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    TurnRequest,
    UserTurn,
)
from agui_gate.client.questions import SHOWN
from agui_gate_adapters.common.decisions import output_text, reason_of
from agui_gate_adapters.common.json_decoder import decode_any, inside

Json = dict[str, Any]
VERSION = "1.0"
MEANWHILE = "[Another agent of this conversation answered meanwhile. It said:]"
MAX_TOLD = 2_000
"""Characters of a call of another agent's, and of its result, that are told."""


def planned(request: TurnRequest, origin: str, run_id: str) -> Json:
    """Makes the input of the next run. ``origin``: whose private parts may be used."""
    messages: list[Json] = []
    resume: list[Json] = []
    forwarded: Json = {}
    answered = _answered_later(request, origin)
    knows = False
    for turn in request.transcript:
        if isinstance(turn, UserTurn):
            messages.append({"id": turn.id, "role": turn.role, "content": _content(turn.content)})
        elif turn.origin == origin:
            knows = True
            messages += _own(turn, answered)
            resume += _entries(turn)
            forwarded |= _command(turn)
        else:
            messages += _meanwhile(turn) if knows else _others(turn)
    body: Json = {
        "threadId": thread_id(request.conversation),
        "runId": run_id,
        "protocolVersion": VERSION,
        "messages": _placed(messages),
        "tools": [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in request.tools],
        "context": _context(request.instructions),
        "state": {} if request.state is None else request.state,
        "forwardedProps": forwarded,
    }
    return body | ({"resume": resume} if resume else {})


def thread_id(conversation: tuple[str, ...]) -> str:
    """Returns the remote's id of a thread: always the same, and unique. "" for none."""
    said = "".join(f"{len(part)}:{part}," for part in conversation)
    return f"agui-gate-{hashlib.sha256(said.encode()).hexdigest()[:40]}" if conversation else ""


def _context(instructions: str) -> list[Json]:
    return [{"description": "Instructions of the application", "value": instructions}] if instructions else []


def _answered_later(request: TurnRequest, origin: str) -> set[str]:
    """Returns ids of calls whose results the remote sent in a later turn than the calls."""
    turns = (turn for turn in request.transcript if isinstance(turn, AssistantTurn) and turn.origin == origin)
    return {call.part.wire_id for turn in turns for call in turn.calls if (call.part.private or {}).get("again")}


def _own(turn: AssistantTurn, answered: set[str]) -> Iterator[Json]:
    """Returns the remote's own messages as it sent them. Results follow their calls (`_placed`)."""
    assistants: dict[str, Json] = {}
    results: list[Json] = []
    resumes = any(call.consent is not None for call in turn.calls)
    for part in turn.parts:
        kept = part.part.private or {} if isinstance(part, SettledCall) else part.private or {}
        match part:
            case ReasoningPart():
                if part.encrypted:
                    thought = {
                        "id": kept.get("id") or part.id,
                        "role": "reasoning",
                        "content": "\n\n".join(part.summary),
                    }
                    yield thought | {"encryptedValue": part.encrypted}
            case TextPart():
                message = _message(assistants, kept.get("id") or part.id)
                message["content"] = message.get("content", "") + part.text
            case SettledCall():
                if not kept.get("again"):
                    message = _message(assistants, kept.get("message") or f"{turn.id}-calls")
                    message.setdefault("toolCalls", []).append(_call(part, kept))
                if (told := _result(part, kept, answered, resumes=resumes)) is not None:
                    results.append(told)
    yield from assistants.values()
    yield from results


def _message(assistants: dict[str, Json], message_id: str) -> Json:
    return assistants.setdefault(message_id, {"id": message_id, "role": "assistant"})


def _call(call: SettledCall, kept: Json) -> Json:
    arguments = kept.get("arguments") or call.part.arguments or "{}"
    function = {"name": kept.get("name") or call.part.name, "arguments": arguments}
    return {"id": call.part.wire_id, "type": "function", "function": function}


def _result(call: SettledCall, kept: Json, answered: set[str], *, resumes: bool) -> Json | None:
    """Makes the tool message about a call; None while the remote holds it, and where the result came later."""
    wire_id = call.part.wire_id
    content, message_id = call.output.content, kept.get("result") or f"{wire_id}-result"
    if wire_id in answered and not kept.get("again"):
        return None
    if call.part.is_held and call.consent is not None and kept.get("way") in ("card", "call"):
        content = _card_answer(call, kept)
    elif call.part.is_held and (call.consent is not None or "message" not in kept):
        return None
    if kept.get("open") and resumes:
        return None
    if call.part.local:
        content = output_text(call)
    told = {"id": message_id, "role": "tool", "toolCallId": wire_id, "content": content}
    return told | ({"error": content} if call.output.is_error and call.part.local else {})


def _answers(turn: AssistantTurn, way: str) -> Iterator[tuple[Json, Any]]:
    """Returns the answers to what the remote asked in this turn: what was kept of each, and the payload.

    None stands for an answer that leaves the question undecided.
    """
    for call in turn.calls:
        kept = call.part.private or {}
        if call.part.is_held and call.consent is not None and "ask" in kept and kept.get("way", "interrupt") == way:
            yield kept, _payload(call, kept)


def _payload(call: SettledCall, kept: Json) -> Any:
    word = kept.get("word", "approved")
    if not call.consent:
        named = kept.get("reasons", "reason")
        reason = {"reason" if named is True else named: reason_of(call.output.content)} if named else {}
        return {word: False} | reason if kept.get("no", True) else None
    arguments = decode_any(call.arguments)
    if "wants" in kept:
        answer = inside(arguments, ANSWER)
        return {word: True} if answer is None else answer
    edited = "edited_arguments" if kept.get("way") == "card" else "editedArgs"
    shown = {SHOWN: decode_any(call.part.arguments)} if kept.get("shared") else {}
    return {word: True} | shown | ({edited: arguments} if call.edited else {})


def _entries(turn: AssistantTurn) -> Iterator[Json]:
    """Answers to interrupts."""
    for kept, payload in _answers(turn, "interrupt"):
        if payload is None:
            yield {"interruptId": kept["ask"], "status": "cancelled"}
        else:
            yield {"interruptId": kept["ask"], "status": "resolved", "payload": payload}


def _command(turn: AssistantTurn) -> Json:
    """Makes the answer to a question that was asked by a custom event."""
    for _, payload in _answers(turn, "legacy"):
        said = payload if isinstance(payload, str) else msgspec.json.encode(payload).decode()
        return {"command": {"resume": said}}
    return {}


def _card_answer(call: SettledCall, kept: Json) -> str:
    """Makes the answer to a card, or to a call that waits for one, as the call's result."""
    steps = inside(decode_any(kept.get("arguments", "{}")), "steps")
    chosen = {"steps": steps if call.consent else []} if isinstance(steps, list) and kept["way"] == "card" else {}
    return msgspec.json.encode(_payload(call, kept) | chosen).decode()


def _others(turn: AssistantTurn) -> Iterator[Json]:
    """Returns the messages of another agent's turn: one message, and its results."""
    text = "\n\n".join(part.text for part in turn.parts if isinstance(part, TextPart) and part.text)
    message: Json = {"id": turn.id, "role": "assistant"} | ({"content": text} if text else {})
    if turn.calls:
        message["toolCalls"] = [_call(call, {}) | {"id": f"{turn.id}-{n}"} for n, call in enumerate(turn.calls)]
    if text or turn.calls:
        yield message
    for n, call in enumerate(turn.calls):
        call_id = f"{turn.id}-{n}"
        yield {"id": f"{call_id}-result", "role": "tool", "toolCallId": call_id, "content": call.output.content}


def _meanwhile(turn: AssistantTurn) -> Iterator[Json]:
    """Returns what others said after the remote had answered."""
    told = [_line(part) for part in turn.parts if not isinstance(part, ReasoningPart)]
    if said := [line for line in told if line]:
        yield {"id": turn.id, "role": "user", "content": "\n\n".join([MEANWHILE, *said])}


def _line(part: TextPart | SettledCall) -> str:
    if isinstance(part, TextPart):
        return part.text
    return f"[{part.part.name} {_cut(part.arguments)}: {_cut(part.output.content)}]"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}…"


def _placed(messages: list[Json]) -> list[Json]:
    """Places each result after the message of its call: of several calls of one id, the last one before it."""
    owner: dict[str, int] = {}
    results: dict[int, list[Json]] = {}
    for place, message in enumerate(messages):
        owner |= {call["id"]: place for call in message.get("toolCalls", ())}
        if message["role"] == "tool":
            results.setdefault(owner.get(message["toolCallId"], -1), []).append(message)
    placed: list[Json] = []
    for place, message in enumerate(messages):
        if message["role"] != "tool":
            placed += [message, *results.get(place, ())]
    return placed


def _content(content: tuple[Content, ...]) -> str | list[Json]:
    if all(isinstance(part, Text) for part in content):
        return "\n\n".join(part.text for part in content if isinstance(part, Text))
    return [_part(part) for part in content]


def _part(part: Content) -> Json:
    if isinstance(part, Media):
        source: Json = {"type": part.source, "value": part.value}
        source |= {"mimeType": part.mime_type} if part.mime_type else {}
        source |= {"provider": part.provider} if part.source == "file" and part.provider else {}
        return {"type": part.kind, "source": source}
    return {"type": "text", "text": part.text}
