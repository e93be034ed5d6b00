"""The yardstick: the least a Python server can do with ordinary parts, and no product around it.

Starlette's StreamingResponse, httpx2 for the provider, msgspec for JSON, a split for SSE, one frame per event. It
checks nothing, keeps nothing and handles no failure.
"""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder().decode


def create_proxy(provider: str) -> Starlette:
    """An application that turns `RunAgentInput` into a request to ``provider`` and its answer into AG-UI events."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=1000)
    client = httpx2.AsyncClient(timeout=60, limits=limits)

    async def run(request: Request) -> StreamingResponse:
        stream = _stream(client, f"{provider}/responses", _decode(await request.body()))
        return StreamingResponse(stream, media_type="text/event-stream")

    return Starlette(routes=[Route("/", run, methods=["POST"])])


async def _stream(client: httpx2.AsyncClient, url: str, run: dict[str, Any]) -> AsyncIterator[bytes]:
    ids = {"threadId": run["threadId"], "runId": run["runId"]}
    yield _frame({"type": "RUN_STARTED", **ids})
    body = _encode({"model": "bench", "stream": True, "store": False, "input": items(run["messages"])})
    async with client.stream("POST", url, content=body, headers={"content-type": "application/json"}) as response:
        held = b""
        async for data in response.aiter_raw():
            *blocks, held = (held + data).split(b"\n\n")
            for block in blocks:
                event = _decode(block[block.index(b"data: ") + 6 :])
                if frame := _translated(event):
                    yield frame
    yield _frame({"type": "RUN_FINISHED", **ids})


def _translated(event: dict[str, Any]) -> bytes:
    match event["type"]:
        case "response.output_text.delta":
            ids = (_encode(event["item_id"]), _encode(event["delta"]))
            return b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":%b,"delta":%b}\n\n' % ids
        case "response.output_item.added":
            return _frame({"type": "TEXT_MESSAGE_START", "messageId": event["item"]["id"], "role": "assistant"})
        case "response.output_item.done":
            return _frame({"type": "TEXT_MESSAGE_END", "messageId": event["item"]["id"]})
    return b""


def _frame(event: dict[str, Any]) -> bytes:
    return b"data: " + _encode(event) + b"\n\n"


def items(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """AG-UI messages as the provider's input items."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            output = {"call_id": message["toolCallId"], "output": message["content"]}
            found.append({"type": "function_call_output", **output})
            continue
        if message.get("content"):
            found.append({"role": message["role"], "content": message["content"]})
        found += (
            {"type": "function_call", "call_id": call["id"], **call["function"]}
            for call in message.get("toolCalls", ())
        )
    return found
