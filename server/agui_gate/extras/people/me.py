"""`GET /me`: who asks, which routes their roles open, and whose deputies they are.

A page learns here what to offer, so it needs no request that is refused. It gives nothing: each route asks by itself.
"""

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.core.approvals import LOCAL, Login
from agui_gate.core.deputies import Deputy
from agui_gate.core.principals import By, Principal, tenant_of
from agui_gate.extras.people.approvers import may_break_glass
from agui_gate.extras.people.deputies import deputies_of
from agui_gate.extras.people.deputy_routes import deputy_view
from agui_gate.extras.people.rights import RIGHTS, rights_of
from agui_gate.http.auth import caller_of
from agui_gate.http.server import HttpServer
from agui_gate.http.views import json_response


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the route."""

    async def show(request: Request) -> Response:
        owner = await server.principal(request)
        by = caller_of(request)
        named, is_for = await _deputies(server.store, owner, by)
        deputies = {"deputies": named, "deputy_of": is_for}
        shown = {name: [deputy_view(server.store, one) for one in found] for name, found in deputies.items()}
        return json_response(_view(owner, by) | shown)

    return [Route("/me", show)]


async def _deputies(store: Any, owner: str, by: By) -> tuple[Sequence[Deputy], Sequence[Deputy]]:
    """Returns the deputies whom somebody has named, and those that they are now."""
    if by is None or not hasattr(store, "deputies"):
        return (), ()
    named = await store.deputies().find("absent", tenant_of(owner), by.principal.id)
    return named, await deputies_of(store, by)


def _view(owner: str, by: By) -> dict[str, Any]:
    who = Principal(LOCAL) if by is None else by.principal
    ids = (owner, owner, owner) if by is None else (who.id, who.person, who.acts_for or who.id)
    rights = rights_of(who)
    login = (by.login if by is not None else None) or Login()
    opened = [f"{method} {path.replace(':path', '')}" for (method, path), roles in RIGHTS.items() if roles & rights]
    return {
        **dict(zip(("principal", "person", "acts_for"), ids, strict=True)),
        "tenant": who.tenant,
        "roles": list(who.roles),
        "rights": sorted(rights),
        "routes": opened,
        "break_glass": may_break_glass(by),
        "acr": login.acr or None,
        "auth_time": login.auth_time,
    }
