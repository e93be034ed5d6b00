"""A server to be killed: `python -m tests.crash.server STORE PROVIDER MODE`.

Prints `port N` when it listens. Its tools print what they do, a line each, so that a test knows where it is killing and
can count executions over all processes. `stall`, `stall_again` do their work and then never return.
"""

import asyncio
import socket
import sys
from typing import Any

import uvicorn

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses


def tell(*words: str) -> None:
    print(*words, flush=True)


@tool(gate=True)
async def refund(order_id: str) -> str:
    """Refund an order."""
    tell("ran", "refund", order_id)
    return f"refunded {order_id}"


@tool(gate=True)
async def stall(order_id: str) -> str:
    """Refund an order, and never come back."""
    tell("ran", "stall", order_id)
    await asyncio.Event().wait()
    return "never"


@tool(gate=True, idempotent=True)
async def stall_again(order_id: str, ctx: ToolContext) -> str:
    """Ship an order; the first process never comes back."""
    tell("ran", "stall_again", ctx.idempotency_key)
    if sys.argv[4:] == ["stalling"]:
        await asyncio.Event().wait()
    return f"shipped {order_id}"


async def main(store: str, provider: str, mode: Any) -> None:
    remote = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example", "require_approval": "always"}
    model = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=provider, api_key="k", hosted_tools=[remote])
    app = create_app(
        Agent(name="support", model=model, tools=[refund, stall, stall_again]), store=store, settings=Settings()
    )
    sock = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none"))
    tell("port", str(sock.getsockname()[1]))
    await server.serve(sockets=[sock])


asyncio.run(main(*sys.argv[1:4]))
