"""Which role may use which route. What is not in `RIGHTS` is forbidden.

A principal's rights are the roles of the server among its `roles`. If it has none of these, it is a ``user``: so is
everybody whom ``auth`` names by a string. Other roles are groups, which gates may name, and open no route.

A right opens a route, not the objects behind it: those of other owners and tenants are the same 404 as what never was.
"""

from typing import Literal, get_args

from starlette.requests import Request

from agui_gate.core.principals import Principal
from agui_gate.errors import Forbidden

Role = Literal["user", "approver", "auditor", "operator", "break-glass"]
"""``user``: works with agents, on its owner's threads. ``approver``: decides calls: its owner's, and those that gates
let it decide. ``operator``: sees what everybody of its tenant does, stops and settles it, sees and revokes the grants.
``auditor`` and ``operator``: read the audit trail of their tenant. ``break-glass``: decides in an emergency.
"""

BREAK_GLASS: Role = "break-glass"

ROLES: frozenset[str] = frozenset(get_args(Role))

_USER = frozenset[Role](("user",))
_DECIDES = frozenset[Role](("user", "approver", "break-glass"))
_NAMES = frozenset[Role](("user", "approver"))
_OPERATES = frozenset[Role](("operator",))
_LOOKS = frozenset[Role](("user", "operator"))
_GIVES = frozenset[Role](("user", "approver", "operator"))
_ANYONE = frozenset[Role](get_args(Role))
PUBLIC = frozenset[Role]()
"""Routes that ask nobody who they are: health, and files that are the same for all."""

RIGHTS: dict[tuple[str, str], frozenset[Role]] = {
    ("POST", "/"): _USER,
    ("GET", "/agents"): _ANYONE,
    ("POST", "/agents/{name}"): _USER,
    ("POST", "/agents/{name}/connect"): _USER,
    ("GET", "/agents/{name}/capabilities"): _ANYONE,
    ("GET", "/runs/{run_key}/events"): _USER,
    ("POST", "/threads/{id:path}/cancel"): _USER,
    ("GET", "/approvals"): _DECIDES,
    ("GET", "/approvals/events"): _DECIDES,
    ("GET", "/approvals/{id}"): _DECIDES,
    ("POST", "/approvals/{id}"): _DECIDES,
    ("POST", "/approvals/{id}/hand-to"): _NAMES,
    ("GET", "/deputies"): _GIVES,
    ("POST", "/deputies"): _NAMES,
    ("DELETE", "/deputies/{id}"): _GIVES,
    ("GET", "/grants"): _GIVES,
    ("DELETE", "/grants/{id}"): _GIVES,
    ("GET", "/me"): _ANYONE,
    ("GET", "/audit"): _ANYONE,
    ("GET", "/threads"): _USER,
    ("GET", "/threads/{id:path}"): _USER,
    ("PATCH", "/threads/{id:path}"): _USER,
    ("DELETE", "/threads/{id:path}"): _USER,
    ("POST", "/copilotkit"): _USER,
    ("POST", "/copilotkit/"): _USER,
    ("GET", "/copilotkit/info"): _USER,
    ("POST", "/copilotkit/agent/{agent}/run"): _USER,
    ("POST", "/copilotkit/agent/{agent}/suggest"): _USER,
    ("POST", "/copilotkit/agent/{agent}/connect"): _USER,
    ("POST", "/copilotkit/agent/{agent}/stop/{id:path}"): _USER,
    ("GET", "/copilotkit/threads"): _USER,
    ("GET", "/copilotkit/threads/{id:path}/messages"): _USER,
    ("GET", "/copilotkit/threads/{id:path}/state"): _USER,
    ("GET", "/copilotkit/threads/{id:path}/events"): _USER,
    ("POST", "/copilotkit/threads/{id:path}/archive"): _USER,
    ("PATCH", "/copilotkit/threads/{id:path}"): _USER,
    ("DELETE", "/copilotkit/threads/{id:path}"): _USER,
    ("GET", "/metrics"): _OPERATES,
    ("GET", "/ops/runs"): _OPERATES,
    ("GET", "/ops/threads"): _OPERATES,
    ("POST", "/ops/threads/{id:path}/stop"): _OPERATES,
    ("GET", "/ops/approvals"): _OPERATES,
    ("GET", "/ops/approvals/{id}"): _OPERATES,
    ("POST", "/ops/approvals/{id}/settle"): _OPERATES,
    ("GET", "/ops/owners/{id:path}"): _OPERATES,
    ("POST", "/ops/owners/{id:path}/hand-on"): _OPERATES,
    ("GET", "/ops/summary"): _OPERATES,
    ("GET", "/ops/sizes"): _OPERATES,
    ("GET", "/ops/freezes"): _OPERATES,
    ("POST", "/ops/freezes"): _OPERATES,
    ("GET", "/inbox"): PUBLIC,
    ("GET", "/admin"): PUBLIC,
    ("GET", "/usage"): _LOOKS,
    ("GET", "/healthz"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
}


def rights_of(principal: Principal) -> frozenset[str]:
    """Returns the server's roles that a principal has."""
    return ROLES.intersection(principal.roles) or _USER


def check_route(request: Request, principal: Principal) -> None:
    """Raises `Forbidden` unless a role of ``principal`` opens the route of the request."""
    _check(_needed(request), principal)


def check_right(method: str, path: str, principal: Principal) -> None:
    """Raises `Forbidden` unless a role of ``principal`` opens that route, for who does the same without HTTP."""
    _check(RIGHTS.get((method, path)), principal)


def _check(needed: frozenset[Role] | None, principal: Principal) -> None:
    if needed is None or not needed & rights_of(principal):
        roles = f"It needs the role {' or '.join(sorted(needed))}." if needed else "No role opens it."
        raise Forbidden(f"Your roles don't allow this request. {roles}")


def _needed(request: Request) -> frozenset[Role] | None:
    """Returns the roles that open the route; None if it is in no table.

    A route of an extension is open to users. It may ask more by itself.
    """
    route = request.scope.get("agui_gate.route") or _route_of(request)
    method = "GET" if request.method == "HEAD" else request.method
    needed = RIGHTS.get((method, getattr(route, "path", "")))
    if needed is None and not _is_ours(request.scope.get("endpoint")):
        return _USER
    return needed


def _route_of(request: Request) -> object | None:
    endpoint = request.scope.get("endpoint")
    routes = getattr(request.scope.get("app"), "routes", ())
    return next((route for route in routes if endpoint and getattr(route, "endpoint", None) is endpoint), None)


def _is_ours(endpoint: object) -> bool:
    return str(getattr(endpoint, "__module__", "agui_gate")).partition(".")[0] == "agui_gate"
