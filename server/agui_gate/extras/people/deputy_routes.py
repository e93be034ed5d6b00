"""`/deputies`: who is away names who decides in their place; and `POST /approvals/{id}/hand-to`.

Whoever names a deputy gives what their token says that they may, and no more. They see and remove theirs; so does the
deputy; operators do so for all of their tenant.
"""

import secrets
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.core.deputies import Deputy
from agui_gate.core.principals import Caller, checked_name, tenant_of
from agui_gate.errors import Forbidden, InvalidRequest, NotFound
from agui_gate.extras.people.givers import check_caller, is_current
from agui_gate.extras.people.hand_to import hand_to
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.auth import caller_of
from agui_gate.http.request_body import json_value
from agui_gate.http.server import HttpServer
from agui_gate.http.views import json_response
from agui_gate.protocol.cards import iso
from agui_gate.stores.capabilities import DeputyStore


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the routes."""
    found = DeputyRoutes(server)
    return [
        Route("/deputies", found.page),
        Route("/deputies", found.name, methods=["POST"]),
        Route("/deputies/{id}", found.remove, methods=["DELETE"]),
        Route("/approvals/{id}/hand-to", found.hand_to, methods=["POST"]),
    ]


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /deputies`. Times are ISO 8601, UTC if they say nothing else; ``since``: default now."""

    deputy: str
    until: str
    since: str | None = None
    way: Literal["http", "shell"] = "http"


class HandedTo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `POST /approvals/{id}/hand-to`: a colleague's principal."""

    to: str
    way: Literal["http", "shell"] = "http"


class DeputyRoutes:
    """Handlers over one server. A deputy that never was and one of others are the same 404."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    async def page(self, request: Request) -> Response:
        """`GET /deputies`: those whose time is not over, the first to begin first."""
        owner = await self._server.principal(request)
        by, store = caller_of(request), self._store()
        if store is None or by is None:
            return json_response({"deputies": []})
        tenant = tenant_of(owner)
        if "operator" in rights_of(by.principal):
            found = list(await store.find("tenant", tenant))
        else:
            who = by.principal.id
            found = [*await store.find("absent", tenant, who), *await store.find("deputy", tenant, who)]
        return json_response({"deputies": [deputy_view(self._server.store, one) for one in found]})

    async def name(self, request: Request) -> Response:
        """`POST /deputies`: from then on somebody may decide in the place of who asks."""
        await self._server.principal(request)
        by, store = _known(request), self._store()
        if store is None:
            raise InvalidRequest("This store keeps no deputies.", well_formed=True)
        wanted = _read(await json_value(await self._server.body(request)), Named)
        await check_caller(by)
        who = by.principal
        deputy = Deputy(
            id=f"dep_{secrets.token_hex(16)}",
            tenant=who.tenant,
            absent=who.id,
            person=who.person,
            roles=who.roles,
            jti=by.login.jti if by.login else "",
            acts_for=who.acts_for,
            deputy=_name(wanted.deputy, "deputy"),
            since=0 if wanted.since is None else _time("since", wanted.since),
            until=_time("until", wanted.until),
        )
        return json_response(deputy_view(self._server.store, await store.add(deputy, wanted.way)), 201)

    async def remove(self, request: Request) -> Response:
        """`DELETE /deputies/{id}`: once it has answered, no call is let go by them."""
        owner = await self._server.principal(request)
        by, store = caller_of(request), self._store()
        found = () if store is None else await store.find("id", tenant_of(owner), request.path_params["id"])
        if store is None or by is None or not any(_is_theirs(one, by) for one in found):
            raise NotFound("There is no such deputy.")
        way = "shell" if request.query_params.get("way") == "shell" else "http"
        if not await store.remove(found[0].id, by.principal.id, way):
            raise NotFound("There is no such deputy.")
        return json_response({"id": found[0].id, "removed": True})

    async def hand_to(self, request: Request) -> Response:
        """`POST /approvals/{id}/hand-to`: names a colleague who is to decide a call, and has them told."""
        principal = await self._server.principal(request)
        by = _known(request)
        wanted = _read(await json_value(await self._server.body(request)), HandedTo)
        to = _name(wanted.to, "to")
        handed = await hand_to(self._server.engine, principal, request.path_params["id"], by, to, wanted.way)
        return json_response(
            {"id": handed.id, "state": str(handed.state.public), "handed_to": {"to": to, "by": by.principal.id}}
        )

    def _store(self) -> DeputyStore | None:
        store: Any = self._server.store
        return store.deputies() if hasattr(store, "deputies") else None


def _known(request: Request) -> Caller:
    """Returns who asks. Raises `Forbidden` where `auth` says no more than whose threads they are."""
    by = caller_of(request)
    if by is None:
        raise Forbidden("This needs a Principal: auth names whose threads they are, and nobody in particular.")
    return by


def _is_theirs(deputy: Deputy, by: Caller) -> bool:
    return "operator" in rights_of(by.principal) or by.principal.id in (deputy.absent, deputy.deputy)


def _read(payload: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(payload, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"The body was not understood: {str(error)[:200]}.", well_formed=True) from None


def _name(name: str, what: str) -> str:
    try:
        return checked_name(name, what)
    except ValueError:
        raise InvalidRequest(
            f"'{what}' is the id of a principal: 1 to 500 characters, and no control characters.", well_formed=True
        ) from None


def _time(name: str, text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise InvalidRequest(f"'{name}' must be a time, such as 2026-12-01T08:00:00Z.", well_formed=True) from None


def deputy_view(store: Any, deputy: Deputy) -> dict[str, Any]:
    """Returns a deputy as responses have them."""
    return {
        "id": deputy.id,
        "absent": deputy.absent,
        "deputy": deputy.deputy,
        "roles": list(deputy.roles),
        "counts": is_current(store, deputy),
        "since": iso(deputy.since),
        "until": iso(deputy.until),
        "at": iso(deputy.at),
    }
