"""`GET /grants` and `DELETE /grants/{id}`: the standing grants that a principal may see, and revoke.

These are the grants for its owner's calls, and those that it gave itself; for operators, all of their tenant.
"""

from decimal import Decimal
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.core.grants import MAX_STANDING, Grant
from agui_gate.core.principals import By, owner_key, tenant_of
from agui_gate.errors import NotFound
from agui_gate.extras.people.givers import is_current, roles_of
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.auth import caller_of
from agui_gate.http.server import HttpServer
from agui_gate.http.views import json_response
from agui_gate.protocol.cards import iso


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the routes."""
    found = GrantRoutes(server)
    return [Route("/grants", found.page), Route("/grants/{id}", found.revoke, methods=["DELETE"])]


class GrantRoutes:
    """Handlers over one server. A grant that never was and one of others are the same 404."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._store: Any = server.store

    async def page(self, request: Request) -> Response:
        """`GET /grants`: those that have not ended, those that end last first."""
        owner = await self._server.principal(request)
        if not hasattr(self._store, "grants"):
            return json_response({"grants": []})
        by = caller_of(request)
        if _is_operator(by):
            found = list(await self._store.grants("tenant", tenant_of(owner)))
        else:
            found = [*await self._store.grants("owner", owner), *await self._store.grants("giver", _key(owner, by))]
        ordered = sorted({grant.id: grant for grant in found}.values(), key=lambda grant: (-grant.until, grant.id))
        return json_response(
            {"grants": [_view(grant, is_current(self._store, grant)) for grant in ordered[:MAX_STANDING]]}
        )

    async def revoke(self, request: Request) -> Response:
        """`DELETE /grants/{id}`: once it has answered, no call is let go by it."""
        owner = await self._server.principal(request)
        by, grant_id = caller_of(request), request.path_params["id"]
        found = await self._store.grants("id", grant_id) if hasattr(self._store, "grants") else ()
        if not any(_is_theirs(grant, owner, by) for grant in found):
            raise NotFound("There is no such grant.")
        if not await self._store.revoke_grant(grant_id, owner if by is None else by.principal.id):
            raise NotFound("There is no such grant.")
        return json_response({"id": grant_id, "revoked": True})


def _is_theirs(grant: Grant, owner: str, by: By) -> bool:
    tenant = tenant_of(grant.owner)
    is_operators = _is_operator(by) and tenant == tenant_of(owner)
    return is_operators or grant.owner == owner or owner_key(tenant, grant.giver) == _key(owner, by)


def _is_operator(by: By) -> bool:
    return by is not None and "operator" in rights_of(by.principal)


def _key(owner: str, by: By) -> str:
    """Returns the key of who asks, as that of the giver of a grant."""
    return owner if by is None else owner_key(by.principal.tenant, by.principal.id)


def _view(grant: Grant, counts: bool) -> dict[str, Any]:
    limits = grant.limits
    amounts = {"field": limits.field, "up_to": _number(limits.up_to), "total": _number(limits.total)}
    return {
        "id": grant.id,
        "owner": grant.owner.rpartition("\x1f")[2],
        "by": grant.giver,
        "by_roles": list(roles_of(grant)),
        "counts": counts,
        "at": iso(grant.at),
        "until": iso(grant.until),
        "agent": grant.agent,
        "tool": grant.tool,
        "scope": grant.scope,
        "thread_id": None if grant.thread_begun is None else grant.thread_id,
        "arguments": msgspec.json.decode(grant.same),
        "times": limits.times,
        "used": grant.used,
        "approval_id": grant.approval_id,
        **({**amounts, "spent": _number(grant.spent)} if limits.field else {}),
    }


def _number(amount: str | None) -> float | None:
    return None if amount is None else float(Decimal(amount))
