"""The HTTP surface over real sockets: who may ask, from where, for what, and how the application is put to use."""

import asyncio
import socket
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.errors import ConfigurationError, Forbidden
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import Parrot, request, run, run_body, started, user
from tests.product.kit import TIMEOUT, product, running
from tests.product.shop import Shop, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B22")]

READ = ("/agents", "/agents/support/capabilities", "/approvals", "/threads/t")


def app_of(shop=None, **options):
    agent = Agent(name="support", model=Parrot(), tools=shop.tools if shop else ())
    return create_app(agent, **{"store": "memory://", "settings": Settings(), **options})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "localhost:1234"}, 200),
        ({"host": "app.localhost"}, 200),
        ({"host": "[::1]:80"}, 200),
        ({"host": "127.9.9.9"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "127.0.0.1@evil.example"}, 403),
        ({"host": "[::1"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://127.0.0.1"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": "chrome-extension://abc"}, 403),
    ],
)
async def test_without_auth_only_loopback_is_served(headers, status: int) -> None:
    async with running(app_of()) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        response = await client.get(url + "/agents", headers=headers)
        assert response.status_code == status, response.text
        if status == 403:
            assert response.json()["error"]["code"] == "forbidden"
            posted = await client.post(url, json=run_body("t", user("hi")), headers=headers)
            assert posted.status_code == 403


async def test_without_auth_other_machines_are_refused() -> None:
    async with started(app_of()) as app:
        for client, status in (("127.0.0.1", 200), ("::1", 200), ("10.0.0.7", 403), ("not an address", 403)):
            answer = await request(app, "GET", "/agents", server=("127.0.0.1", 80), client=(client, 5))
            assert answer.status == status


async def test_a_host_that_is_allowed_by_the_settings() -> None:
    app = app_of(settings=Settings(allowed_hosts=("demo.example",)))
    async with running(app) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        assert (await client.get(url + "/agents", headers={"host": "demo.example"})).status_code == 200
        assert (await client.get(url + "/agents", headers={"host": "other.example"})).status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost:5173", "http://127.0.0.1:9", "https://app.example"])
async def test_cors_for_pages_that_are_allowed(origin: str) -> None:
    settings = Settings(cors_origins=("https://app.example",))
    async with running(app_of(settings=settings)) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        ask = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type, authorization, agui-gate-leaving",
        }
        preflight = await client.options(url, headers=ask)
        assert preflight.status_code == 200
        assert preflight.headers["access-control-allow-origin"] == origin
        assert "agui-gate-leaving" in preflight.headers["access-control-allow-headers"]
        response = await client.post(url, json=run_body("t", user("hi")), headers={"origin": origin})
        assert response.headers["access-control-allow-origin"] == origin
        assert response.headers["access-control-expose-headers"] == "AGUI-Run-Key"
        error = await client.get(url + "/threads/none", headers={"origin": origin})
        assert (error.status_code, error.headers["access-control-allow-origin"]) == (404, origin)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost.evil.example", "null", "http://["])
async def test_cors_for_all_others(origin: str) -> None:
    async with running(app_of()) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        preflight = await client.options(url, headers={"origin": origin, "access-control-request-method": "POST"})
        assert preflight.status_code == 400
        response = await client.get(url + "/healthz", headers={"origin": origin})
        assert "access-control-allow-origin" not in response.headers


async def async_auth(incoming):
    await asyncio.sleep(0)
    return incoming.headers.get("x-user")


AUTHS = {
    "sync": lambda incoming: incoming.headers.get("x-user"),
    "async": async_auth,
}


@pytest.mark.parametrize("kind", AUTHS)
async def test_auth_decides_who_asks_and_threads_are_theirs(kind: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), auth=AUTHS[kind]) as p:
        ada, bob = ({"x-user": name} for name in ("ada", "bob"))
        chat = p.chat(thread_id="shared", headers=ada)
        (ask,) = (await chat.say("refund")).interrupts
        for path in ("/agents", "/agents/support/capabilities", "/approvals", "/threads/shared"):
            assert (await p.get(path))["status_code"] == 401
            assert (await p.get(path))["error"]["code"] == "unauthorized"
        assert (await p.post("/", chat.body())).status == 401
        assert (await p.get("/threads/shared", headers=bob))["status_code"] == 404
        assert (await p.get("/approvals", headers=bob))["approvals"] == []
        assert len((await p.get("/approvals", headers=ada))["approvals"]) == 1
        for headers, status in ((None, 401), (bob, 404)):
            assert (await p.decide(ask["id"], {"approved": True}, headers=headers))["status_code"] == status
        unknown = await p.decide("apr_none", {"approved": True}, headers=bob)
        foreign = await p.decide(ask["id"], {"approved": True}, headers=bob)
        assert unknown == foreign, "nobody learns what exists"
        assert shop.refunds == []
        decided = await p.decide(ask["id"], {"approved": True}, headers=ada)
        assert (decided["status_code"], decided["state"]) == (200, "done")
        mine = p.chat(thread_id="shared", headers=bob)
        assert (await mine.say("hello")).text == "Done.", "the same id of somebody else is another thread"
        assert len((await p.get("/threads/shared", headers=bob))["messages"]) == 2


def raising(error):
    def auth(incoming) -> None:
        raise error

    return auth


@pytest.mark.parametrize(
    ("auth", "status", "code"),
    [
        (lambda incoming: None, 401, "unauthorized"),
        (lambda incoming: "", 401, "unauthorized"),
        (lambda incoming: True, 401, "unauthorized"),
        (lambda incoming: {"id": "ada"}, 401, "unauthorized"),
        (raising(RuntimeError("db password is hunter2")), 503, "unavailable"),
        (raising(Forbidden("Not from here.")), 403, "forbidden"),
        (raising(HTTPException(401)), 401, "unauthorized"),
        (raising(HTTPException(403)), 403, "forbidden"),
        (raising(HTTPException(429, "hunter2", {"retry-after": "7"})), 429, "rate_limited"),
        (raising(HTTPException(503)), 503, "unavailable"),
        (raising(HTTPException(418)), 400, "invalid_request"),
    ],
)
async def test_an_auth_that_fails_lets_nobody_in(auth, status: int, code: str) -> None:
    async with running(app_of(auth=auth)) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        for response in (await client.get(url + "/agents"), await client.post(url, json=run_body("t", user("hi")))):
            assert (response.status_code, response.json()["error"]["code"]) == (status, code)
            assert "hunter2" not in response.text
            assert response.headers.get("retry-after") == ("7" if status == 429 else None)
        assert (await client.get(url + "/healthz")).status_code == 200


async def test_bearer_tokens_from_the_settings() -> None:
    settings = Settings(tokens={"ada": "a" * 32, "bob": "b" * 32})
    async with running(app_of(settings=settings)) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        for value, status in (
            (None, 401),
            ("Bearer " + "a" * 32, 200),
            ("bearer  " + "b" * 32, 200),
            ("Bearer " + "c" * 32, 401),
            ("Basic " + "a" * 32, 401),
            ("Bearer", 401),
            ("Bearer é", 401),
        ):
            headers = {} if value is None else {"authorization": value.encode()}
            response = await client.get(url + "/agents", headers=headers)
            assert response.status_code == status, value
            if status == 401:
                assert response.headers["www-authenticate"] == "Bearer"


async def test_health_needs_no_key_and_readiness_knows_the_store() -> None:
    class Away(MemoryStore):
        away = False

        async def check(self) -> None:
            from agui_gate.errors import Unavailable

            if self.away:
                raise Unavailable("The store is away.")

    store = Away()
    app = app_of(store=store, auth=lambda incoming: None)
    async with running(app) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        assert (await client.get(url + "/healthz")).json() == {"status": "ok"}
        assert (await client.get(url + "/readyz")).json() == {"status": "ready"}
        store.away = True
        gone = await client.get(url + "/readyz")
        assert (gone.status_code, gone.json()["error"]["code"]) == (503, "unavailable")
        assert (await client.get(url + "/healthz")).status_code == 200


async def test_a_store_of_ones_own() -> None:
    store = MemoryStore()
    async with started(app_of(store=store)) as app:
        await run(app, run_body("t", user("hi")))
        assert (await store.read_thread("local", "t")).entries


@pytest.mark.parametrize("with_lifespan", [True, False])
async def test_mounted_in_another_application(with_lifespan: bool) -> None:
    """Starlette runs no lifespan of mounted applications: ours starts with its first request."""
    inner = app_of()
    lifespan = inner.router.lifespan_context if with_lifespan else None
    outer = Starlette(
        routes=[Route("/", lambda incoming: PlainTextResponse("outer")), Mount("/chat", app=inner)],
        lifespan=(lambda app: lifespan(inner)) if lifespan else None,
    )
    async with running(outer) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        assert (await client.get(url)).text == "outer"
        response = await client.post(url + "/chat/", json=run_body("t", user("hi")))
        assert response.status_code == 200
        assert '"RUN_FINISHED"' in response.text
        assert (await client.get(url + "/chat/threads/t")).status_code == 200
        assert (await client.get(url + "/chat/readyz")).status_code == 200
        await inner.state.engine.aclose()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/agents"),
        ("PUT", "/"),
        ("GET", "/nothing"),
        ("POST", "/healthz"),
        ("TRACE", "/"),
        ("GET", "/approvals/x"),
    ],
)
async def test_what_is_not_there(method: str, path: str) -> None:
    async with running(app_of()) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        response = await client.request(method, url + path)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


async def test_head_is_get_without_a_body() -> None:
    async with running(app_of()) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        for path in ("/", "/healthz", "/agents"):
            response = await client.head(url + path)
            assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"\r\n\r\n",
    ],
)
async def test_what_is_not_http_harms_nobody(sent: bytes) -> None:
    async with running(app_of()) as url, httpx2.AsyncClient(timeout=TIMEOUT) as client:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(sent)
        assert (await client.get(url + "/healthz")).status_code == 200


@pytest.mark.parametrize(
    ("agents", "message"),
    [(0, "at least one agent"), (2, "same name")],
)
def test_applications_that_can_not_be(agents: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        create_app(*[Agent(name="a", model=Parrot())] * agents, store="memory://", settings=Settings())


def test_a_list_of_agents_is_named_as_the_mistake_that_it_is() -> None:
    agents: Any = [Agent(name="a", model=Parrot())]
    with pytest.raises(ConfigurationError, match=r"create_app takes agents.*; a list is none"):
        create_app(agents, store="memory://", settings=Settings())
