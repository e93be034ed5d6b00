"""The route that begins runs."""

from collections.abc import Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from agui_gate.agents.agent import Agent
from agui_gate.http.auth import caller_of
from agui_gate.http.request_body import headers_of, json_body, run_input
from agui_gate.http.server import HttpServer
from agui_gate.http.sse import EventStream
from agui_gate.runs.live_run import LiveRun

LEAVING = b"agui-gate-leaving"
"""The header by which a client says what it means when it closes a run's stream: ``continue``, or ``cancel``."""


def stops_alone(agent: Agent, *, ours: bool) -> bool:
    """Returns whether a run is stopped when nobody reads it: see docs/http-api.md#disconnecting. ``ours``: its client
    `knows_us`.
    """
    if agent.on_disconnect == "auto":
        return not ours
    return agent.on_disconnect == "cancel"


def knows_us(headers: Mapping[bytes, bytes]) -> bool:
    """Returns whether the client was written for this server: it says how it leaves
    (docs/http-api.md#disconnecting). ``headers``: see `headers_of`.
    """
    return headers.get(LEAVING, b"").strip().lower() == b"continue"


async def stream(live: LiveRun) -> EventStream:
    """Returns the whole of a run, from its first event."""
    return EventStream(await live.read(), live.key, live.leave, ready=True)  # RUN_STARTED is there


class RunRoutes:
    """The handler of these routes over one server."""

    def __init__(self, server: HttpServer) -> None:
        self._engine, self._guard, self._max_body = server.engine, server.guard, server.max_body

    async def run(self, request: Request) -> Response:
        """`POST /` and `POST /agents/{name}`: one run, as an event stream."""
        principal = await self._guard.principal(request)
        agent = self._engine.agent(request.path_params.get("name"))
        run = await run_input(await json_body(request, self._max_body), partial(self._engine.sent_before, principal))
        await self._engine.start()
        headers = headers_of(request)
        if b"last-event-id" in headers:
            from agui_gate.http.reconnections import begun_before

            if (begun := await begun_before(self._engine, request, agent, principal, run)) is not None:
                return begun
        ours = knows_us(headers)
        return await stream(
            await self._engine.run(
                agent,
                run,
                principal,
                stop_alone=stops_alone(agent, ours=ours),
                keeps_state=ours,
                reads_stops=ours,
                by=caller_of(request),
            )
        )
