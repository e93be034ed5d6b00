"""A server to be killed or stopped: `python -m tests.crash.server STORE PROVIDER MODE OPTION…`.

Prints `port N` when it listens. Its tools print what they do, a line each, so that a test knows where it is killing and
can count executions over all processes. `stall`, `stall_again`, `linger` do their work and then never return; `doze`
stops its own process in the middle of it, as SIGSTOP from outside would, and goes on with SIGCONT.

Options: ``remote`` (the agent is a server elsewhere, at PROVIDER, to which all tools are lent), ``team`` (a boss
delegates to a clerk, who has the tools), ``gate`` (before these tasks), ``stalling`` (see `stall_again`), ``dozing``
(it stops its own process right before it claims a call), and the name of a file with the ms by which the boot clock is
ahead.
"""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate.core.approvals import Approval, State
from agui_gate.settings import Settings
from agui_gate.stores import clock
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent


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
    if "stalling" in sys.argv:
        await asyncio.Event().wait()
    return f"shipped {order_id}"


@tool
async def linger(order_id: str) -> str:
    """Look for an order, without asking anybody, and never come back."""
    tell("ran", "linger", order_id)
    await asyncio.Event().wait()
    return "never"


def stop() -> None:
    """As Ctrl+Z does. Returns when the process goes on."""
    os.kill(os.getpid(), signal.SIGSTOP)


@tool(gate=True)
async def doze(order_id: str) -> str:
    """Refund an order, in a process that is stopped meanwhile."""
    tell("ran", "doze", order_id)
    stop()
    return f"refunded {order_id}"


class Dozing(SQLiteStore):
    """Its process is stopped when it is about to claim a call."""

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        if to is State.CLAIMED:
            tell("claiming")
            stop()
        return await super().move(approval_id, to, **more)


def run_ahead(path: str) -> None:
    """Have the boot clock, by which leases go, be ahead by the ms in this file."""
    boot_clock = clock.boot_clock
    clock.boot_clock = lambda: boot_clock() + int(Path(path).read_text())


async def main(store: str, provider: str, mode: Any) -> None:
    remote = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example", "require_approval": "always"}
    model = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=provider, api_key="k", hosted_tools=[remote])
    opened = Dozing(store.removeprefix("sqlite:///")) if "dozing" in sys.argv else store
    tools = [refund, stall, stall_again, linger, doze]
    agent = Agent(name="support", model=model, tools=tools)
    if "team" in sys.argv:
        clerk = Agent(name="clerk", model=OpenAIResponses("gpt-b", base_url=provider, api_key="k"), tools=tools)
        boss = OpenAIResponses("gpt-a", base_url=provider, api_key="k")
        agent = Agent(name="boss", model=boss, tools=[clerk.as_tool(gate="gate" in sys.argv)])
    if "remote" in sys.argv:
        agent = RemoteAgent(provider, name="desk", tools=tools)
    app = create_app(agent, store=opened, settings=Settings())
    sock = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none"))
    tell("port", str(sock.getsockname()[1]))
    await server.serve(sockets=[sock])


for option in sys.argv[4:]:
    if Path(option).is_file():
        run_ahead(option)
asyncio.run(main(*sys.argv[1:4]))
