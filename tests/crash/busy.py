"""Servers that are busy when they are told to stop: `python -m tests.crash.busy STORE PROVIDER MODE`.

Each line on stdin starts one, in a process that is forked from this one, so that none of them imports everything again.
It prints `port N PID` when the server listens, and `exit CODE` when it has ended.
"""

import asyncio
import gc
import importlib
import os
import socket
import sys
import threading
from typing import Any

from agui_gate import Agent, create_app, tool
from agui_gate.cli.server.uvicorn_server import Server, configure, serve_forever
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.support import patience

LOADED = ("httpcore2", "openai", "openai.resources.responses", "uvicorn.lifespan.on", "uvicorn.protocols.http.auto")
"""What a server imports when it needs it."""


@tool
async def nap(seconds: float) -> str:
    """Wait for a while."""
    await asyncio.sleep(seconds)
    return "slept"


@tool
def block(seconds: float) -> str:
    """Wait for a while, in a way that can't be stopped."""
    threading.Event().wait(seconds)
    return "slept"


@tool(gate=True)
async def pay(order: str, seconds: float) -> str:
    """Pay, which takes a while."""
    await asyncio.sleep(seconds)
    return f"paid {order}"


def serve(store: str, provider: str, mode: Any) -> None:
    """One server, until it is told to stop."""
    model = OpenAIResponses("gpt-5.4-mini", mode=mode, base_url=provider, api_key="k")
    settings = Settings(drain_seconds=0.2)  # so that some of its work ends, and some is stopped
    app = create_app(Agent(name="busy", model=model, tools=[nap, block, pay]), store=store, settings=settings)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as sock:
        port = sock.getsockname()[1]
        serve_forever(Server(configure(app), lambda: print("port", port, os.getpid(), flush=True)), sock)


def main(store: str, provider: str, mode: str) -> None:
    """Start servers one after another."""
    patience.with_locks()
    patience.at_the_end()
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()
    for _ in sys.stdin:
        pid = os.fork()
        if not pid:
            serve(store, provider, mode)
            return
        print("exit", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4])
