"""An in-process `httpx2` transport that streams: the emulator without a socket.

httpx2's own ASGI transport collects a whole body before it returns. So a hanging stream would hang the request, and a
client that leaves would never be noticed. This one hands chunks over as they are sent, and closing the response tells
the application that the client has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from agui_gate_adapters.testkit.engine import Emulator

__all__ = ["EmulatorTransport"]


class EmulatorTransport(httpx2.AsyncBaseTransport):
    """Give it to a client: `httpx2.AsyncClient(transport=EmulatorTransport(emulator), base_url="http://emulator/v1")`.

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
        """Leave: the application is told and awaited."""
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
