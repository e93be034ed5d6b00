"""Who may change something, and for how long somebody may read: `auth` in threads, streams that outlive their token."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest
from starlette.requests import Request

from agui_gate import Agent, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.http import auth as auth_module
from agui_gate.http.auth import Admission, Auth
from agui_gate_adapters.testkit.agui.asgi_server import serving
from tests.product.inprocess import Parrot, request, run_body, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B22")]

STAR = Settings(cors_origins=("*",))
PAGE = {"origin": "https://evil.example", "cookie": "session=alice"}
SECONDS = 60.0


@tool(gate=True)
def refund(order_id: str) -> str:
    """Refund an order."""
    return f"refunded {order_id}"


def app_of(auth: Auth | None, settings: Settings | None = None) -> Any:
    agent = Agent(name="a", model=Parrot(), tools=[refund], hitl="card")
    return create_app(agent, store="memory://", auth=auth, settings=settings or Settings())


def by_cookie(asked: Request) -> str | None:
    return asked.cookies.get("session")


# --- what a foreign page may send without a preflight ----------------------------------------------------------------

CHANGES = [
    ("POST", "/", True),
    ("POST", "/agents/a", True),
    ("POST", "/agents/a/connect", True),
    ("POST", "/approvals/ap_1", True),
    ("POST", "/threads/t/cancel", True),
    ("POST", "/threads/t/cancel", False),
    ("PATCH", "/threads/t", True),
    ("DELETE", "/threads/t", True),
    ("POST", "/copilotkit", True),
    ("POST", "/copilotkit/agent/a/run", True),
    ("POST", "/copilotkit/agent/a/suggest", True),
    ("POST", "/copilotkit/agent/a/connect", True),
    ("POST", "/copilotkit/agent/a/stop/t", True),
    ("POST", "/copilotkit/agent/a/stop/t", False),
    ("POST", "/copilotkit/threads/t/archive", True),
    ("POST", "/copilotkit/threads/t/archive", False),
    ("PATCH", "/copilotkit/threads/t", True),
    ("DELETE", "/copilotkit/threads/t", True),
]


@pytest.mark.parametrize("declared", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize(("method", "path", "has_body"), CHANGES)
async def test_no_page_changes_anything_without_a_preflight(
    method: str, path: str, has_body: bool, declared: str | None
) -> None:
    """A browser sends these for any page, cookies included, without asking the server."""
    body = b'{"approved": true}' if has_body else b""
    head = {**PAGE, "content-length": str(len(body)), "content-type": declared}
    answer = await undeclared(app_of(by_cookie, STAR), method, path, body, head)
    assert answer.status == 415
    assert answer.json()["error"]["code"] == "unsupported_media_type"


async def undeclared(app: Any, method: str, path: str, body: bytes, head: dict[str, str | None]) -> Any:
    """A request with these headers and no others: None leaves one out that `request` adds."""

    async def without(scope: Any, receive: Any, send: Any) -> None:
        kept = [(name, value) for name, value in scope["headers"] if head.get(name.decode(), "") is not None]
        await app({**scope, "headers": kept}, receive, send)

    return await request(without, method, path, body, {name: value or "" for name, value in head.items()})


async def test_a_body_that_is_not_declared_is_refused_from_anybody() -> None:
    head = {"content-length": "18", "content-type": None, "origin": None}
    answer = await undeclared(app_of(None), "POST", "/approvals/ap_1", b'{"approved": true}', head)
    assert answer.status == 415


@pytest.mark.parametrize("origin", [None, "http://localhost", "http://localhost:5173"])
async def test_a_stop_without_a_body_needs_no_declaration_from_pages_that_are_named(origin: str | None) -> None:
    """Of the server's own origin, and of loopback ones while no auth is configured."""
    head = {"content-length": "0", "content-type": None, "origin": origin}
    answer = await undeclared(app_of(None), "POST", "/threads/t/cancel", b"", head)
    assert answer.status == 404


async def test_a_page_that_declares_json_or_sends_a_bearer_token_may_stop_a_run() -> None:
    app = app_of(by_cookie, STAR)
    for more in ({"content-type": "application/json"}, {"content-type": None, "authorization": "Bearer x"}):
        answer = await undeclared(app, "POST", "/threads/t/cancel", b"", {**PAGE, "content-length": "0", **more})
        assert answer.status == 404


async def test_every_origin_never_goes_with_credentials() -> None:
    """Also where the answer is a bug of ours, which is answered outside of the middleware for that."""

    def broken(asked: Request) -> str | None:
        return by_cookie(asked)

    app = app_of(broken, STAR)
    asking = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for answer in (
        await request(app, "OPTIONS", "/", headers=asking),
        await request(app, "GET", "/agents", headers=PAGE),
        await request(app, "GET", "/agents", headers={"origin": "https://evil.example"}),
    ):
        assert "access-control-allow-credentials" not in answer.headers


async def test_a_bug_is_told_to_every_origin_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_of(by_cookie, STAR)
    monkeypatch.setattr(app.state.engine.store, "list_threads", None)
    sent: list[Any] = []

    async def collected(scope: Any, receive: Any, send: Any) -> None:
        async def keep(message: Any) -> None:
            sent.append(message)

        with pytest.raises(TypeError):
            await app(scope, receive, keep)
        for message in sent:
            await send(message)

    answer = await request(collected, "GET", "/threads", headers=PAGE)
    assert answer.status == 500
    assert "access-control-allow-credentials" not in answer.headers


# --- a sync auth ----------------------------------------------------------------------------------------------------


async def test_a_sync_auth_that_waits_keeps_nobody_else_waiting() -> None:
    """It looked into a database, and `/healthz` waited for it."""
    asked, go = threading.Semaphore(0), threading.Event()

    def slow(asked_for: Request) -> str:
        asked.release()
        assert go.wait(SECONDS)
        return "alice"

    app = app_of(slow)
    three = [asyncio.create_task(request(app, "GET", "/agents")) for _ in range(3)]
    async with asyncio.timeout(SECONDS):
        for _ in three:
            assert await asyncio.to_thread(asked.acquire, timeout=SECONDS)
        assert (await request(app, "GET", "/healthz")).status == 200
        assert not any(task.done() for task in three)
        go.set()
        assert [(await task).status for task in three] == [200, 200, 200]


async def test_the_threads_of_a_sync_auth_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever finds none in time is told so, not left waiting."""
    monkeypatch.setattr(auth_module, "AUTH_THREADS", 2)
    monkeypatch.setattr(auth_module, "AUTH_SECONDS", 0.2)
    at_once, most, lock, go = 0, 0, threading.Lock(), threading.Event()

    def stuck(asked_for: Request) -> str:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        go.wait(SECONDS)
        with lock:
            at_once -= 1
        return "alice"

    app = app_of(stuck)
    answers = await asyncio.gather(*(request(app, "GET", "/agents") for _ in range(8)))
    go.set()
    assert {answer.status for answer in answers} == {503}
    assert most <= 4, "twice the bound: those that nobody waits for any more may be replaced once"


class ByCall:
    """Auth as an object whose call is a coroutine."""

    async def __call__(self, asked: Request) -> str | None:
        assert threading.current_thread() is threading.main_thread()
        return "alice"


async def test_an_async_auth_stays_in_the_loop() -> None:
    async def alice(asked: Request) -> str | None:
        assert threading.current_thread() is threading.main_thread()
        return "alice"

    def later(asked: Request) -> Awaitable[str | None]:
        return alice(asked)

    for auth in (alice, ByCall(), later):
        assert (await request(app_of(auth), "GET", "/agents")).status == 200


# --- a stream ends with its token -----------------------------------------------------------------------------------


class Tokens:
    """Auth whose tokens can be taken back."""

    def __init__(self) -> None:
        self.valid = {"Bearer one": "alice", "Bearer two": "alice"}
        self.asked, self.asked_often = 0, asyncio.Event()

    async def __call__(self, asked: Request) -> str | None:
        self.asked += 1
        if self.asked == 5:
            self.asked_often.set()
        return self.valid.get(asked.headers.get("authorization", ""))


ONE, TWO = {"authorization": "Bearer one"}, {"authorization": "Bearer two"}


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@asynccontextmanager
async def client_of(tokens: Tokens) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving(app_of(tokens)) as url, httpx2.AsyncClient(base_url=url, timeout=SECONDS) as client:
        yield client


async def read_to_end(response: httpx2.Response) -> str:
    """All that is sent before the connection is closed, in whatever way."""
    read = ""
    with suppress(httpx2.RemoteProtocolError):  # hung up on
        async with asyncio.timeout(SECONDS):
            async for piece in response.aiter_text():
                read += piece
    return read


async def asks(client: httpx2.AsyncClient, thread: str, headers: dict[str, str]) -> None:
    """A run that ends with a question."""
    answer = await client.post("/", json=run_body(thread, user("refund, please")), headers=headers)
    assert "confirm_changes" in answer.text


async def test_a_new_approval_is_not_told_to_a_token_that_has_expired(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Admission, "FRESH_SECONDS", 0.0)
    async with client_of(tokens) as client, client.stream("GET", "/approvals/events", headers=ONE) as stream:
        lines = stream.aiter_lines()
        async with asyncio.timeout(SECONDS):
            async for line in lines:
                if line.startswith("event: waiting"):
                    break
            del tokens.valid["Bearer one"]
            await asks(client, "t1", TWO)
            rest = ""
            with suppress(httpx2.RemoteProtocolError):
                async for line in lines:
                    rest += line
        assert "A1" not in rest
        assert (await client.get("/approvals", headers=TWO)).json()["approvals"][0]["arguments"] == {"order_id": "A1"}


async def test_a_stream_of_approvals_ends_soon_after_its_token(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nothing happens."""
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.05)
    async with client_of(tokens) as client, client.stream("GET", "/approvals/events", headers=ONE) as stream:
        del tokens.valid["Bearer one"]
        await read_to_end(stream)
        assert (await client.get("/approvals/events", headers=ONE)).status_code == 401


class Held(Parrot):
    """A model that says something, waits to be let on, and then calls `refund`."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def stream(self, asked: Any) -> Any:
        """One turn."""
        events = self._turn(asked)
        if len(asked.transcript) == 1:
            await self.go.wait()
        for event in events:
            yield [event]


@asynccontextmanager
async def held(tokens: Tokens) -> AsyncIterator[tuple[httpx2.AsyncClient, Held]]:
    model = Held()
    agent = Agent(name="a", model=model, tools=[refund], hitl="card", on_disconnect="continue")
    app = create_app(agent, store="memory://", auth=tokens, settings=Settings())
    async with serving(app) as url, httpx2.AsyncClient(base_url=url, timeout=SECONDS) as client:
        yield client, model


@pytest.mark.parametrize("way", ["run", "connect", "events"])
async def test_no_question_is_told_to_a_stream_whose_token_has_expired(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(Admission, "FRESH_SECONDS", 0.0)
    body = run_body("t1", user("refund, please"))
    async with held(tokens) as (client, model), client.stream("POST", "/", json=body, headers=ONE) as run:
        stream, others = run, []
        if way != "run":
            key = run.headers["agui-run-key"]
            other = (
                client.stream("POST", "/agents/a/connect", json=run_body("t1"), headers=TWO)
                if way == "connect"
                else client.stream("GET", f"/runs/{key}/events", headers=TWO)
            )
            stream = await other.__aenter__()
            others.append(other)
        try:
            del tokens.valid["Bearer one" if way == "run" else "Bearer two"]
            model.go.set()
            told = await read_to_end(stream)
            assert "RUN_STARTED" in told
            assert "confirm_changes" not in told
        finally:
            for other in others:
                await other.__aexit__(None, None, None)


async def test_the_stream_of_a_run_ends_soon_after_its_token(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.05)
    body = run_body("t1", user("refund, please"))
    async with held(tokens) as (client, model), client.stream("POST", "/", json=body, headers=ONE) as run:
        del tokens.valid["Bearer one"]
        assert "RUN_FINISHED" not in await read_to_end(run)
        model.go.set()
        async with asyncio.timeout(SECONDS):  # the run goes on, for whoever may read it
            found = await client.post("/agents/a/connect", json=run_body("t1"), headers=TWO)
        assert "confirm_changes" in found.text


async def test_a_stream_whose_token_stands_is_left_alone(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(Admission, "FRESH_SECONDS", 0.0)
    body = run_body("t1", user("refund, please"))
    async with held(tokens) as (client, model), client.stream("POST", "/", json=body, headers=ONE) as run:
        async with asyncio.timeout(SECONDS):
            await tokens.asked_often.wait()
        model.go.set()
        told = await read_to_end(run)
    frames = [json.loads(line.removeprefix("data: ")) for line in told.splitlines() if line.startswith("data: ")]
    assert frames[-1]["type"] == "RUN_FINISHED"
    assert "confirm_changes" in told
