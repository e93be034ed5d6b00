"""Counts requests and streams, outside of all that answers them."""

from collections.abc import Awaitable
from time import perf_counter
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from agui_gate.extras.metrics.families import OTHER, Families
from agui_gate.http.sse import OpenStream, StreamingApplication

REFUSED = {401: "unauthorized", 403: "forbidden"}

KINDS = {
    "/": "run",
    "/agents/{name}": "run",
    "/copilotkit": "run",
    "/copilotkit/agent/{agent}/run": "run",
    "/agents/{name}/connect": "connect",
    "/copilotkit/agent/{agent}/connect": "connect",
    "/runs/{run_key}/events": "rejoin",
    "/approvals/events": "inbox",
}
"""What a stream is, by its route. Others are of extensions."""


class CountedApplication(StreamingApplication):
    """An application that counts its requests itself. Middleware would have each event pass Starlette's own, too."""

    def __init__(self, families: Families, **options: Any) -> None:
        super().__init__(**options)
        self._families = families

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, and counts it by its route when the answer begins."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        answer = _Answer(self._families, scope, receive, send)
        try:
            await self.answer(answer, scope, receive, answer.send)
            await answer.send_events(receive, answer.send if answer.waits else send)  # what is counted has been sent
        finally:
            answer.end()


class _Answer(OpenStream):
    """One answer, as it is sent. ``waits``: whether the first event of a run is still to come."""

    __slots__ = ("_asked", "_families", "_scope", "_send", "_stream", "waits")

    def __init__(self, families: Families, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive)
        self._asked = perf_counter()
        self._families, self._scope, self._send = families, scope, send
        self._stream: str | None = None
        self.waits = False

    def send(self, message: Message) -> Awaitable[None]:
        """Sends a message on. No coroutine of its own: an answer that is no stream of ours may have many of them."""
        if message["type"] == "http.response.start":
            self._begin(message)
        elif self.waits and message.get("body"):
            self.waits = False
            return self._send_first(message)
        return self._send(message)

    async def _send_first(self, message: Message) -> None:
        """Sends the first event of a run, and times it."""
        await self._send(message)
        self._families.first_event.observe(perf_counter() - self._asked)

    def _begin(self, message: Message) -> None:
        families, route = self._families, self._scope.get("agui_gate.route") or self._scope.get("route")
        path = getattr(route, "path", None) or OTHER  # with its parameters' names; OTHER where none matched
        status: int = message["status"]
        families.requests.inc(families.routes[path], str(status))
        if status in REFUSED:
            families.auth_refused.inc(REFUSED[status])
        if _is_stream(message):
            self._stream = stream = KINDS.get(path, OTHER)
            self.waits = stream == "run"
            families.streams.inc(stream)

    def end(self) -> None:
        """Counts a stream no longer."""
        if self._stream is not None:
            self._families.streams.dec(self._stream)
        if "agui_gate.dropped" in self._scope:
            self._families.dropped.inc()
        del self._scope  # which has this answer


def _is_stream(message: Message) -> bool:
    for name, value in message.get("headers", ()):
        if name == b"content-type" and value.startswith(b"text/event-stream"):
            return True
    return False
