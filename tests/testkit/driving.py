"""Driving the emulator in tests: without HTTP where only the rules matter, over a socket where the wire does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from openai import AsyncOpenAI

from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.faults import Reply
from agui_gate_adapters.testkit.responses.exchange import Exchange

MODEL = "gpt-5.4-mini"
TOOL = {"type": "function", "name": "refund", "parameters": {"type": "object", "properties": {}}, "strict": False}


def say(text: str, **turn: Any) -> dict[str, Any]:
    return {"output": [{"type": "message", "text": text}], **turn}


def call(name: str = "refund", call_id: str | None = None, **arguments: Any) -> dict[str, Any]:
    spec = {"type": "function_call", "name": name, "arguments": arguments}
    return spec if call_id is None else {**spec, "call_id": call_id}


def output(call_id: str, text: str = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": text}


def post(emulator: Emulator, **body: Any) -> Exchange | Reply:
    return emulator.create(msgspec.json.encode({"model": MODEL, "input": "hello", **body}))


def answer(emulator: Emulator, **body: Any) -> dict[str, Any]:
    """The final response of an accepted request."""
    exchange = post(emulator, **body)
    assert isinstance(exchange, Exchange), exchange
    response = exchange.finish()
    exchange.close()
    return response


def refusal(emulator: Emulator, **body: Any) -> tuple[int, dict[str, Any]]:
    """Status and `error` object of a refused request."""
    reply = post(emulator, **body)
    assert isinstance(reply, Reply), "accepted"
    return reply.status, msgspec.json.decode(reply.body)["error"]


def error(message: str, param: str | None, code: str | None) -> dict[str, Any]:
    return {"message": message, "type": "invalid_request_error", "param": param, "code": code}


@asynccontextmanager
async def sdk(emulator: Emulator) -> AsyncIterator[AsyncOpenAI]:
    """The OpenAI SDK, connected over a real socket."""
    with anyio.fail_after(60):
        async with serve(emulator) as base_url:
            client = AsyncOpenAI(base_url=base_url, api_key="test-key", max_retries=0, timeout=60)
            try:
                yield client
            finally:
                await client.close()
