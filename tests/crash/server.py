"""A server to be killed or stopped: `Start` says how it is started, `serve` is what it does.

Its tools say what they do, a line each, so that a test knows where it is killing and can count executions over all
processes. `stall`, `stall_again`, `linger` do their work and then never return; `doze` stops its own process in the
middle of it, as SIGSTOP from outside would, and goes on with SIGCONT.

Options: ``remote`` (the agent is a server elsewhere, at PROVIDER, to which all tools are lent), ``team`` (a boss
delegates to a clerk, who has the tools), ``gate`` (before these tasks), ``stalling`` (see `stall_again`), ``dozing``
(it stops its own process right before it claims a call), ``claimed`` (right after that), ``passed`` (right after it
has saved that the provider is about to be told of a yes), ``impatient`` (who deletes
waits as long as in life, and no longer), ``usage`` (what models use is kept), ``budget`` (of 10,000 tokens),
``metrics`` (what happens is counted), ``limit:…`` (one of AGUI_GATE_LIMITS), and the name of a file with the ms by
which the boot clock is ahead.

What a dead process left is not looked for here (`tests/crash/test_orphans.py` does): when would be a matter of chance.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Approval, State
from agui_gate.extras.metrics import state
from agui_gate.stores import clock
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from tests.support import failpoints, patience

options: set[str] = set()
"""Those of this process."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is started. ``said``: the named pipe that it says everything into. ``failpoint``: see
    `tests.support.failpoints`.
    """

    store: str
    provider: str
    mode: str
    options: tuple[str, ...]
    said: str
    failpoint: str


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
    if "stalling" in options:
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
    """Its process is stopped when it is about to claim a call, has just done so, or has just passed one on."""

    async def move(self, approval_id: str, to: State, **more: Any) -> Approval:
        if to is State.CLAIMED and "dozing" in options:
            tell("claiming")
            stop()
        moved = await super().move(approval_id, to, **more)
        if to in (State.CLAIMED, State.PASSED) and to in options:
            tell(to)
            stop()
        return moved


def run_ahead(path: str) -> None:
    """Have the boot clock, by which leases go, be ahead by the ms in this file."""
    boot_clock = clock.boot_clock
    clock.boot_clock = lambda: boot_clock() + int(Path(path).read_text())


async def run(store: str, provider: str, mode: Any, sock: socket.socket) -> None:
    remote = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example", "require_approval": "always"}
    model = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=provider, api_key="k", hosted_tools=[remote])
    opened = Dozing(store.removeprefix("sqlite:///")) if options & {"dozing", "claimed", "passed"} else store
    tools = [refund, stall, stall_again, linger, doze]
    agent = Agent(name="support", model=model, tools=tools)
    if "team" in options:
        clerk = Agent(name="clerk", model=OpenAIResponses("gpt-b", base_url=provider, api_key="k"), tools=tools)
        boss = OpenAIResponses("gpt-a", base_url=provider, api_key="k")
        agent = Agent(name="boss", model=boss, tools=[clerk.as_tool(gate="gate" in options)])
    if "remote" in options:
        agent = RemoteAgent(provider, name="desk", tools=tools)
    app = create_app(
        agent,
        store=opened,
        settings=Settings(
            usage="usage" in options,
            budgets=("all:10000",) if "budget" in options else (),
            metrics="on" if "metrics" in options else "",
            limits=tuple(sorted(one.removeprefix("limit:") for one in options if one.startswith("limit:"))),
        ),
    )
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none"))
    await server.serve(sockets=[sock])


def serve(start: Start, sock: socket.socket) -> None:
    """One server, until it is killed. It ends with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.dup2(os.open(start.said, os.O_WRONLY), 1)
    failpoints.arm_server(start.failpoint)
    options.update(start.options)
    patience.with_locks()
    patience.with_orphans()
    if "metrics" in options:
        state.FRESH_SECONDS = 0.2
    if "impatient" not in options:
        patience.with_stops()
    for option in start.options:
        if Path(option).is_file():
            run_ahead(option)
    asyncio.run(run(start.store, start.provider, start.mode, sock))
