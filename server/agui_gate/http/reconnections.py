"""Routes by which a client comes back: to a thread, to a run, or to the run that the same request began."""

import re
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from agui_gate.agents.agent import Agent
from agui_gate.bus.base import Published
from agui_gate.errors import Gone, InvalidRequest, NotFound
from agui_gate.http.request_body import headers_of, json_body, run_input
from agui_gate.http.runs import knows_us
from agui_gate.http.server import HttpServer
from agui_gate.http.sse import EventStream
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.engine import Engine
from agui_gate.runs.last_event_id import repeated
from agui_gate.runs.live_run import LiveRun

_CURSOR = re.compile(r"(?:(.+):)?([0-9]{1,15})")
_EVENT_ID = re.compile(r"([A-Za-z0-9_]{1,64}):([0-9]{1,15})")


async def begun_before(
    engine: Engine, request: Request, agent: Agent, principal: str, run: RunInput
) -> EventStream | None:
    """Returns the rest of the run that this request began when it came first, if its `Last-Event-ID` says that it did.
    `runs/last_event_id.py` decides that.

    Raises `InvalidRequest` for what is no id of ours, and `Gone` for what is no longer kept.
    """
    if b"last-event-id" not in headers_of(request):
        return None
    cursors = {cursor for cursor in request.headers.getlist("last-event-id") if cursor}
    if not cursors:
        return None
    cursor = cursors.pop()
    named = _EVENT_ID.fullmatch(cursor)
    if named is None or cursors:
        raise InvalidRequest(
            "Last-Event-ID is not the id of an event: send the id of the last event you received, or omit the header."
        )
    found = await repeated(engine, agent, principal, run, named[1])
    return None if found is None else await _rest(engine, *found, _position(cursor, found[0]))


class ReconnectionRoutes:
    """The handlers of these routes over one server."""

    def __init__(self, server: HttpServer) -> None:
        self._engine, self._guard, self._max_body = server.engine, server.guard, server.max_body

    async def connect(self, request: Request) -> Response:
        """`POST /agents/{name}/connect`: the conversation as it stands, then the running run's tail.

        A thread that isn't there yet is a run in which nothing was said: a page connects before its first message.
        """
        principal = await self._guard.principal(request)
        agent = self._engine.agent(request.path_params["name"])
        run = await run_input(await json_body(request, self._max_body), partial(self._engine.sent_before, principal))
        await self._engine.start()
        knows = knows_us(headers_of(request))
        reader, live, run_key = await self._engine.connect(agent, run, principal, reads_stops=knows)
        return EventStream(reader, run_key, live.leave if live else lambda _: None)

    async def events(self, request: Request) -> Response:
        """`GET /runs/{run_key}/events`: what was missed after `Last-Event-ID` (or ``?after=``), then the live tail.

        Unknown and other principals' runs are the same 404. A cursor of another run, from the future, or garbage is
        400; one that is older than what is kept is 410.
        """
        principal = await self._guard.principal(request)
        run_key = request.path_params["run_key"]
        found = await self._engine.published(principal, run_key)
        if found is None:
            raise _unknown()
        published, live = found
        cursor = request.headers.get("last-event-id") or request.query_params.get("after")
        return await _rest(self._engine, published, live, _position(cursor, published))


async def _rest(engine: Engine, published: Published, live: LiveRun | None, after: int) -> EventStream:
    """Returns the stream of what a run said after frame ``after``, and says from now on."""
    if live is not None:
        return EventStream(await live.read(after), live.key, live.leave)
    reader = await engine.read(published.run_key, after)
    if reader is None:  # gone in this very moment
        raise _unknown()
    return EventStream(reader, published.run_key, lambda _: None)


def _unknown() -> NotFound:
    return NotFound("There is no such run, or its events are no longer kept.")


def _position(cursor: str | None, published: Published) -> int:
    """Returns the sequence number after which to go on; -1 for the beginning."""
    after = -1
    if cursor:
        found = _CURSOR.fullmatch(cursor)
        if found is None or found[1] not in (None, published.run_key) or int(found[2]) >= published.next:
            raise InvalidRequest("The cursor is not an event of this run: send the id of the last event you received.")
        after = int(found[2])
    if after + 1 < published.first:
        where = f"GET /threads/{published.thread_id}"
        raise Gone(f"These events are no longer kept. {where} returns the conversation.")
    return after
