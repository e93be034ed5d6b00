"""Driving the emulated Messages API in tests: without HTTP where only the rules matter, over a socket for the wire."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anthropic import AsyncAnthropic

from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.anthropic.answer import Answer
from agui_gate_adapters.testkit.faults import Reply

Json = dict[str, Any]

MODEL = "claude-sonnet-5"
HEADERS = {"x-api-key": "test-key", "anthropic-version": "2026-10-21"}
TOOL: Json = {"name": "refund", "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}}}
THINK: Json = {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2048}


def say(text: str, **turn: Any) -> Json:
    return {"output": [{"type": "message", "text": text}], **turn}


def call(call_id: str | None = None, name: str = "refund", **arguments: Any) -> Json:
    """A script's item."""
    spec = {"type": "function_call", "name": name, "arguments": arguments}
    return spec if call_id is None else {**spec, "call_id": call_id}


def user(*content: Any) -> Json:
    return {"role": "user", "content": _content(content)}


def assistant(*content: Any) -> Json:
    return {"role": "assistant", "content": _content(content)}


def _content(content: tuple[Any, ...]) -> Any:
    """A single string stays one; otherwise strings become text blocks."""
    if len(content) == 1 and isinstance(content[0], str):
        return content[0]
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]


def use(call_id: str, name: str = "refund", **arguments: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "ok", **members: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **members}


def post(emulator: Emulator, *messages: Json, headers: Json | None = None, **body: Any) -> Answer | Reply:
    given = {"model": MODEL, "max_tokens": 256, "messages": list(messages), **body}
    return emulator.messages.create(msgspec.json.encode(given), {**HEADERS, **(headers or {})})


def reply(emulator: Emulator, *messages: Json, **body: Any) -> Json:
    """The message that answers an accepted request."""
    answer = post(emulator, *messages, **body)
    assert isinstance(answer, Answer), answer
    return answer.whole()


def events(emulator: Emulator, *messages: Json, **body: Any) -> list[Json]:
    """The events that answer an accepted request."""
    answer = post(emulator, *messages, stream=True, **body)
    assert isinstance(answer, Answer), answer
    return [msgspec.json.decode(frame.data.split(b"data: ")[1]) for frame in answer.frames()]


def refusal(emulator: Emulator, *messages: Json, **body: Any) -> str:
    """The message of a request that was refused with 400."""
    answer = post(emulator, *messages, **body)
    assert isinstance(answer, Reply), "accepted"
    told = msgspec.json.decode(answer.body)
    assert (answer.status, told["type"], told["error"]["type"]) == (400, "error", "invalid_request_error"), told
    assert told["request_id"] == dict(answer.headers)["request-id"]
    return str(told["error"]["message"])


def any_answer(**switches: Any) -> Emulator:
    """An emulator that always says hi."""
    return Emulator([{**say("hi"), "repeat": True}], **switches)


@asynccontextmanager
async def sdk(emulator: Emulator) -> AsyncIterator[AsyncAnthropic]:
    """The Anthropic SDK, connected over a real socket."""
    with anyio.fail_after(60):
        async with serve(emulator) as base_url:
            client = AsyncAnthropic(
                base_url=base_url.removesuffix("/v1"), api_key="test-key", max_retries=0, timeout=60
            )
            try:
                yield client
            finally:
                await client.close()
