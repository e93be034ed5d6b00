"""Serves what CopilotKit's provider calls on its `runtimeUrl`: `<CopilotKitProvider
runtimeUrl="http://host/copilotkit">`.

Observed with `@copilotkit/core` and `react-core` 1.74; `@copilotkit/runtime` 1.75 answers the same requests alike. They
differ from our own routes in these points:

* A socket that closes means nothing: the page closes and opens them as it mounts, and stops a run by saying so. So a
  run is never stopped for want of readers, whatever the agent's `on_disconnect` says. A connected page merely watches
  runs that were begun elsewhere.
* `connect` doesn't tell again that the last run failed or was stopped: the page would report it each time it is opened.
  That a run was lost with its process is told, as nobody was told before.
* The first agent is also called `default`, unless there is an agent of that name: a page that names none asks for it.
* Errors have a `message` beside our `error`, which the client shows for `/info`. An unknown agent of `/stop` is told
  in the runtime's own shape.
* Suggestions ("what could the person say next?") are runs of which nothing is kept: `/agent/{id}/suggest`, and a run
  that forces the client's own tool for them.
* Without an answer to `GET /info` the client wraps everything into one route (`POST /copilotkit`); that works too.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.agents.agent import Agent
from agui_gate.errors import AguiGateError, InvalidRequest, NotFound
from agui_gate.extras.copilotkit import views
from agui_gate.extras.suggestions import without_tools
from agui_gate.http.auth import caller_of
from agui_gate.http.exception_handlers import on_own_error
from agui_gate.http.reconnections import begun_before
from agui_gate.http.request_body import decoded, run_input
from agui_gate.http.runs import stream
from agui_gate.http.server import HttpServer
from agui_gate.http.sse import EventStream
from agui_gate.http.threads import checked_title
from agui_gate.http.views import json_response, large_response
from agui_gate.protocol.member_names import agreed
from agui_gate.protocol.run_input import check_id
from agui_gate.runs.stop_and_delete import Ended
from agui_gate.stores.base import Thread, ThreadHead
from agui_gate.threads.budget import Reservation

BASE = "/copilotkit"
DEFAULT = "default"
"""The agent that a page means that names none."""

STOPPED = {"type": "RUN_ERROR", "message": "Run stopped by user", "code": "STOPPED"}

Handler = Callable[[Request], Awaitable[Response]]


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the routes."""
    return CopilotKitRoutes(server).all()


class CopilotKitRoutes:
    """The handlers of these routes over one server."""

    def __init__(self, server: HttpServer) -> None:
        self._server, self._engine, self._guard = server, server.engine, server.guard
        agents = server.agents
        self._agents: dict[str, Agent] = {**agents, DEFAULT: agents.get(DEFAULT, server.engine.agent(None))}

    def all(self) -> list[BaseRoute]:
        """Returns the routes. Thread ids may contain slashes, so what goes on after an id stands before what ends in
        one.
        """
        handlers: list[tuple[str, str, Handler]] = [
            ("POST", "", self.single),
            ("POST", "/", self.single),
            ("GET", "/info", self.info),
            ("POST", "/agent/{agent}/run", self.run),
            ("POST", "/agent/{agent}/suggest", self.suggest),
            ("POST", "/agent/{agent}/connect", self.connect),
            ("POST", "/agent/{agent}/stop/{id:path}", self.stop),
            ("GET", "/threads", self.threads),
            ("GET", "/threads/{id:path}/messages", self.messages),
            ("GET", "/threads/{id:path}/state", self.state),
            ("GET", "/threads/{id:path}/events", self.events),
            ("POST", "/threads/{id:path}/archive", self.archive),
            ("PATCH", "/threads/{id:path}", self.change),
            ("DELETE", "/threads/{id:path}", self.delete),
        ]
        return [Route(BASE + path, _with_message(handler), methods=[method]) for method, path, handler in handlers]

    # --- runs ---------------------------------------------------------------------------------------------------
    async def info(self, request: Request) -> Response:
        """`GET /info`: which agents there are, and what else may be called."""
        await self._guard.principal(request)
        return self._info()

    async def run(self, request: Request) -> Response:
        """`POST /agent/{id}/run`: one run, as an event stream."""
        principal, body = await self._server.sent(request)
        return await self._run(request, principal, request.path_params["agent"], body)

    async def suggest(self, request: Request) -> Response:
        """`POST /agent/{id}/suggest`: a run of which nothing is kept, as an event stream; it ends with its reader."""
        principal, body = await self._server.sent(request)
        agent, run = (
            self._agent(request.path_params["agent"]),
            await run_input(body, partial(self._engine.sent_before, principal)),
        )
        await self._engine.start()
        return await begun_before(self._engine, request, agent, principal, run) or await stream(
            await self._engine.aside(without_tools(agent), run, principal, caller_of(request))
        )

    async def connect(self, request: Request) -> Response:
        """`POST /agent/{id}/connect`: the conversation as it stands, then the running run's tail."""
        principal, body = await self._server.sent(request)
        return await self._connect(principal, request.path_params["agent"], body)

    async def stop(self, request: Request) -> Response:
        """`POST /agent/{id}/stop/{threadId}`: ends the run, and with it every stream of it."""
        principal, body = await self._server.sent(request)
        return await self._stop(principal, request.path_params["agent"], request.path_params["id"], body)

    async def single(self, request: Request) -> Response:
        """`POST /copilotkit`: any of the above in an envelope ``{"method", "params", "body"}``."""
        principal, body = await self._server.sent(request)
        call = await decoded(lambda text: views.decoded(text, views.Call), body)
        agent, inner = call.params.get("agentId", DEFAULT), bytes(call.body)
        if call.method in ("agent/run", "agent/connect"):
            request.scope.get("agui_gate.opens_stream", _nothing)()  # `AGUI_GATE_LIMITS`
        match call.method:
            case "info":
                return self._info()
            case "agent/run":
                return await self._run(request, principal, agent, inner)
            case "agent/connect":
                return await self._connect(principal, agent, inner)
            case "agent/stop":
                return await self._stop(principal, agent, call.params.get("threadId", ""), inner)
        raise InvalidRequest("Use one of the methods info, agent/run, agent/connect and agent/stop.", well_formed=True)

    def _info(self) -> Response:
        return json_response(views.info({name: self._engine.team(agent) for name, agent in self._agents.items()}))

    async def _run(self, request: Request, principal: str, name: str, body: bytes) -> Response:
        agent, run = self._agent(name), await run_input(body, partial(self._engine.sent_before, principal))
        await self._engine.start()
        return await begun_before(self._engine, request, agent, principal, run) or await stream(
            await self._engine.run(agent, run, principal, stop_alone=False, reads_stops=True, by=caller_of(request))
        )

    async def _connect(self, principal: str, name: str, body: bytes) -> Response:
        agent, run = self._agent(name), await run_input(body, partial(self._engine.sent_before, principal))
        await self._engine.start()
        reader, _, run_key = await self._engine.connect(agent, run, principal, watching=True, reads_stops=True)
        return EventStream(reader, run_key, lambda _: None)

    async def _stop(self, principal: str, name: str, thread_id: str, body: bytes) -> Response:
        if name not in self._agents:
            return json_response({"error": "Agent not found", "message": f"Agent '{name}' does not exist"}, 404)
        check_id(thread_id, "threadId")
        stop = views.decoded(body, views.Stop, well_formed=False) if body else views.Stop()
        run_id = agreed(stop.run_id, stop.snake_run_id, "run_id")
        await self._engine.start()
        if await self._engine.cancel(principal, thread_id, run_id) is Ended.STOPPED:
            return json_response({"stopped": True, "interrupt": STOPPED})
        return json_response({"stopped": False, "message": f"No active run for thread '{thread_id}'."})

    # --- threads ------------------------------------------------------------------------------------------------
    async def threads(self, request: Request) -> Response:
        """`GET /threads?agentId=&limit=&cursor=&includeArchived=`, newest first."""
        principal = await self._guard.principal(request)
        query = request.query_params
        named = query.get("agentId")
        agent = self._agents[named].name if named in self._agents else named
        limit, cursor = views.limit_of(query), query.get("cursor") or None
        archived = None if query.get("includeArchived") == "true" else False
        await self._engine.start()
        page = await self._engine.store.list_threads(
            principal, limit=limit, cursor=cursor, archived=archived, agent=agent
        )
        return json_response({"threads": [views.row(head) for head in page.threads], "nextCursor": page.next_cursor})

    async def change(self, request: Request) -> Response:
        """`PATCH /threads/{id}`: its name, and whether it is archived."""
        principal, body = await self._server.sent(request)
        changes = views.decoded(body, views.Changes)
        title = checked_title(changes.name) if isinstance(changes.name, str) else changes.name
        return json_response(views.row(await self._update(request, principal, title=title, archived=changes.archived)))

    async def archive(self, request: Request) -> Response:
        """`POST /threads/{id}/archive`."""
        principal, _ = await self._server.sent(request)
        head = await self._update(request, principal, archived=True)
        return json_response({"threadId": head.id, "archived": True})

    async def delete(self, request: Request) -> Response:
        """`DELETE /threads/{id}`: as `DELETE /threads/{thread_id}` of our own routes."""
        principal, _ = await self._server.sent(request)
        thread_id = _thread_id(request)
        await self._engine.start()
        if not await self._engine.delete_thread(principal, thread_id):
            raise _missing()
        return json_response({"threadId": thread_id, "deleted": True})

    async def messages(self, request: Request) -> Response:
        """`GET /threads/{id}/messages`, for CopilotKit's inspector."""
        thread, reservation = await self._thread(request)
        return await large_response(thread, reservation, views.inspected_thread, thread, self._engine.members)

    async def state(self, request: Request) -> Response:
        """`GET /threads/{id}/state`, for CopilotKit's inspector."""
        thread, reservation = await self._thread(request)
        try:
            return json_response({"state": thread.state})
        finally:
            reservation.release()

    async def events(self, request: Request) -> Response:
        """`GET /threads/{id}/events`, for CopilotKit's inspector: none, as a thread is kept as a conversation."""
        principal, thread_id = await self._named(request)
        if await self._engine.store.read_thread(principal, thread_id, whole=False) is None:
            raise _missing()
        return json_response({"events": []})

    # --- small things -------------------------------------------------------------------------------------------
    async def _named(self, request: Request) -> tuple[str, str]:
        """Returns the principal who asks, and the thread's id; the engine is started."""
        principal = await self._guard.principal(request)
        thread_id = _thread_id(request)
        await self._engine.start()
        return principal, thread_id

    async def _thread(self, request: Request) -> tuple[Thread, Reservation]:
        found = await self._engine.read_thread(*await self._named(request))
        if found is None:
            raise _missing()
        return found

    async def _update(self, request: Request, principal: str, **changes: Any) -> ThreadHead:
        thread_id = _thread_id(request)
        await self._engine.start()
        head = await self._engine.store.update_thread(principal, thread_id, **changes)
        if head is None:
            raise _missing()
        return head

    def _agent(self, name: str) -> Agent:
        agent = self._agents.get(name)
        if agent is None:
            raise NotFound("There is no such agent.")
        return agent


def _thread_id(request: Request) -> str:
    thread_id: str = request.path_params["id"]
    check_id(thread_id, "threadId")
    return thread_id


def _nothing() -> None:
    """Does nothing."""


def _missing() -> NotFound:
    return NotFound("There is no such thread.")


def _with_message(handler: Handler) -> Handler:
    """Returns ``handler``, with a `message` in its errors: what the client shows of them."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except AguiGateError as error:
            refused = await on_own_error(request, error)
            body = msgspec.json.decode(refused.body) | {"message": error.message}
            headers = {name: value for name, value in refused.headers.items() if name != "content-length"}
            return Response(msgspec.json.encode(body), refused.status_code, headers)

    return answered
