"""Servers that say what a test wants, over real sockets."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_gate.client import Client, Limits
from agui_gate_adapters.testkit.agui import serving
from tests.interop.streams import sse

Json = dict[str, Any]
Reply = str | Response | AsyncIterator[bytes]


class Scripted:
    """Answers each run with the next reply: a body, a response, or pieces that come one by one."""

    def __init__(self, *replies: Reply | Callable[[], Reply]) -> None:
        self.replies = list(replies)
        self.asked: list[Json] = []
        self.sent: list[Mapping[str, str]] = []
        """The headers of each request."""
        self.headers: dict[str, str] = {}
        """Those of each stream."""
        self.cancels: Callable[[Request], Awaitable[None]] | None = None
        """What happens where a run is asked to stop, if there is such a route."""
        self.url = ""

    async def cancel(self, request: Request) -> Response:
        """The route that stops a thread's run."""
        if self.cancels is None:
            return JSONResponse({}, 404)
        await self.cancels(request)
        return JSONResponse({"cancelled": True})

    async def run(self, request: Request) -> Response:
        """The next reply."""
        self.asked.append(await request.json())
        self.sent.append(request.headers)
        reply = self.replies.pop(0)
        reply = reply() if callable(reply) and not isinstance(reply, Response) else reply
        if isinstance(reply, Response):
            return reply
        if isinstance(reply, str):
            return Response(reply, media_type="text/event-stream", headers=self.headers)
        return StreamingResponse(reply, media_type="text/event-stream", headers=self.headers)


def run_of(*events: Json) -> str:
    """A body with these events between the beginning and the end of a run."""
    ids = {"threadId": "t-1", "runId": "r-1"}
    return sse({"type": "RUN_STARTED", **ids}, *events, {"type": "RUN_FINISHED", **ids})


def refusal(status: int, **body: Any) -> Response:
    """An HTTP error."""
    return JSONResponse(body, status)


@asynccontextmanager
async def scripted(*replies: Reply | Callable[[], Reply]) -> AsyncIterator[Scripted]:
    """A server that isn't agui-gate."""
    server = Scripted(*replies)
    routes = [
        Route("/agent", server.run, methods=["POST"]),
        Route("/agent/threads/{id}/cancel", server.cancel, methods=["POST"]),
    ]
    async with serving(Starlette(routes=routes)) as url:
        server.url = f"{url}/agent"
        yield server


@asynccontextmanager
async def client_of(url: str, **limits: Any) -> AsyncIterator[Client]:
    """A client of that address; what it is not told about takes at most as long as a slow machine needs."""
    async with Client(url, limits=Limits(**{"idle": 60.0, "total": 60.0} | limits)) as client:
        yield client
