"""`GET /approvals/events`: a principal's approvals as they come and are decided.

Streams of runs are an ASGI response of our own, for their speed (ADR 0002). Here a few events an hour are told to
people, so this is sse-starlette's. It pings, bounds every send, and ends with the server, also where that isn't ours.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial

import msgspec
import structlog
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from agui_gate.config.limits import SEND_TIMEOUT
from agui_gate.core.approvals import Approval
from agui_gate.errors import Unauthorized, Unavailable
from agui_gate.extra_loader import load
from agui_gate.extras.inbox.feed import Emergency, Gone, Told, Waiting, inbox_of
from agui_gate.http.auth import ENDED, Admission, admission_of, caller_of
from agui_gate.http.server import HttpServer
from agui_gate.http.sse import HEADERS, PING_INTERVAL, cycle_of, hang_up
from agui_gate.http.views import Agents, listed_view

RETRY_MS = 3000
"""Milliseconds after which a browser connects again by itself."""

END_SECONDS = 2.0
"""Seconds that a stream may take to end by itself once the server stops. Its watcher ends with the engine."""

log = structlog.get_logger("agui_gate.http")


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the route."""
    engine = server.engine
    inbox = inbox_of(engine)

    async def events(request: Request) -> Response:
        principal, by = await server.principal(request), caller_of(request)
        concerns = None
        if by is not None:
            concerns = partial(load("people.approvers").concerns, server.store, engine.members, by)
        told = inbox.watch(principal, concerns)
        return InboxStream(told, engine.members, request.app.state.send_timeout, admission_of(request.scope))

    return [Route("/approvals/events", events)]


class InboxStream(EventSourceResponse):
    """Sends what ``told`` tells, until it ends, the client leaves or takes nothing, or the server stops.

    It also ends when ``admission`` stands no more: nothing new is handed out for a token that has expired.
    """

    def __init__(
        self,
        told: AsyncGenerator[Told, None],
        agents: Agents,
        send_timeout: float = SEND_TIMEOUT,
        admission: Admission | None = None,
    ) -> None:
        super().__init__(
            _events(told, agents, admission),
            data_sender_callable=None if admission is None else partial(_end, admission),
            headers={"cache-control": HEADERS["cache-control"]},
            sep="\n",
            ping=PING_INTERVAL,
            ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
            send_timeout=send_timeout,
            shutdown_grace_period=END_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        try:
            await super().__call__(scope, receive, send)
        except TimeoutError:
            log.warning("reader_dropped", why="the client reads too slowly", of="approvals")
            hang_up(cycle_of(receive))
        except Unauthorized as error:
            log.warning("reader_dropped", why=error.message, of="approvals")
            hang_up(cycle_of(receive))
        except OSError:
            pass  # the client is gone


async def _end(admission: Admission) -> None:
    """Raises `Unauthorized` once it stands no more."""
    while True:
        await asyncio.sleep(admission.AGAIN_SECONDS)
        if not await admission.stands():
            raise Unauthorized(ENDED)


async def _events(
    told: AsyncGenerator[Told, None], agents: Agents, admission: Admission | None
) -> AsyncIterator[ServerSentEvent]:
    first: int | None = RETRY_MS
    async with aclosing(told):
        try:
            async for item in told:
                if admission is not None and not await admission.stands_now():
                    raise Unauthorized(ENDED)
                name, data = _named(item, agents)
                yield ServerSentEvent(msgspec.json.encode(data).decode(), event=name, retry=first, sep="\n")
                first = None
        except Unavailable as error:  # the client connects again
            log.warning("approvals_not_read", why=error.message)


def _named(item: Told, agents: Agents) -> tuple[str, object]:
    """Returns an event's name and its data."""
    match item:
        case Approval():
            return "approval", listed_view(item, agents)
        case Waiting():
            return "waiting", {"ids": item.ids}
        case Gone():
            return "gone", {"id": item.id}
        case Emergency():
            return "break_glass", listed_view(item.record, agents)
