"""The response that carries a run: pings, senders that fail or hang, frames that leave together."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from unittest.mock import Mock

import pytest
import uvicorn
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from agui_gate import Agent, adapter, create_app
from agui_gate.config.settings import Settings
from agui_gate.http import sse
from agui_gate.http.auth import Admission
from tests.conforming import conforms
from tests.product.inprocess import Parrot, request, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio

TIMEOUT = 60

BODY = json.dumps(run_body("t", user("hi"))).encode()


class Waits(Parrot):
    """Says something, then waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.closed = asyncio.Event()

    async def stream(self, request):
        try:
            yield says("first")
            await self.go_on.wait()
            yield [*says("last", "1"), adapter.TurnDone()]
        finally:
            self.closed.set()


class Client:
    """An ASGI caller whose `send` can be made to fail or hang, and who leaves when told to."""

    def __init__(self, body, on_body=None) -> None:
        self.body, self.on_body = body, on_body
        self.sent, self.left = [], asyncio.Event()
        self.asked = False

    async def receive(self):
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body" and message["body"] and self.on_body is not None:
            await self.on_body(message["body"])

    async def call(self, app) -> None:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "", "headers": headers,
            "server": ("testserver", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        async with asyncio.timeout(TIMEOUT):
            await app(scope, self.receive, self.send)

    @property
    def text(self):
        return b"".join(m.get("body", b"") for m in self.sent).decode()


class Cycle(Client):
    """A request's cycle and its transport, as uvicorn has them, whose client has sent another request behind this one:
    so nothing is read from its connection, and nobody says that it leaves.
    """

    def __init__(self, on_body=None) -> None:
        super().__init__(BODY, on_body)
        self.disconnected, self.is_closed, self.message_event = False, False, asyncio.Event()
        self.transport, self.flow = self, Mock(write_paused=False)
        self.socket, self.peer = socket.socketpair()
        self.writes = []

    def write(self, data) -> None:
        self.writes.append(data)

    def get_protocol(self):
        return self

    def get_extra_info(self, name):
        return self.socket

    def is_closing(self) -> bool:
        return self.is_closed

    def abort(self) -> None:
        self.is_closed = True


def made(model, **settings):
    return create_app(Agent(name="a", model=model), store="memory://", settings=Settings(**settings))


async def stopped(app):
    """The thread's run is over; how it ended."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            found = (await request(app, "GET", "/threads/t")).json()
            if found["run"]["status"] != "running":
                return found["run"]["status"]
            await asyncio.sleep(0)


@shows("B14")
async def test_an_idle_stream_is_pinged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "PING_INTERVAL", 0.01)
    model = Waits()

    async def let_go(data) -> None:
        if data.startswith(b": ping"):
            model.go_on.set()

    client = Client(BODY, let_go)
    async with started(made(model)) as app:
        await client.call(app)
    assert "\n\n: ping\n\n" in client.text
    assert client.text.endswith("\n\n")
    assert '"RUN_FINISHED"' in client.text
    assert [message["more_body"] for message in client.sent[1:]] == [*[True] * (len(client.sent) - 2), False]


@shows("S33", "B17")
@pytest.mark.parametrize("how", ["raises", "hangs", "leaves"])
async def test_a_reader_that_is_gone_stops_the_run(how: str) -> None:
    model = Waits()

    async def fail(data) -> None:
        if how == "raises":
            raise OSError("broken pipe")
        if how == "hangs":
            await asyncio.Event().wait()
        client.left.set()

    client = Client(BODY, fail)
    async with started(made(model, send_timeout=0.1, disconnect_grace=0.01)) as app:
        await client.call(app)
        async with asyncio.timeout(TIMEOUT):
            await model.closed.wait()
        assert await stopped(app) == "cancelled"


@pytest.fixture
def cycle(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cycle]:
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.01)
    cycle = Cycle()
    with cycle.socket, cycle.peer:
        yield cycle


async def test_what_follows_the_first_event_passes_nothing_that_measures(
    cycle: Cycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, send_events = [], sse.EventStream.send_events

    async def noted(stream, scope, receive, send, cycle) -> None:
        given.append(send)
        await send_events(stream, scope, receive, send, cycle)

    monkeypatch.setattr(sse.EventStream, "send_events", noted)
    async with started(made(Parrot(), metrics="on", traces=True)) as app:
        await cycle.call(app)
    assert given == [cycle.send]
    assert cycle.text.count('"RUN_STARTED"') == cycle.text.count('"RUN_FINISHED"') == 1


async def passed(request, call_next):
    return await call_next(request)


@shows("S33", "B17")
@pytest.mark.parametrize("around", [False, True], ids=["alone", "behind a middleware"])
@pytest.mark.parametrize("how", ["while nothing comes", "while something comes"])
async def test_a_client_with_another_request_behind_its_stream_leaves(cycle: Cycle, how: str, around: bool) -> None:
    model = Waits()

    async def leave(data) -> None:
        cycle.on_body = None
        if how == "while nothing comes":
            cycle.peer.close()
        else:
            cycle.is_closed = True
            model.go_on.set()

    cycle.on_body = leave
    app = made(model, disconnect_grace=0.01)
    if around:
        app.add_middleware(BaseHTTPMiddleware, dispatch=passed)
    async with started(app) as app:
        await cycle.call(app)
        async with asyncio.timeout(TIMEOUT):
            await model.closed.wait()
    assert cycle.disconnected
    assert cycle.is_closed
    assert "last" not in cycle.text


@shows("B14")
async def test_frames_that_are_ready_together_leave_together() -> None:
    many = [event for n in range(200) for event in says("word", str(n))]
    model = Parrot([[*many, adapter.TurnDone()]])
    client = Client(BODY)
    async with started(made(model)) as app:
        await client.call(app)
    bodies = [m for m in client.sent if m["type"] == "http.response.body"]
    assert client.text.count("\n\n") > 600
    assert len(bodies) < 300


class WritingCycle(Cycle):
    """One that writes to its transport, as uvicorn does."""

    fails = False

    async def send(self, message) -> None:
        self.transport.write(message.get("body", b"HEAD "))
        if self.fails:
            raise OSError


@pytest.fixture
def writing() -> Iterator[WritingCycle]:
    cycle = WritingCycle()
    with cycle.socket, cycle.peer:
        yield cycle


async def test_the_head_and_the_first_event_are_one_write(writing: WritingCycle) -> None:
    async with started(made(Parrot())) as app:
        await writing.call(app)
    assert writing.writes[0].startswith(b"HEAD ")
    assert b"RUN_STARTED" in writing.writes[0]
    assert b"RUN_FINISHED" in writing.writes[-1]
    assert writing.transport is writing


async def test_what_was_written_before_a_failure_is_sent(writing: WritingCycle) -> None:
    writing.fails = True
    async with started(made(Parrot(), disconnect_grace=0.01)) as app:
        await writing.call(app)
    assert writing.writes == [b"HEAD "]
    assert writing.transport is writing


async def test_nothing_is_written_to_a_client_that_left_before_its_answer(writing: WritingCycle) -> None:
    async def leave(message) -> None:
        writing.is_closed = True

    writing.send = leave
    async with started(made(Parrot(), disconnect_grace=0.01)) as app:
        await writing.call(app)
    assert writing.writes == []


async def test_where_the_head_may_wait_nothing_is_gathered(writing: WritingCycle) -> None:
    writing.flow.write_paused = True
    async with started(made(Parrot())) as app:
        await writing.call(app)
    assert writing.writes[0] == b"HEAD "


class Hides:
    """Middleware whose `receive` is a function of its own."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        await self.app(scope, partial(receive), send)


@pytest.mark.parametrize("around", [False, True])
async def test_a_client_that_takes_no_head_is_hung_up_on(writing: WritingCycle, around: bool) -> None:
    """It has sent a request behind one whose answer it doesn't take: under uvicorn the head waits for that."""

    async def wait(message) -> None:
        await asyncio.Event().wait()

    writing.flow.write_paused, writing.send = True, wait
    app = made(Parrot(), send_timeout=0.1, disconnect_grace=0.01)
    if around:
        app.add_middleware(Hides)
    async with started(app):
        await writing.call(app)
        assert writing.is_closed


async def test_what_a_run_says_while_the_head_waits_is_no_first_event(writing: WritingCycle) -> None:
    """It may ask a person, and is sent only if the client may still see it."""

    class Later:
        def __init__(self, app) -> None:
            self.app = app

        async def __call__(self, scope, receive, send) -> None:
            async def later(message) -> None:
                if message["type"] == "http.response.start" and scope["method"] == "POST":
                    await stopped(served)
                await send(message)

            await self.app(scope, receive, later)

    app = made(Parrot())
    app.add_middleware(Later)
    async with started(app) as served:
        await writing.call(served)
    assert b"RUN_STARTED" in writing.writes[0]
    assert b"TEXT_MESSAGE_START" not in writing.writes[0]
    assert b"TEXT_MESSAGE_START" in writing.writes[1]


@shows("B14")
@conforms("SSE-1")
async def test_the_head_says_how_to_pass_it_on() -> None:
    client = Client(BODY)
    async with started(made(Parrot())) as app:
        await client.call(app)
    headers = {k.decode(): v.decode() for k, v in client.sent[0]["headers"]}
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert headers["agui-run-key"]
    assert "content-length" not in headers


@shows("B14")
async def test_one_application_is_mounted_in_another() -> None:
    outer, inner = made(Parrot()), made(Parrot())
    outer.mount("/inner", inner)
    async with started(outer) as app, started(inner):
        for path in ("/", "/inner/"):
            answer = await request(app, "POST", path, BODY)
            assert [event["type"] for event in answer.events()][-1] == "RUN_FINISHED"
        assert (await request(app, "GET", "/inner/agents")).status == 200


async def test_a_run_past_the_middleware_is_answered_as_through_it() -> None:
    """Also what refuses it, and a bug: each answer has the same status, headers and body, but for ids."""

    async def auth(request):
        return request.headers.get("who")

    apps = [create_app(Agent(name="a", model=Parrot()), store="memory://", auth=auth) for _ in range(2)]
    apps[1].add_middleware(BaseHTTPMiddleware, dispatch=passed)
    mine, statuses = {"who": "ada"}, []
    async with started(apps[0]), started(apps[1]):
        for path, body, headers in [
            ("/", BODY, mine),
            ("/agents/a", BODY, mine),
            ("/agents/nobody", BODY, mine),
            ("/", b"{", mine),
            ("/", BODY, {}),
            ("/", BODY, mine | {"content-type": "text/plain"}),
            ("/", BODY, mine | {"origin": "https://elsewhere.example"}),
            ("/", BODY.replace(b'"t"', b'"bug"'), mine),
        ]:
            if b"bug" in body:
                for app in apps:
                    app.state.engine.run = Mock(side_effect=ZeroDivisionError)
            one, other = [await request(quiet(app), "POST", path, body, headers) for app in apps]
            statuses.append(one.status)
            assert one.status == other.status
            assert one.headers | {"agui-run-key": ""} == other.headers | {"agui-run-key": ""}
            assert one.status == 200 or one.body == other.body
    assert statuses == [200, 200, 404, 400, 401, 415, 403, 500]


async def test_no_second_head_follows_one_that_was_sent_when_something_failed() -> None:
    client = Client(BODY)

    async def fail(message) -> None:
        client.sent.append(message)
        raise RuntimeError

    client.send = fail
    async with started(made(Parrot(), disconnect_grace=0.01)) as app:
        with pytest.raises(RuntimeError):
            await client.call(app)
    assert [message["status"] for message in client.sent] == [200]


async def test_a_route_that_was_put_in_front_comes_first() -> None:
    app = made(Parrot())
    app.router.routes.insert(0, Route("/", lambda _: PlainTextResponse("mine"), methods=["POST"]))
    async with started(app):
        assert (await request(app, "POST", "/", BODY)).body == b"mine"


def quiet(app):
    """The application, without what it raises again for its server to log."""

    async def call(scope, receive, send) -> None:
        with suppress(ZeroDivisionError):
            await app(scope, receive, send)

    return call


async def test_requests_behind_a_stream_are_answered_in_their_order() -> None:
    """Where they wait is a list of ours, in the place of uvicorn's deque."""
    model, listener = Waits(), socket.create_server(("127.0.0.1", 0))
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    later = b"GET %b HTTP/1.1\r\nhost: localhost\r\n%b\r\n"
    server = uvicorn.Server(uvicorn.Config(made(model), log_level="error", ws="none"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(head % len(BODY) + BODY)
            told = await reader.readuntil(b"first")
            writer.write(later % (b"/agents", b"") + later % (b"/nowhere", b"connection: close\r\n"))
            model.go_on.set()
            told += await reader.read()
            writer.close()
    finally:
        server.should_exit = True
        await serving
    assert re.findall(rb"HTTP/1.1 (\d+)", told) == [b"200", b"200", b"404"]
