"""A server that stops itself (SIGSTOP) so many steps after somebody's click, for a test to cut in.

The click is the request with the header `CLICK`: after how many steps, one number for each time. What is left of them
when the request is over counts as reached: so a test never waits in vain, however few steps a click has. A step is a
call of a function, in any thread of the process: how busy the machine is has no part in it.
"""

import asyncio
import ctypes
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

import msgspec

from agui_gate import Agent, ToolContext, create_app, tool
from agui_gate.agents.tool import Tool
from agui_gate.cli.server.uvicorn_server import Server, configure, serve_forever
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.crash.replica import Effects
from tests.support import patience

CLICK = "x-click"

ROUNDS = 5
"""Rounds of the loop that the tool takes before it takes effect, and again after that."""
TICK_SECONDS = 0.1
"""As uvicorn's."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is started. ``effects``: the file of what its tool did. ``drain``: None is the default."""

    store: str
    provider: str
    effects: str
    drain: float = 30.0


class Steps:
    """Counts calls of functions from a click on, and stops the process when they are over."""

    def __init__(self) -> None:
        self._at: list[int] = []
        self._made = 0

    def clicked(self, header: str) -> None:
        """The click has come."""
        self._at, self._made = [int(number) for number in header.split(",")], 0

    def watch(self) -> None:
        """Count in this thread, and in all that begin after it."""
        threading.setprofile(self._count)
        sys.setprofile(self._count)

    def over(self) -> None:
        """The request has been answered."""
        while self._at:
            self._stop()

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        if self._at and event in ("call", "c_call"):
            self._made += 1
            while self._at and self._made >= self._at[0]:
                self._stop()

    def _stop(self) -> None:
        del self._at[0]
        os.kill(os.getpid(), signal.SIGSTOP)


class Told(Server):
    """A server that looks whether it was told to stop when it is told, not within a tenth of a second after."""

    async def main_loop(self) -> None:
        self._signal = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._signal.wait()
            self._signal.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._loop.call_soon_threadsafe(self._signal.set)


def paying(start: Start) -> Tool:
    """A tool that says when it begins, and when it has taken effect."""
    effects = Effects(start.effects)

    @tool(gate=True)
    async def pay(order: str, ctx: ToolContext) -> str:
        """Pay for an order."""
        effects.note("began", order, ctx.idempotency_key)
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        effects.note("paid", order, ctx.idempotency_key)
        for _ in range(ROUNDS):
            await asyncio.sleep(0)
        return f"paid {order}"

    return pay


def watched(app: Any, steps: Steps) -> Any:
    """The application. Its clicks are told to ``steps``."""

    async def watch(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if CLICK.encode() not in headers:
            await app(scope, receive, send)
            return
        steps.clicked(headers[CLICK.encode()].decode())
        try:
            await app(scope, receive, send)
        finally:
            steps.over()

    watch.state = app.state  # type: ignore[attr-defined]  # uvicorn's server looks for the engines there
    return watch


def serve(start: Start, sock: socket.socket) -> None:
    """One server, until it is told to stop. It ends with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    patience.with_locks()
    model = OpenAIResponses("gpt-5.4-mini", base_url=start.provider, api_key="k")
    agent = Agent(name="support", model=model, tools=[paying(start)], hitl="interrupt")
    settings = Settings(log_level="warning", disconnect_grace=0.001, drain_seconds=start.drain)
    steps = Steps()
    steps.watch()
    config = configure(watched(create_app(agent, store=start.store, settings=settings), steps))
    serve_forever(Told(config), sock)
