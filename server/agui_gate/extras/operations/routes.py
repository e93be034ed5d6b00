"""Serves `/ops/…` to operators: what everybody of their tenant does, and what can be done about it.

Without authentication it is for this machine alone, as all other routes.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.core.approvals import LOCAL
from agui_gate.core.freezes import Freeze
from agui_gate.core.principals import tenant_of
from agui_gate.errors import Forbidden, InvalidRequest
from agui_gate.extras.operations.desk import Desk, Json, page_size
from agui_gate.extras.operations.summary import Summary
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.auth import caller_of
from agui_gate.http.request_body import json_value
from agui_gate.http.server import HttpServer
from agui_gate.http.views import json_response

Handler = Callable[[Request], Awaitable[Response]]


class _Settled(msgspec.Struct, forbid_unknown_fields=True):
    done: bool
    result: str
    reason: str


class _Stop(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    owner: str | None = None


class _HandOn(msgspec.Struct, forbid_unknown_fields=True):
    to: str
    reason: str


class _Freeze(msgspec.Struct, forbid_unknown_fields=True):
    reason: str = ""
    tool: str | None = None
    agent: str | None = None
    tenant: str | None = None
    lift: bool = False


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the routes."""
    found = OperatorRoutes(server)
    return [
        Route("/ops/runs", found.runs),
        Route("/ops/threads", found.threads),
        Route("/ops/threads/{id:path}/stop", found.stop, methods=["POST"]),
        Route("/ops/approvals", found.approvals),
        Route("/ops/approvals/{id}", found.approval),
        Route("/ops/approvals/{id}/settle", found.settle, methods=["POST"]),
        Route("/ops/owners/{id:path}/hand-on", found.hand_on, methods=["POST"]),
        Route("/ops/owners/{id:path}", found.who),
        Route("/ops/summary", found.summary),
        Route("/ops/sizes", found.sizes),
        Route("/ops/freezes", found.freezes),
        Route("/ops/freezes", found.freeze, methods=["POST"]),
    ]


class OperatorRoutes:
    """Handlers over one server. What belongs to another tenant is the same 404 as what never was."""

    def __init__(self, server: HttpServer) -> None:
        self._server, self._summary = server, Summary(server.engine)

    async def _desk(self, request: Request) -> Desk:
        """Returns the desk of who asks. Raises `Forbidden`."""
        owner = await self._server.principal(request)
        engine, by = self._server.engine, caller_of(request)
        if self._server.guard.loopback_only:
            return Desk(engine.store, LOCAL, None, engine.cancel)
        if by is None or "operator" not in rights_of(by.principal):
            raise Forbidden("Your roles don't allow this request. It needs the role operator.")
        return Desk(engine.store, by.principal.id, tenant_of(owner), engine.cancel)

    async def runs(self, request: Request) -> Response:
        """`GET /ops/runs`: what is at work."""
        return json_response(await (await self._desk(request)).runs())

    async def threads(self, request: Request) -> Response:
        """`GET /ops/threads?owner=&limit=&cursor=`."""
        desk, query = await self._desk(request), request.query_params
        limit = page_size(query.getlist("limit"))
        owner, cursor = query.get("owner"), query.get("cursor")
        return json_response(await desk.threads(owner=owner, limit=limit, cursor=cursor))

    async def approvals(self, request: Request) -> Response:
        """`GET /ops/approvals?state=&limit=&cursor=`."""
        desk, query = await self._desk(request), request.query_params
        limit, state = page_size(query.getlist("limit")), query.get("state", "pending")
        return json_response(await desk.approvals(state, limit=limit, cursor=query.get("cursor")))

    async def approval(self, request: Request) -> Response:
        """`GET /ops/approvals/{id}`: one with its arguments."""
        return json_response(await (await self._desk(request)).approval(request.path_params["id"]))

    async def who(self, request: Request) -> Response:
        """`GET /ops/owners/{id}`: what belongs to an owner."""
        return json_response(await (await self._desk(request)).who(request.path_params["id"]))

    async def stop(self, request: Request) -> Response:
        """`POST /ops/threads/{id}/stop` with why."""
        desk = await self._desk(request)
        said = await self._said(request, _Stop)
        return json_response(await desk.stop(request.path_params["id"], said.reason, said.owner))

    async def settle(self, request: Request) -> Response:
        """`POST /ops/approvals/{id}/settle` with what was found out."""
        desk = await self._desk(request)
        said = await self._said(request, _Settled)
        return json_response(await desk.settle(request.path_params["id"], said.done, said.result, said.reason))

    async def hand_on(self, request: Request) -> Response:
        """`POST /ops/owners/{id}/hand-on` with to whom, and why."""
        desk = await self._desk(request)
        said = await self._said(request, _HandOn)
        return json_response(await desk.hand_on(request.path_params["id"], said.to, said.reason))

    async def summary(self, request: Request) -> Response:
        """`GET /ops/summary`: how much waits and is used, and what runs here."""
        desk = await self._desk(request)
        return json_response(await self._summary.summary(desk.tenant))

    async def sizes(self, request: Request) -> Response:
        """`GET /ops/sizes`: what the store holds."""
        desk = await self._desk(request)
        return json_response(await self._summary.sizes(desk.tenant))

    async def freezes(self, request: Request) -> Response:
        """`GET /ops/freezes`."""
        return json_response(await (await self._desk(request)).freezes())

    async def freeze(self, request: Request) -> Response:
        """`POST /ops/freezes`: freezes calls, or lifts that."""
        desk = await self._desk(request)
        said = await self._said(request, _Freeze)
        wanted = Freeze(tool=said.tool, agent=said.agent, of_tenant=said.tenant, reason=said.reason)
        return json_response(await desk.freeze(wanted, lift=said.lift))

    async def _said(self, request: Request, kind: type[Any]) -> Any:
        sent: Json = await json_value(await self._server.body(request))
        try:
            return msgspec.convert(sent, kind)
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"The body doesn't fit: {error}.", well_formed=True) from None
