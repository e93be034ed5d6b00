"""Driving the emulator's Chat Completions API in tests, without HTTP where only the rules matter."""

from typing import Any

import msgspec

from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.chat.answer import ChatAnswer
from agui_gate_adapters.testkit.delivery import deliver
from agui_gate_adapters.testkit.faults import Reply

MODEL = "gpt-5.4-mini"
SCHEMA = {"type": "object", "properties": {}}
TOOL = {"type": "function", "function": {"name": "refund", "parameters": SCHEMA}}
HELLO: dict[str, Any] = {"role": "user", "content": "hello"}


def said(*ids: str, **members: Any) -> dict[str, Any]:
    """An assistant message with these calls."""
    calls = [{"id": i, "type": "function", "function": {"name": "refund", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **members}


def result(call_id: str, text: str | None = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def post(emulator: Emulator, *messages: Any, **body: Any) -> ChatAnswer | Reply:
    given = {"model": MODEL, "messages": list(messages) or [HELLO], **body}
    return emulator.chat.create(msgspec.json.encode(given))


def reply(emulator: Emulator, *messages: Any, **body: Any) -> dict[str, Any]:
    """The whole reply to an accepted request."""
    answer = post(emulator, *messages, **body)
    assert isinstance(answer, ChatAnswer), answer
    return answer.whole()


def refusal(emulator: Emulator, *messages: Any, **body: Any) -> tuple[int, dict[str, Any]]:
    """Status and body of a refused request."""
    answer = post(emulator, *messages, **body)
    assert isinstance(answer, Reply), "accepted"
    assert emulator.refusals[-1].status == answer.status
    return answer.status, msgspec.json.decode(answer.body)


def streamed(emulator: Emulator, *messages: Any, **body: Any) -> bytes:
    """The body of a streamed answer; for answers without pauses or cuts."""
    answer = post(emulator, *messages, stream=True, **body)
    assert isinstance(answer, ChatAnswer), answer
    steps = deliver(answer, emulator.chunking(answer), 0.0, emulator.rng)
    return b"".join(step for step in steps if isinstance(step, bytes))


def payloads(raw: bytes) -> list[Any]:
    """The events of a body; `[DONE]` stays a text."""
    blocks = raw.decode().removesuffix("\n\n").split("\n\n")
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    told = [block.removeprefix("data: ") for block in blocks]
    return [text if text == "[DONE]" else msgspec.json.decode(text) for text in told]


def deltas(events: list[Any]) -> list[dict[str, Any]]:
    return [event["choices"][0]["delta"] for event in events if event != "[DONE]" and event["choices"]]


def call_deltas(events: list[Any]) -> list[dict[str, Any]]:
    return [call for delta in deltas(events) for call in delta.get("tool_calls", ())]
