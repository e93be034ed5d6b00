"""The providers' pairing rules, written down a second time: independent of the sanitizer and of every adapter.

Each renderer turns a transcript into a provider's input as plainly as possible, the way any adapter would; each checker
walks such an input as the provider does and returns what it would refuse (empty: accepted). Rule numbers are the
providers' error texts they stand for:

* Responses: R1 "No tool output found for function call", R2 "No tool call found for function call output",
  R3 "Duplicate item found with id", R4 "reasoning … without its required following item", R5 "function_call … without
  its required 'reasoning' item", R9 "Item with id … not found"; two outputs for one call are refused too.
* Chat: C1 "must be followed by tool messages", C2 "must be a response to a preceeding message", C3 "Duplicate value for
  'tool_call_id'", C4 content null, C5 empty array.
* Anthropic: A1 tool_use without tool_result, A2 unexpected tool_use_id, A3 ids must be unique, A4 multiple results,
  A5 results must begin the message, A6 id pattern, A11 blank text, A12 empty content.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agui_gate.core.transcript import (
    AssistantTurn,
    CallPart,
    Entry,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    Transcript,
    TurnEntry,
    UserTurn,
)

Item = dict[str, Any]


def violations(transcript: Transcript, entries: Iterable[Entry] = ()) -> list[str]:
    """Everything any provider would refuse about ``transcript``; ``entries`` tell what the provider issued."""
    return [
        *check_responses(responses_items(transcript), remembered(entries)),
        *check_chat(chat_messages(transcript)),
        *check_anthropic(anthropic_messages(transcript)),
        *check_arguments(transcript),
    ]


def check_arguments(transcript: Transcript) -> Iterator[str]:
    for call in _calls(transcript):
        for text in (call.arguments, call.part.arguments):
            try:
                value = json.loads(text)
            except ValueError:
                value = None
            if not isinstance(value, dict):
                yield f"arguments of {call.part.id!r} are not a JSON object: {text!r}"


# --- OpenAI Responses, stateless ------------------------------------------------------------------------------------


class Memory(NamedTuple):
    """What a provider remembers: the items it issued, and for each reasoning item the one that followed it."""

    items: frozenset[str]
    partners: Mapping[str, str]


def remembered(entries: Iterable[Entry]) -> Memory:
    """Everything in turns that ended by themselves; streams that were cut leave nothing behind."""
    items: set[str] = set()
    partners: dict[str, str] = {}
    for entry in entries:
        if not isinstance(entry, TurnEntry) or entry.cut or not entry.origin:
            continue
        reasoning: list[str] = []
        for part in entry.parts:
            items.add(_item_id(part))
            if isinstance(part, ReasoningPart):
                reasoning.append(_item_id(part))
            else:
                partners |= dict.fromkeys(reasoning, _item_id(part))
                reasoning = []
    return Memory(frozenset(items), partners)


def _item_id(part: TextPart | ReasoningPart | CallPart) -> str:
    return f"{'rs' if isinstance(part, ReasoningPart) else 'it'}_{part.id}"


def responses_items(transcript: Transcript) -> list[Item]:
    """Messages by value; items of a provider's own turns with their ids, reasoning only there."""
    items: list[Item] = []
    ids = _fresh_ids()
    for turn in transcript:
        if isinstance(turn, UserTurn):
            items.append({"type": "message", "role": turn.role, "content": _text(turn)})
            continue
        outputs: list[Item] = []
        for part in turn.parts:
            issued = part.part if isinstance(part, SettledCall) else part
            own = {"id": _item_id(issued)} if turn.origin else {}
            if isinstance(part, ReasoningPart):
                items += [own | {"type": "reasoning", "summary": list(part.summary)}] if own else []
            elif isinstance(part, TextPart):
                items.append(own | {"type": "message", "role": "assistant", "content": part.text})
            else:
                call_id = next(ids)
                items.append(own | {"type": "function_call", "call_id": call_id})
                outputs.append({"type": "function_call_output", "call_id": call_id, "output": part.output.content})
        items += outputs
    return items


def check_responses(items: Sequence[Item], memory: Memory) -> Iterator[str]:
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    seen: list[str] = []
    answered: list[str] = []
    for item in items:
        if item["type"] == "function_call":
            seen.append(item["call_id"])
        elif item["type"] == "function_call_output":
            answered.append(item["call_id"])
            if item["call_id"] not in seen:
                yield f"R2 {item['call_id']}"
    yield from (f"R1 {call_id}" for call_id in calls if call_id not in answered)
    yield from (f"two outputs for {call_id}" for call_id in _repeated(answered))
    yield from (f"two calls {call_id}" for call_id in _repeated(calls))
    yield from (f"R3 {item_id}" for item_id in _repeated([item["id"] for item in items if "id" in item]))
    yield from (f"R9 {item['id']}" for item in items if "id" in item and item["id"] not in memory.items)
    yield from _check_reasoning(items, memory.partners)


def _check_reasoning(items: Sequence[Item], partners: Mapping[str, str]) -> Iterator[str]:
    for i, item in enumerate(items):
        if item["type"] == "reasoning":
            after = next((later for later in items[i + 1 :] if later["type"] != "reasoning"), {})
            if item["id"] not in partners or after.get("id") != partners[item["id"]]:
                yield f"R4 {item['id']}"
    sent = {item["id"] for item in items if "id" in item}
    for reasoning, follower in partners.items():
        if follower in sent and reasoning not in sent:
            yield f"R5 {follower} without {reasoning}"


# --- Chat Completions -----------------------------------------------------------------------------------------------


def chat_messages(transcript: Transcript) -> list[Item]:
    """Ids are the provider's own, which may repeat from turn to turn; only within a turn they are made distinct."""
    messages: list[Item] = []
    for turn in transcript:
        if isinstance(turn, UserTurn):
            messages.append({"role": turn.role, "content": _text(turn)})
            continue
        ids = _distinct([call.part.wire_id for call in turn.calls])
        message: Item = {"role": "assistant", "content": _said(turn) or None}
        if ids:
            message["tool_calls"] = [{"id": call_id} for call_id in ids]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call_id, "content": call.output.content}
            for call_id, call in zip(ids, turn.calls, strict=True)
        ]
    return messages


def check_chat(messages: Sequence[Item]) -> Iterator[str]:
    run: set[str] | None = None
    left: set[str] = set()
    for message in [*messages, {"role": "end", "content": ""}]:
        if message["role"] == "tool":
            if run is None or message["tool_call_id"] not in run:
                yield f"C2 {message['tool_call_id']}"
            elif message["tool_call_id"] not in left:
                yield f"C3 {message['tool_call_id']}"
            left.discard(message["tool_call_id"])
            continue
        yield from (f"C1 {call_id}" for call_id in left)
        ids = [call["id"] for call in message.get("tool_calls", ())]
        yield from (f"repeated in one turn: {call_id}" for call_id in _repeated(ids))
        if message.get("tool_calls") == []:
            yield "C5"
        if message["content"] is None and not ids:
            yield "C4"
        run, left = (set(ids), set(ids)) if ids else (None, set())


# --- Anthropic Messages ---------------------------------------------------------------------------------------------


def anthropic_messages(transcript: Transcript) -> list[Item]:
    """Ids are minted anew, as they must be unique in the whole request; same-role neighbours are merged."""
    messages: list[Item] = []
    ids = _fresh_ids()
    for turn in transcript:
        if isinstance(turn, UserTurn):
            _say(messages, "user", [{"type": "text", "text": _text(turn)}])
            continue
        blocks: list[Item] = []
        results: list[Item] = []
        for part in turn.parts:
            if isinstance(part, TextPart) and part.text.strip():
                blocks.append({"type": "text", "text": part.text})
            elif isinstance(part, SettledCall):
                call_id = next(ids)
                blocks.append({"type": "tool_use", "id": call_id})
                results.append({"type": "tool_result", "tool_use_id": call_id, "content": part.output.content})
        _say(messages, "assistant", blocks)
        if results:
            _say(messages, "user", results)
    return messages


def check_anthropic(messages: Sequence[Item]) -> Iterator[str]:
    uses = [block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"]
    yield from (f"A3 {use}" for use in _repeated(uses))
    yield from (f"A6 {use}" for use in uses if not re.fullmatch(r"[a-zA-Z0-9_-]+", use))
    yield from ("A12" for message in messages if not message["content"])
    before: list[str] = []
    for message in [*messages, {"role": "user", "content": []}]:
        blocks = message["content"]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        yield from (f"A1 {use}" for use in before if use not in results)
        yield from (f"A2 {use}" for use in results if use not in before)
        yield from (f"A4 {use}" for use in _repeated(results))
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            yield "A5"
        yield from ("A11" for block in blocks if block["type"] == "text" and not block["text"].strip())
        before = [block["id"] for block in blocks if block["type"] == "tool_use"]


def _say(messages: list[Item], role: str, blocks: list[Item]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": role, "content": list(blocks)})


# --- common ---------------------------------------------------------------------------------------------------------


def _calls(transcript: Transcript) -> Iterator[SettledCall]:
    for turn in transcript:
        if isinstance(turn, AssistantTurn):
            yield from turn.calls


def _text(turn: UserTurn) -> str:
    return "\n".join(part.text if isinstance(part, Text) else f"[{part.kind}]" for part in turn.content)


def _said(turn: AssistantTurn) -> str:
    return "".join(part.text for part in turn.parts if isinstance(part, TextPart))


def _repeated(ids: Sequence[str]) -> list[str]:
    return sorted({one for one in ids if ids.count(one) > 1})


def _distinct(ids: Sequence[str]) -> list[str]:
    return [one if one and ids.index(one) == i else f"{one}~{i}" for i, one in enumerate(ids)]


def _fresh_ids() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"call_{number}"
