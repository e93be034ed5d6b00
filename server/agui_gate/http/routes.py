"""The routes of docs/http-api.md. Each that touches a thread or an approval asks the guard for its principal first."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from agui_gate.agents.agent import Agent
from agui_gate.errors import NotFound
from agui_gate.http.approvals import ApprovalRoutes
from agui_gate.http.assets import page_routes
from agui_gate.http.auth import Guard
from agui_gate.http.body_decoder import run_input
from agui_gate.http.capabilities import capabilities
from agui_gate.http.copilotkit import CopilotKitRoutes
from agui_gate.http.limits import json_body
from agui_gate.http.runs import RunRoutes, begun_before, knows_us, stops_alone, stream
from agui_gate.http.sse import EventStream
from agui_gate.http.threads import ThreadRoutes
from agui_gate.http.views import agent_view, json_response
from agui_gate.runs.engine import Engine


class Routes:
    """Request handlers over one engine."""

    def __init__(self, engine: Engine, guard: Guard, max_body: int) -> None:
        self._engine, self._guard, self._max_body = engine, guard, max_body

    def all(self, *, page: bool) -> list[BaseRoute]:
        """Every route; ``page`` includes the built-in page."""
        runs = RunRoutes(self._engine, self._guard)
        routes: list[BaseRoute] = [
            Route("/", self.run, methods=["POST"]),
            Route("/agents", self.agents),
            Route("/agents/{name}", self.run, methods=["POST"]),
            Route("/agents/{name}/connect", self.connect, methods=["POST"]),
            Route("/agents/{name}/capabilities", self.capabilities),
            Route("/runs/{run_key}/events", runs.events),
            Route("/threads/{id:path}/cancel", runs.cancel, methods=["POST"]),
            *ApprovalRoutes(self._engine, self._guard, self._max_body).all(),
            *ThreadRoutes(self._engine, self._guard, self._max_body).all(),
            *CopilotKitRoutes(self._engine, self._guard, self._max_body).all(),
            Route("/healthz", self.healthy),
            Route("/readyz", self.ready),
        ]
        if page:
            routes += page_routes()
        return routes

    async def run(self, request: Request) -> Response:
        """`POST /` and `POST /agents/{name}`: one run, as an event stream."""
        principal = await self._guard.principal(request)
        agent = self._agent(request.path_params.get("name"))
        run = await run_input(await json_body(request, self._max_body))
        await self._engine.start()
        ours = knows_us(request)
        return await begun_before(self._engine, request, agent, principal, run) or await stream(
            await self._engine.run(
                agent, run, principal, stop_alone=stops_alone(agent, request), keeps_state=ours, reads_stops=ours
            )
        )

    async def connect(self, request: Request) -> Response:
        """`POST /agents/{name}/connect`: the conversation as it stands, then the running run's tail.

        A thread that isn't there yet is a run in which nothing was said: a page connects before its first message.
        """
        principal = await self._guard.principal(request)
        agent = self._agent(request.path_params["name"])
        run = await run_input(await json_body(request, self._max_body))
        await self._engine.start()
        reader, live, run_key = await self._engine.connect(agent, run, principal, reads_stops=knows_us(request))
        return EventStream(reader, run_key, live.leave if live else lambda: None)

    async def agents(self, request: Request) -> Response:
        """`GET /agents`."""
        await self._guard.principal(request)
        engine = self._engine
        return json_response({"agents": [agent_view(engine.team(agent)) for agent in engine.agents.values()]})

    async def capabilities(self, request: Request) -> Response:
        """`GET /agents/{name}/capabilities`."""
        await self._guard.principal(request)
        return json_response(capabilities(self._engine.team(self._agent(request.path_params["name"]))))

    async def healthy(self, request: Request) -> Response:
        """`GET /healthz`: the process answers."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """`GET /readyz`: new runs are taken, and the store can be read and written. Raises `Unavailable` (503)."""
        await self._engine.start()
        self._engine.check_open()
        await self._engine.store.check()
        return JSONResponse({"status": "ready"})

    def _agent(self, name: str | None) -> Agent:
        agents = self._engine.agents
        agent = next(iter(agents.values())) if name is None else agents.get(name)
        if agent is None:
            raise NotFound("There is no such agent.")
        return agent
