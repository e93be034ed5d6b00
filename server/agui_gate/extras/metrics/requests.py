"""Counts requests and streams, outside of all that answers them."""

from collections.abc import Awaitable
from time import perf_counter
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from agui_gate.extras.metrics.families import OTHER, TOGETHER, Families
from agui_gate.http.sse import StreamingApplication

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
        answer = _Answer(self._families, scope, send)
        try:
            left = await self.answer(scope, receive, answer.send)
            await left.send_events(receive, answer.send if answer.waits else send)  # what is counted has been sent
        finally:
            answer.end()


class _Answer:
    """One answer, as it is sent. ``waits``: whether the first event of a run is still to come."""

    def __init__(self, families: Families, scope: Scope, send: Send) -> None:
        self._families, self._scope, self._send = families, scope, send
        self._asked = perf_counter()
        self._is_begun = self.waits = False
        self._stream: str | None = None

    def send(self, message: Message) -> Awaitable[None]:
        """Sends a message on. No coroutine of its own: there is one for each event of a stream."""
        if not self._is_begun:
            if message["type"] == "http.response.start":
                self._begin(message["status"], _is_stream(message))
        elif self.waits and message.get("body"):
            self.waits = False
            return self._send_first(message)
        return self._send(message)

    async def _send_first(self, message: Message) -> None:
        """Sends the first event of a run, and times it."""
        await self._send(message)
        self._families.noted.append((self._families.first_event.observe, perf_counter() - self._asked))

    def _begin(self, status: int, is_stream: bool) -> None:
        self._is_begun = True
        families, route = self._families, self._scope.get("agui_gate.route") or self._scope.get("route")
        path = getattr(route, "path", None) or OTHER  # with its parameters' names; OTHER where none matched
        if is_stream:
            self._stream = KINDS.get(path, OTHER)
            self.waits = self._stream == "run"
        families.noted.append((_count, families, path, status, self._stream))

    def end(self) -> None:
        """Counts a stream no longer."""
        families, noted = self._families, self._families.noted
        if self._stream is not None:
            noted.append((families.streams.dec, self._stream))
        if "agui_gate.dropped" in self._scope:
            families.dropped.inc()
        if len(noted) >= TOGETHER:
            families.fold()


def _count(families: Families, path: str, status: int, stream: str | None) -> None:
    families.requests.inc(families.routes[path], str(status))
    if status in REFUSED:
        families.auth_refused.inc(REFUSED[status])
    if stream is not None:
        families.streams.inc(stream)


def _is_stream(message: Message) -> bool:
    for name, value in message.get("headers", ()):
        if name == b"content-type" and value.startswith(b"text/event-stream"):
            return True
    return False
