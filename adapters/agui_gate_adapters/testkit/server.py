"""Serves the emulator: on a loopback socket inside a test, in process without one, or as a program."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import uvicorn

from agui_gate_adapters.testkit.emulator import Emulator

# An in-process `httpx2` transport that streams: the emulator without a socket.
#
# httpx2's own ASGI transport collects a whole body before it returns. So a hanging stream would hang the request, and a
# client that leaves would never be noticed. This one hands chunks over as they are sent, and closing the response tells
# the application that the client has left.


class EmulatorTransport(httpx2.AsyncBaseTransport):
    """A transport for a client: `httpx2.AsyncClient(transport=EmulatorTransport(emulator), base_url="http://emulator/v1")`.

    The application runs in a task of the current asyncio loop for as long as the response is open. Closing the
    response, or the client, ends it.
    """

    def __init__(self, emulator: Emulator) -> None:
        self._app = emulator.app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request into the application and return as soon as the response has begun."""
        body = await request.aread()
        call = _Call(body)
        call.task = asyncio.create_task(call.run(self._app, _scope(request)))
        try:
            start = await call.chunks.get()
        except BaseException:
            await call.aclose()
            raise
        if not isinstance(start, dict):
            raise httpx2.RemoteProtocolError("The application ended without a response.", request=request)
        return httpx2.Response(start["status"], headers=start["headers"], stream=call, request=request)


class _Call(httpx2.AsyncByteStream):
    """One run of the application; iterating it gives the response body."""

    def __init__(self, body: bytes) -> None:
        self.chunks: asyncio.Queue[dict[str, Any] | bytes | None] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self._requested: bytes | None = body
        self._left = asyncio.Event()
        self._complete = False

    async def run(self, app: Any, scope: dict[str, Any]) -> None:
        """Run the application to its end; None on the queue says that there is nothing more."""
        try:
            await app(scope, self._receive, self._send)
        finally:
            self.chunks.put_nowait(None)

    async def _receive(self) -> dict[str, Any]:
        if self._requested is not None:
            body, self._requested = self._requested, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.chunks.put_nowait(message)
            return
        self._complete = not message.get("more_body", False)
        if message.get("body"):
            self.chunks.put_nowait(message["body"])
            await asyncio.sleep(0)  # Let the reader see each chunk by itself.

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(chunk := await self.chunks.get(), bytes):
            yield chunk
        if not self._complete:
            raise httpx2.RemoteProtocolError("The connection was closed in the middle of the body.")

    async def aclose(self) -> None:
        """Disconnects from the application and awaits its end."""
        self._left.set()
        if self.task is not None:
            await asyncio.wait([self.task], timeout=2)
            self.task.cancel()


def _scope(request: httpx2.Request) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (request.url.host, request.url.port or 80),
        "client": ("127.0.0.1", 0),
    }


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
        log_config=None,
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

    Without a script the demo model answers, at the pace of a person reading. `announce` is told the base URL once the
    socket listens. Raises `ScriptError` for a script that cannot be read as one, `OSError` for a file that cannot be
    read or a port that is taken.
    """
    emulator = Emulator(script, pace=0.0 if script else _DEMO_PACE)
    with socket.create_server((host, port), backlog=512) as sock:
        if announce is not None:
            announce(f"http://{host}:{sock.getsockname()[1]}/v1")
        uvicorn.Server(_config(emulator)).run(sockets=[sock])
