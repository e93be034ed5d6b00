"""An ASGI application on a loopback socket, inside the running asyncio loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

_SHUTDOWN_SECONDS = 60.0
_KEEP_ALIVE_SECONDS = 3600
"""A connection that is closed just as its client sends the next request fails that request."""


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[str]:
    """Serve ``app`` with its lifespan; yields its address, such as `http://127.0.0.1:40123`.

    Starts and stops in milliseconds. Leaving the block drops open connections.
    """
    # asyncio turns Nagle off only for sockets that say they are TCP; with Nagle each answer takes 40 ms longer.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(512)
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )
    server = uvicorn.Server(config)
    server.config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[sock])
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        state: Any = getattr(app, "state", None)
        if hasattr(state, "drain_seconds"):
            state.drain_seconds = 0.0  # nobody waits for what a test has left
        async with asyncio.timeout(_SHUTDOWN_SECONDS):
            await server.lifespan.shutdown()
        sock.close()
