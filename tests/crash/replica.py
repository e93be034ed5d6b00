"""A replica that may be killed at any moment: `Start` says how it is started, `serve` is what it does.

Its tools write what they did into a file that outlives it, a line of JSON each: what ran is counted there, and never
by what a server says of it.
"""

import asyncio
import ctypes
import json
import os
import random
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from agui_gate import Agent, Gate, ToolContext, create_app, tool
from agui_gate.agents.tool import Tool
from agui_gate.approvals import orphan_job
from agui_gate.cli.server.uvicorn_server import Server, configure, serve_forever
from agui_gate.config.settings import Settings
from agui_gate.extras import retention_job
from agui_gate.stores import lease
from agui_gate.stores.postgres import readiness
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.support import failpoints, patience

HASTY_MS = (20, 50, 100, 200)
"""How long people have to answer each of the tools `hasty_…`."""

REMOTE = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example", "require_approval": "always"}


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """How a replica is started.

    ``effects``: the file of what its tools did. ``failpoint``: see `tests.support.failpoints`. ``machine``: what it
    takes for its machine's name, if not that of this one. Then nobody can see whether it lives, and any clock is right.
    ``stalls``: whether `stall` and `stall_again` never come back. ``fused``: whether it ends in the middle of `fuse`.
    ``work_ms``: how long its tools take at most, before they take effect and after it. ``door``: a named pipe; the tool
    `wait` comes back when somebody has opened it to write. ``forgets``: after how many days a thread goes; 0: never.
    ``drain``: for how many seconds what is in flight may go on once it is told to stop. ``settles``: whether it looks
    for what dead ones left, which it does soon then; others would take long enough to be a matter of chance.
    """

    store: str
    provider: str
    effects: str
    bus: str | None = None
    mode: str = "chain"
    failpoint: str = ""
    machine: str = ""
    stalls: bool = True
    fused: bool = False
    work_ms: float = 0
    door: str = ""
    forgets: int = 0
    drain: float = 30.0
    settles: bool = False


class Effects:
    """The file of what tools did, over all processes. A line is written at once, and is there after `kill -9`."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, name: str, order: str, key: str) -> None:
        """One execution. ``key``: its idempotency key."""
        line = json.dumps({"tool": name, "order": order, "key": key, "pid": os.getpid()})
        os.write(self._file, f"{line}\n".encode())


def agent(start: Start) -> Agent:
    """The agent of a small shop."""
    effects = Effects(start.effects)
    mode: Any = start.mode
    model = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=start.provider, api_key="k", hosted_tools=[REMOTE])
    tools = [*useful(start, effects), *deadly(start, effects), *(hasty(effects, ms) for ms in HASTY_MS)]
    return Agent(name="support", model=model, tools=tools)


def useful(start: Start, effects: Effects) -> list[Tool]:
    """Tools that do what they say."""

    async def work() -> None:
        await asyncio.sleep(random.uniform(0, start.work_ms / 1000))

    @tool
    async def look(order_id: str, ctx: ToolContext) -> str:
        """Look at an order."""
        return f"looked at {order_id}"

    @tool(gate=True)
    async def refund(order_id: str, ctx: ToolContext) -> str:
        """Refund an order."""
        await work()
        effects.note("refund", order_id, ctx.idempotency_key)
        await work()
        return f"refunded {order_id}"

    @tool(gate=True)
    def refund_slowly(order_id: str, ctx: ToolContext) -> str:
        """Refund an order in a thread of its own."""
        time.sleep(start.work_ms / 1000)
        effects.note("refund_slowly", order_id, ctx.idempotency_key)
        return f"refunded {order_id}"

    @tool(gate=True, idempotent=True)
    async def ship(order_id: str, ctx: ToolContext) -> str:
        """Ship an order, once however often it is tried."""
        await work()
        effects.note("ship", order_id, ctx.idempotency_key)
        await work()
        return f"shipped {order_id}"

    return [look, refund, refund_slowly, ship]


def deadly(start: Start, effects: Effects) -> list[Tool]:
    """Tools that take effect, and may not come back."""

    @tool(gate=True)
    async def stall(order_id: str, ctx: ToolContext) -> str:
        """Refund an order, and never come back."""
        effects.note("stall", order_id, ctx.idempotency_key)
        if start.stalls:
            await asyncio.Event().wait()
        return f"refunded {order_id}"

    @tool(gate=True, idempotent=True)
    async def stall_again(order_id: str, ctx: ToolContext) -> str:
        """Ship an order, once however often it is tried, and never come back."""
        effects.note("stall_again", order_id, ctx.idempotency_key)
        if start.stalls:
            await asyncio.Event().wait()
        return f"shipped {order_id}"

    @tool(gate=True)
    async def fuse(order_id: str, ctx: ToolContext) -> str:
        """Refund an order in a process that ends meanwhile."""
        effects.note("fuse", order_id, ctx.idempotency_key)
        if start.fused:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"refunded {order_id}"

    @tool(gate=True)
    async def wait(order_id: str, ctx: ToolContext) -> str:
        """Refund an order, and wait for somebody."""
        effects.note("wait", order_id, ctx.idempotency_key)
        await asyncio.to_thread(Path(start.door).read_bytes)
        return f"refunded {order_id}"

    @tool(gate=True)
    def wait_here(order_id: str, ctx: ToolContext) -> str:
        """Refund an order, and wait for somebody in a thread of its own."""
        effects.note("wait_here", order_id, ctx.idempotency_key)
        Path(start.door).read_bytes()
        return f"refunded {order_id}"

    return [stall, stall_again, fuse, wait, wait_here]


def hasty(effects: Effects, ms: int) -> Tool:
    """A tool for which people have so many ms to answer."""

    @tool(name=f"hasty_{ms}", gate=Gate(expires_after=ms / 1000))
    async def refund_in_time(order_id: str, ctx: ToolContext) -> str:
        """Refund an order, if somebody agrees in time."""
        effects.note("refund", order_id, ctx.idempotency_key)
        return f"refunded {order_id}"

    return refund_in_time


def serve(start: Start, sock: socket.socket) -> None:
    """One replica, until it is told to stop, or killed. It ends with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    random.seed()
    failpoints.arm_server(start.failpoint)
    if start.machine:
        lease._machine = lambda: start.machine
        readiness.SKEW_MS = 1 << 60
    retention_job.STEP_SECONDS = 0  # with each beat
    patience.with_locks()
    patience.with_orphans()
    if start.settles:
        orphan_job.LOOK_SECONDS, orphan_job.GRACE_SECONDS = 0.05, 0.1
    settings = Settings(log_level="warning", retention_threads_days=start.forgets, drain_seconds=start.drain)
    app = create_app(agent(start), store=start.store, bus=start.bus, settings=settings)
    serve_forever(Server(configure(app), lambda: None), sock)
