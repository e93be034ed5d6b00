"""Routes of probes: is the process alive, and can it do its work."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agui_gate.concurrency import forget
from agui_gate.errors import Unavailable
from agui_gate.extension import Extension
from agui_gate.http.server import HttpServer
from agui_gate.threads.lease import patiently

READY_SECONDS = 1.0
"""Seconds that a probe waits at most. For half of them a check that failed is tried again."""


class HealthRoutes(Extension):
    """Handlers that ask nobody who they are. A check that goes on longer than a probe ends with the engine."""

    def __init__(self, server: HttpServer) -> None:
        self._engine, self._is_away = server.engine, False
        self._check: asyncio.Task[None] | None = None
        self._engine.extensions.add(self)

    def drain(self) -> None:
        """Ends the check: the server takes nothing new."""
        if self._check is not None:
            self._check.cancel()

    async def healthy(self, request: Request) -> Response:
        """`GET /healthz`: the process answers."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """`GET /readyz`: new runs are taken, and the store can be read and written, now or in a moment. Raises
        `Unavailable` (503): at once, where the store was away before. One check is made at a time: a store that is
        locked takes seconds to say so, and no probe waits for longer than `READY_SECONDS`.
        """
        await self._engine.start()
        self._engine.check_open()
        if self._check is None or self._check.done():
            seconds = 0.0 if self._is_away else READY_SECONDS / 2
            self._check = asyncio.create_task(patiently(self._engine.store.check, seconds))
        self._is_away = True
        await asyncio.wait([check := self._check], timeout=READY_SECONDS)
        if check.cancelled():
            self._engine.check_open()
        if not check.done():
            check.add_done_callback(forget)
            raise Unavailable(f"The store is not available: it takes longer than {READY_SECONDS:g} s.")
        check.result()
        self._is_away = False
        return JSONResponse({"status": "ready"})
