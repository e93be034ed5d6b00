"""Serving the emulator: on a loopback socket inside a test, in process without one, or as a program."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import uvicorn

from agui_gate_adapters.testkit.engine import Emulator

__all__ = ["main", "serve"]

_STOP_SECONDS: Final = 2.0
_DEMO_PACE: Final = 0.015
_KEEP_ALIVE_SECONDS: Final = 3600
"""A connection that is closed just as its client sends the next request fails that request."""


@asynccontextmanager
async def serve(emulator: Emulator, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve on a real socket in the running asyncio loop; yields the base URL, such as `http://127.0.0.1:40123/v1`.

    Starts and stops in milliseconds. Leaving the block drops open connections and waits at most two seconds for their
    handlers. A conversation lock or a half-told response does not outlive it.
    """
    sock = _listen(host, port)
    server = uvicorn.Server(_config(emulator))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets=[sock])
    try:
        yield f"http://{host}:{sock.getsockname()[1]}/v1"
    finally:
        await _stop(server)
        sock.close()


def _listen(host: str, port: int) -> socket.socket:
    # asyncio turns Nagle off only for sockets that say they are TCP; with Nagle each answer takes 40 ms longer.
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    sock.listen(512)
    return sock


async def _stop(server: uvicorn.Server) -> None:
    """Stop without uvicorn's own shutdown, which always takes a tenth of a second."""
    for listener in server.servers:
        listener.close()
    for connection in list(server.server_state.connections):
        transport = getattr(connection, "transport", None)
        if transport is not None:
            transport.abort()
    tasks = set(server.server_state.tasks)
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=_STOP_SECONDS)
        for task in late:
            task.cancel()


def _config(emulator: Emulator) -> uvicorn.Config:
    # A cut answer looks like a crashed application to uvicorn; its complaint would be noise here.
    return uvicorn.Config(
        emulator.app,
        lifespan="off",
        log_level="critical",
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )


def main(
    port: int = 8090,
    script: Path | None = None,
    host: str = "127.0.0.1",
    *,
    announce: Callable[[str], None] | None = None,
) -> None:
    """Run the emulator until it is interrupted or terminated.

    Without a script the demo brain answers, at the pace of a person reading. `announce` is told the base URL once the
    socket listens. Raises `ScriptError` for a script that cannot be read as one, `OSError` for a file that cannot be
    read or a port that is taken.
    """
    emulator = Emulator(script, pace=0.0 if script else _DEMO_PACE)
    with socket.create_server((host, port), backlog=512) as sock:
        if announce is not None:
            announce(f"http://{host}:{sock.getsockname()[1]}/v1")
        uvicorn.Server(_config(emulator)).run(sockets=[sock])
