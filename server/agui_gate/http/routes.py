"""Every route of docs/http-api.md, in the order in which they are looked at.

Each that touches a thread or an approval asks the guard for its principal first.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.datastructures import URLPath
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, NoMatchFound, Route
from starlette.types import Receive, Scope, Send

from agui_gate.extra_loader import find
from agui_gate.http.runs import RunRoutes
from agui_gate.http.server import HttpServer
from agui_gate.http.sse import RunRoute

if TYPE_CHECKING:
    from agui_gate.http.agents import AgentRoutes
    from agui_gate.http.approvals import ApprovalRoutes
    from agui_gate.http.health import HealthRoutes
    from agui_gate.http.reconnections import ReconnectionRoutes
    from agui_gate.http.threads import ThreadRoutes

Handler = Callable[[Request], Awaitable[Response]]


def all_routes(server: HttpServer, *, page: bool) -> list[BaseRoute]:
    """Returns the server's routes, then those of its extensions; ``page`` includes the built-in page.

    Thread ids may contain slashes, so what goes on after an id stands before what ends in one.
    """
    runs, of = RunRoutes(server), LaterRoutes(server)
    return [
        RunRoute("/", runs.run, methods=["POST"]),
        RunRoute("/agents/{name}", runs.run, methods=["POST"]),
        Route("/agents", later(lambda: of.agents.page)),
        Route("/agents/{name}/connect", later(lambda: of.reconnections.connect), methods=["POST"]),
        Route("/agents/{name}/capabilities", later(lambda: of.agents.capabilities)),
        Route("/runs/{run_key}/events", later(lambda: of.reconnections.events)),
        Route("/threads/{id:path}/cancel", later(lambda: of.threads.cancel), methods=["POST"]),
        Route("/approvals", later(lambda: of.approvals.page)),
        ExtraRoutes(server, "inbox.stream", "/approvals/events"),
        Route("/approvals/{id}", later(lambda: of.approvals.show)),
        Route("/approvals/{id}", later(lambda: of.approvals.decide), methods=["POST"]),
        Route("/threads", later(lambda: of.threads.page)),
        Route("/threads/{id:path}", later(lambda: of.threads.show)),
        Route("/threads/{id:path}", later(lambda: of.threads.change), methods=["PATCH"]),
        Route("/threads/{id:path}", later(lambda: of.threads.delete), methods=["DELETE"]),
        ExtraRoutes(server, "people.deputy_routes", "/deputies", "/approvals"),
        ExtraRoutes(server, "people.grant_routes", "/grants"),
        ExtraRoutes(server, "people.me", "/me"),
        ExtraRoutes(server, "audit.routes", "/audit"),
        ExtraRoutes(server, "copilotkit.routes", "/copilotkit"),
        ExtraRoutes(server, "components.assets", "/components"),
        ExtraRoutes(server, "metrics.routes", "/metrics"),
        ExtraRoutes(server, "operations.routes", "/ops"),
        Route("/healthz", later(lambda: of.health.healthy)),
        Route("/readyz", later(lambda: of.health.ready)),
        *([ExtraRoutes(server, "page.assets", "/", "/page", "/copilot", "/inbox", "/admin")] if page else ()),
        *(route for extension in server.engine.extensions.all for route in extension.routes(server)),
    ]


class LaterRoutes:
    """The handlers beside those of runs, over one server. The module of each class is imported with the first request
    for one of its routes: a process that only runs agents needs none of them.
    """

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    @cached_property
    def agents(self) -> "AgentRoutes":
        """Those of `/agents`."""
        from agui_gate.http.agents import AgentRoutes

        return AgentRoutes(self._server)

    @cached_property
    def approvals(self) -> "ApprovalRoutes":
        """Those of `/approvals`."""
        from agui_gate.http.approvals import ApprovalRoutes

        return ApprovalRoutes(self._server)

    @cached_property
    def health(self) -> "HealthRoutes":
        """Those of probes."""
        from agui_gate.http.health import HealthRoutes

        return HealthRoutes(self._server)

    @cached_property
    def reconnections(self) -> "ReconnectionRoutes":
        """Those by which a client comes back."""
        from agui_gate.http.reconnections import ReconnectionRoutes

        return ReconnectionRoutes(self._server)

    @cached_property
    def threads(self) -> "ThreadRoutes":
        """Those of `/threads`."""
        from agui_gate.http.threads import ThreadRoutes

        return ThreadRoutes(self._server)


def later(handler: Callable[[], Handler]) -> Handler:
    """Returns a handler that looks up another one with each request."""

    async def handle(request: Request) -> Response:
        return await handler()(request)

    return handle


class ExtraRoutes(BaseRoute):
    """The routes at and below ``paths`` of a module of `agui_gate.extras`, which is imported when one is asked for.

    Where the module isn't there, neither are they.
    """

    def __init__(self, server: HttpServer, module: str, *paths: str) -> None:
        self._server, self._module, self._paths = server, module, paths
        self._routes: Sequence[BaseRoute] | None = None

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes."""
        if self._routes is None:
            module = find(self._module)
            self._routes = [] if module is None else module.routes(self._server)
        return self._routes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Matches the first of its routes that fits. A wrong method is as good as no route: both are the same 404."""
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["type"] == "http" and any(path == one or path.startswith(f"{one}/") for one in self._paths):
            for route in self.routes:
                match, more = route.matches(scope)
                if match is Match.FULL:
                    return match, {**more, "agui_gate.route": route}
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Has the route that matched answer."""
        await scope["agui_gate.route"].handle(scope, receive, send)

    def url_path_for(self, name: str, /, **path_params: object) -> URLPath:
        """Raises `NoMatchFound`: these routes have no names."""
        raise NoMatchFound(name, path_params)
