"""Streams inside of what an application has added around its routes (`add_middleware`), which sees all that is sent."""

from starlette.types import ASGIApp, Receive, Scope, Send

from agui_gate.http.sse import STREAM, OpenStream


class Streams:
    """Sends the events of streams outside of ``app``, which is what the server itself puts around its routes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        scope[STREAM] = left = OpenStream(scope, receive)  # found also where one application is mounted in another
        await self._app(scope, receive, send)
        await left.send_events(receive, send)
