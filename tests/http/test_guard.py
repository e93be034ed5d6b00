"""Whom a server without auth answers, and what it says to those that it doesn't (T14)."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, request
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T14")]

ALICE = {"authorization": "Bearer token-of-alice"}


def app_of(**settings: Any) -> Any:
    return create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings(**settings))


@asynccontextmanager
async def behind_a_socket(app: Any, path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """The application under uvicorn on a Unix socket, as behind a proxy."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()  # so that who comes before uvicorn listens is not refused
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        transport = httpx2.AsyncHTTPTransport(uds=str(path))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            yield client
    finally:
        server.should_exit = True
        await serving


async def test_behind_a_unix_socket_nobody_is_answered_without_auth(tmp_path: Path) -> None:
    """Whoever asks the proxy in front of it: there is no address to tell them apart by."""
    async with behind_a_socket(app_of(), tmp_path / "s") as client:
        forwarded = {"x-forwarded-for": "127.0.0.1", "x-forwarded-host": "localhost", "forwarded": "for=127.0.0.1"}
        for headers in ({}, forwarded):
            for path in ("/agents", "/threads", "/approvals"):
                answer = await client.get(path, headers=headers)
                assert answer.status_code == 403
                assert answer.json()["error"] == {
                    "code": "forbidden",
                    "message": "This request has no client address, as over a Unix socket. Without auth the server "
                    "accepts this machine only: set AGUI_GATE_TOKENS, or pass auth= to create_app.",
                }
        assert (await client.get("/healthz")).status_code == 200


async def test_behind_a_unix_socket_auth_decides(tmp_path: Path) -> None:
    async with behind_a_socket(app_of(tokens={"alice": "token-of-alice"}), tmp_path / "s") as client:
        assert (await client.get("/agents")).status_code == 401
        assert (await client.get("/agents", headers=ALICE)).status_code == 200


@pytest.mark.parametrize("server", [("/run/gate.sock", None), ("unix:/run/gate.sock", None), None, ("testserver", 80)])
async def test_what_has_no_address_is_somebody_else(server: Any) -> None:
    """Whichever ASGI server it is, and whatever it says about itself."""
    answer = await request(app_of(), "GET", "/agents", server=server, client=None)  # type: ignore[arg-type]
    assert answer.status == 403


async def test_an_address_that_a_proxy_claims_over_a_unix_socket_is_not_believed() -> None:
    """What uvicorn makes of `X-Forwarded-For` if it is told to trust everybody."""
    answer = await request(app_of(), "GET", "/agents", server=("/run/gate.sock", None), client=("127.0.0.1", 0))  # type: ignore[arg-type]
    assert answer.status == 403


async def test_in_process_it_goes_on_as_before() -> None:
    assert (await request(app_of(), "GET", "/agents")).status == 200


@pytest.mark.parametrize(
    "header",
    ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-prefix", "x-real-ip"],
)
async def test_what_came_through_a_proxy_is_somebody_else(header: str) -> None:
    """A proxy on this machine speaks for the whole network."""
    sent = {header: "127.0.0.1", "host": "localhost"}
    for path in ("/agents", "/threads", "/approvals"):
        answer = await request(app_of(), "GET", path, headers=sent, server=HERE)
        assert answer.status == 403
        assert answer.json()["error"] == {
            "code": "forbidden",
            "message": f"This request came through a proxy: it has the header '{header}'. Without auth the server "
            "accepts this machine only: set AGUI_GATE_TOKENS, or pass auth= to create_app.",
        }
    app = app_of(tokens={"alice": "token-of-alice"})
    assert (await request(app, "GET", "/agents", headers={**sent, **ALICE}, server=HERE)).status == 200


@pytest.mark.parametrize("server", [("gate.example", 443), ("localhost", 80), ("127.0.0.1", 80), None])
@pytest.mark.parametrize("client", ["203.0.113.9", "10.0.0.7", "2001:db8::1", "", "testclient", "somebody"])
async def test_another_machine_is_never_local_whatever_the_scope_says_of_the_server(server: Any, client: str) -> None:
    """An adapter that fills `server` from the Host header opened it."""
    for host in ("localhost", "gate.example"):
        answer = await request(app_of(), "GET", "/agents", headers={"host": host}, server=server, client=(client, 4711))
        assert answer.status == 403


@pytest.mark.parametrize(("client", "status"), [("::ffff:127.0.0.1", 200), ("::1", 200), ("::ffff:10.0.0.9", 403)])
async def test_on_a_socket_of_both_families_this_machine_is_local(client: str, status: int) -> None:
    """Its IPv4 address is written as one of IPv6."""
    assert (await request(app_of(), "GET", "/agents", client=(client, 4711))).status == status


async def test_a_name_for_a_server_lets_no_foreign_host_in() -> None:
    """A WSGI bridge says SERVER_NAME; a page that points a name of its own at 127.0.0.1 is refused all the same."""
    sent = {"host": "evil.example"}
    answer = await request(
        app_of(), "GET", "/agents", headers=sent, server=("evil.example", 80), client=("127.0.0.1", 9)
    )
    assert answer.status == 403


async def test_a_test_client_is_this_machine() -> None:
    assert TestClient(app_of()).get("/agents").status_code == 200


# --- one hint, the right one ---------------------------------------------------------------------------------------

HERE = ("127.0.0.1", 8000)


async def refusal(app: Any, host: str, origin: str | None = None, **headers: str) -> str:
    sent = {"host": host, **({"origin": origin} if origin else {}), **headers}
    answer = await request(app, "GET", "/agents", headers=sent, server=HERE)
    assert answer.status == 403
    message: str = answer.json()["error"]["message"]
    return message


@pytest.mark.parametrize(
    ("host", "origin"),
    [("gate.internal", None), ("gate.internal", "https://shop.example"), ("localhost:8000", "https://shop.example")],
)
async def test_without_auth_it_always_says_to_configure_auth(host: str, origin: str | None) -> None:
    """Behind a proxy, whichever of the two headers that changes."""
    said = await refusal(app_of(), host, origin)
    assert "set AGUI_GATE_TOKENS, or pass auth= to create_app." in said
    assert "Ask for localhost" not in said


async def test_a_proxy_that_changes_the_host_is_named() -> None:
    app = app_of(tokens={"alice": "token-of-alice"})
    said = await refusal(app, "gate:8000", "https://shop.example", **ALICE)
    assert said == (
        "This request comes from a page of 'https://shop.example', but asks for the Host 'gate:8000'. "
        "If a proxy changed the Host, let it forward the original one. "
        "If the page is on another host on purpose, add its origin to AGUI_GATE_CORS_ORIGINS."
    )
    passed_on = {"host": "shop.example", "origin": "https://shop.example", **ALICE}
    assert (await request(app, "GET", "/agents", headers=passed_on, server=HERE)).status == 200
    allowed = app_of(tokens={"alice": "token-of-alice"}, cors_origins=("https://shop.example",))
    changed = {"host": "gate:8000", "origin": "https://shop.example", **ALICE}
    assert (await request(allowed, "GET", "/agents", headers=changed, server=HERE)).status == 200


async def test_a_header_that_is_too_long_is_not_repeated() -> None:
    assert len(await refusal(app_of(), "x" * 5000)) < 400


async def test_the_log_names_an_origin_that_is_refused_once() -> None:
    """A browser tells only its own console."""
    app = app_of(tokens={"alice": "token-of-alice"}, cors_origins=("https://shop.example",))
    asking = {"access-control-request-method": "GET", "access-control-request-headers": "authorization"}
    with capture_logs() as lines:
        for origin in ("https://shop.example", "https://a.example", "https://a.example", "https://b.example"):
            await request(
                app, "OPTIONS", "/agents", headers={"host": "gate:8000", "origin": origin, **asking}, server=HERE
            )
        await refusal(app, "gate:8000", "https://a.example", **ALICE)
        await refusal(app, "gate:8000", "https://c.example", **ALICE)
        for number in range(200):
            await refusal(app, "gate:8000", f"https://{number}.example", **ALICE)
    told = [line["origin"] for line in lines if line["event"] == "origin_refused"]
    assert told[:3] == ["https://a.example", "https://b.example", "https://c.example"]
    assert len(told) == 100


async def test_what_an_answer_differs_by_is_said_to_all() -> None:
    """A cache must not give one page's answer to another, also if it was asked by no page."""
    app = app_of(cors_origins=["https://a.example"])
    plain = await request(app, "GET", "/healthz")
    page = await request(app, "GET", "/healthz", headers={"origin": "https://a.example"})
    assert plain.headers["vary"] == page.headers["vary"] == "Origin"
    app.router.routes.insert(0, Route("/page", lambda _: Response(headers={"vary": "accept"})))
    assert (await request(app, "GET", "/page")).headers["vary"] == "accept, Origin"
