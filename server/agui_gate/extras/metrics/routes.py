"""Serves `GET /metrics`, to operators; where nobody has to say who they are, to this machine.

Where the package that makes metrics is not installed there is no such route.
"""

from importlib.util import find_spec
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_gate.errors import Forbidden
from agui_gate.extension import Extension
from agui_gate.extras.people.rights import rights_of
from agui_gate.http.auth import caller_of
from agui_gate.http.server import HttpServer


def routes(server: HttpServer) -> list[BaseRoute]:
    """Returns the route."""
    if find_spec("prometheus_client") is None:
        return []
    page = _Page(server)
    server.engine.extensions.add(page)
    return [Route("/metrics", page.show)]


class _Page(Extension):
    """An extension, so that what it still asks ends with the engine."""

    def __init__(self, server: HttpServer) -> None:
        from agui_gate.extras.metrics.state import ServerState

        self._server, self._state = server, ServerState(server.engine)
        metered: Any = next((one for one in server.engine.extensions.all if hasattr(one, "families")), None)
        self._more = () if metered is None else (metered.families,)

    def drain(self) -> None:
        """Ends what is being asked. It is called once more when everything ends, also for what came after the start."""
        self._state.cancel()

    async def show(self, request: Request) -> Response:
        """`GET /metrics`: what was counted, and the state of the server and its store. Raises `Forbidden`."""
        from agui_gate.extras.metrics.families import CONTENT_TYPE

        await self._server.principal(request)
        if not self._server.guard.loopback_only:
            by = caller_of(request)
            if by is None or "operator" not in rights_of(by.principal):
                raise Forbidden("Your roles don't allow this request. It needs the role operator.")
        return Response(await self._state.text(*self._more), headers={"content-type": CONTENT_TYPE})
