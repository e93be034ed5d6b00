"""A scripted Chat Completions API, for peers whose frameworks want an OpenAI-compatible server. It serves itself."""

import json
import threading
import time
import uuid
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

CALLS = {
    "your own tools": ("search", {"q": "x"}),
    "agui_check_colour": ("agui_check_colour", {"colour": "blue"}),
    "approved": ("refund", {"order": "A1"}),
}
MODEL = "gpt-4o-mini"


def answer(body: dict) -> dict:
    """The message: a call of the tool that the words ask for, words otherwise."""
    last = body["messages"][-1]
    said = json.dumps(last.get("content")) if last["role"] == "user" else ""
    known = {tool["function"]["name"] for tool in body.get("tools") or ()}
    for words, (name, arguments) in CALLS.items():
        if words in said and name in known:
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"role": "assistant", "content": "word " * (200 if "two hundred" in said else 3)}


async def complete(request: Request) -> Response:
    """One completion."""
    body = await request.json()
    message = answer(body)
    finish = "tool_calls" if "tool_calls" in message else "stop"
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": body["model"]}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return JSONResponse({**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    async def chunks() -> AsyncIterator[str]:
        if "tool_calls" in message:
            deltas = [{"role": "assistant", "tool_calls": [{"index": 0, **message["tool_calls"][0]}]}]
        else:
            deltas = [{"role": "assistant", "content": ""}]
            deltas += [{"content": f"{word} "} for word in message["content"].split()]
        for delta in deltas:
            yield told([{"index": 0, "delta": delta, "finish_reason": None}])
        yield told([{"index": 0, "delta": {}, "finish_reason": finish}])
        if (body.get("stream_options") or {}).get("include_usage"):
            yield told([], usage=usage)
        yield "data: [DONE]\n\n"

    def told(choices: list, **more: dict) -> str:
        chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
        return f"data: {json.dumps(chunk)}\n\n"

    return StreamingResponse(chunks(), media_type="text/event-stream")


def served(port: int) -> str:
    """The base URL, from now on."""
    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{port}/v1"
