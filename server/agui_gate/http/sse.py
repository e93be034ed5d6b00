"""The run's stream as an ASGI response.

Our own rather than sse-starlette's `EventSourceResponse` (ADR 0002): that one starts four tasks a response and
encodes and sends event by event; this one sends whatever frames are ready in one body message. What it promises is
the same: `\\n\\n` framing, comment pings, a bound on every send, and an end when the client leaves or the server
stops.
"""

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agui_gate.engine.live import SEND_TIMEOUT, LiveRun

PING_INTERVAL = 15.0
"""Seconds between comments on an idle stream."""

HEADERS = {
    "cache-control": "no-cache, no-transform",
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
}


class RunStream(Response):
    """Streams ``run`` to one reader. ``on_leave`` is called if the client goes away before the end."""

    def __init__(self, run: LiveRun, on_leave: Callable[[LiveRun], None]) -> None:
        super().__init__(headers={**HEADERS, "agui-run-key": run.key})
        del self.headers["content-length"]
        self._run = run
        self._on_leave = on_leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the run ends, the client leaves, or it takes longer than `SEND_TIMEOUT` to accept bytes."""
        watcher = asyncio.create_task(self._watch(receive))
        pinger = _Pinger(self._run)
        try:
            await self._send(send)
        except (TimeoutError, OSError):
            self._leave()
        finally:
            pinger.stop()
            watcher.cancel()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        while data := await self._run.read():
            message: Message = {"type": "http.response.body", "body": data, "more_body": True}
            async with asyncio.timeout(SEND_TIMEOUT):
                await send(message)
        async with asyncio.timeout(SEND_TIMEOUT):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._leave()

    def _leave(self) -> None:
        self._run.detach()
        self._on_leave(self._run)


class _Pinger:
    """Pings ``run`` every `PING_INTERVAL` seconds, without a task of its own."""

    __slots__ = ("_handle", "_loop", "_run")

    def __init__(self, run: LiveRun) -> None:
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(PING_INTERVAL, self._ping)

    def stop(self) -> None:
        self._handle.cancel()

    def _ping(self) -> None:
        self._run.ping()
        self._handle = self._loop.call_later(PING_INTERVAL, self._ping)
