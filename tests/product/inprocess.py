"""The product without sockets, for tests that need thousands of runs: a small adapter and the smallest ASGI client."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from agui_gate import adapter as ad

Json = dict[str, Any]
TIMEOUT = 60.0


class Parrot:
    """An adapter whose model calls `refund` when the newest user text says so, and else says "ok".

    ``plan`` replaces that: a list of events (or an error to raise) for each turn.
    """

    origin = "parrot/1"

    def __init__(self, plan: Sequence[Any] | None = None) -> None:
        self.plan = None if plan is None else list(plan)
        self.requests: list[ad.TurnRequest] = []

    async def stream(self, request: ad.TurnRequest) -> Any:
        """One turn."""
        self.requests.append(request)
        for event in self._turn(request):
            if isinstance(event, Exception):
                raise event
            yield [event]

    async def check(self) -> Sequence[ad.Finding]:
        """Nothing to check."""
        return ()

    async def aclose(self) -> None:
        """Nothing to close."""

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        if self.plan is not None:
            return list(self.plan.pop(0)) if self.plan else [*says("ok"), ad.TurnDone()]
        last = request.transcript[-1] if request.transcript else None
        text = "".join(p.text for p in last.content if isinstance(p, ad.Text)) if isinstance(last, ad.UserTurn) else ""
        if "refund" in text:
            return [*calls("refund", {"order_id": "A1"}), ad.TurnDone()]
        return [*says("ok"), ad.TurnDone(usage=ad.Usage("p", "m", 1, 1, 2))]


def says(text: str, key: str = "0") -> list[Any]:
    """Events of a text."""
    return [ad.TextStart(key), ad.TextDelta(key, text), ad.TextEnd(key)]


def calls(name: str, arguments: Any, wire_id: str = "call_1", key: str = "c") -> list[Any]:
    """Events of a call; ``arguments`` as text are sent as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [ad.CallStart(key, wire_id, name), ad.CallDelta(key, text), ad.CallEnd(key, text)]


class Answer:
    """A whole HTTP answer."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def events(self) -> list[Json]:
        """The body as events."""
        frames = [frame for frame in self.body.decode().split("\n\n") if frame and not frame.startswith(":")]
        return [json.loads(frame.split("\ndata: ", 1)[1]) for frame in frames]


async def request(
    app: Any,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    *,
    server: tuple[str, int] = ("testserver", 80),
    client: tuple[str, int] = ("127.0.0.1", 1),
    query: str = "",
) -> Answer:
    """One request into an ASGI application, read to its end."""
    head = {"host": "localhost", "content-type": "application/json", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in head.items()],
        "server": server,
        "client": client,
    }
    sent: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
    got: list[Any] = []

    async def receive() -> Any:
        return sent.pop() if sent else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        got.append(message)

    async with asyncio.timeout(TIMEOUT):
        await app(scope, receive, send)
    start, *rest = got
    found = {k.decode("latin-1"): v.decode("latin-1") for k, v in start["headers"]}
    return Answer(start["status"], found, b"".join(m.get("body", b"") for m in rest))


@asynccontextmanager
async def started(app: Any) -> AsyncIterator[Any]:
    """Within: the application's lifespan has begun. Its end waits for nothing that is left."""
    app.state.drain_seconds = 0.0
    async with app.router.lifespan_context(app):
        yield app


def run_body(thread_id: str, *messages: Json, **more: Any) -> Json:
    """A `RunAgentInput`."""
    return {
        "threadId": thread_id,
        "runId": "r",
        "messages": list(messages),
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
        **more,
    }


def user(text: Any, message_id: str | None = None) -> Json:
    """A user message."""
    return {"role": "user", "content": text} | ({} if message_id is None else {"id": message_id})


async def run(app: Any, body: Json, path: str = "/", headers: dict[str, str] | None = None) -> Answer:
    """`POST` a run."""
    return await request(app, "POST", path, json.dumps(body).encode(), headers)
