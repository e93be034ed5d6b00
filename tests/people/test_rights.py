"""Every route × role × tenant, made from the routes that there are, against a real server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from agui_gate import Agent, Gate, Grant, Principal, ToolContext, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.extension import Extension, Server
from agui_gate.extras.people.rights import PUBLIC, RIGHTS, ROLES, rights_of
from agui_gate.http.auth import Admission
from agui_gate_adapters.testkit.agui import serving
from tests.people.desk import Model

pytestmark = pytest.mark.anyio

SECONDS = 20.0
CASTS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    **{role: (role,) for role in sorted(ROLES)},
    "user and approver": ("user", "approver"),
    "a group": ("finance",),
    "auditor of a group": ("auditor", "finance"),
}
WHERE = {"own": ("acme", "desk"), "another owner": ("acme", "other"), "another tenant": ("evil", "desk")}
TOKENS = {
    f"{cast} {where}".replace(" ", "-"): Principal(f"{cast}-{where}", tenant, roles, owner)
    for cast, roles in CASTS.items()
    for where, (tenant, owner) in WHERE.items()
}


def routes_of(routes: Sequence[BaseRoute]) -> set[tuple[str, str]]:
    """The methods and paths of routes, those of extras too."""
    found: set[tuple[str, str]] = set()
    for route in routes:
        if isinstance(route, Route):
            found |= {(method, route.path) for method in route.methods or () if method != "HEAD"}
        elif isinstance(route, Mount):
            found |= {("GET", f"{route.path}/…")}
        else:
            found |= routes_of(route.routes)  # type: ignore[attr-defined]
    return found


FILES = re.compile(r"/|/page.*|/copilot(/.*)?|/components.*|/audit/files.*")
"""Files that are the same for all."""


def app_of(**more: Any) -> Any:
    @tool(gate=Gate(grants=[Grant.thread()]))
    async def refund(order_id: str, amount: int, ctx: ToolContext) -> str:
        """Refund an order."""
        return "refunded"

    def auth(request: Request) -> Principal | None:
        return TOKENS.get(request.headers.get("authorization", ""))

    agent = Agent(name="support", model=Model(), tools=[refund])
    return create_app(agent, store="memory://", auth=auth, settings=Settings(usage=True), **more)


def test_every_route_has_an_entry_and_every_entry_a_route() -> None:
    there = routes_of(app_of().routes)
    asked = {(method, path) for method, path in there if not (method == "GET" and FILES.fullmatch(path))}
    assert asked - RIGHTS.keys() == set(), "a new route needs an entry in extras/people/rights.py"
    assert RIGHTS.keys() - there == set(), "gone"


def test_routes_that_ask_nobody_are_known() -> None:
    assert {path for (_, path), roles in RIGHTS.items() if roles == PUBLIC} == {
        "/admin",
        "/healthz",
        "/inbox",
        "/readyz",
    }


def test_the_documentation_has_the_same_table() -> None:
    text = (Path(__file__).parents[2] / "docs/people.md").read_text()
    told = dict(re.findall(r"^\| `([A-Z]+ [^`]+)` \| ([a-z, -]+) \|", text, re.MULTILINE))
    assert told == {
        f"{method} {path.replace(':path', '')}": ", ".join(sorted(roles))
        for (method, path), roles in RIGHTS.items()
        if roles != PUBLIC
    }


@pytest.mark.parametrize(
    ("roles", "rights"),
    [
        ((), {"user"}),
        (("finance",), {"user"}),
        (("finance", "approver"), {"approver"}),
        (("User",), {"user"}),
        (("operator", "auditor"), {"operator", "auditor"}),
    ],
)
def test_what_roles_amount_to(roles: tuple[str, ...], rights: set[str]) -> None:
    assert rights_of(Principal("a", roles=roles)) == rights


class World:
    """A server, and ways to ask it."""

    def __init__(self, url: str, client: httpx2.AsyncClient) -> None:
        self.url, self.client, self.number = url, client, 0

    async def send(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
        """Status, body and run key; of a stream that doesn't end by itself no body."""
        head = {"authorization": who, "content-type": "application/json"}
        content = None if body is None else json.dumps(body)
        async with (
            asyncio.timeout(SECONDS),
            self.client.stream(method, self.url + path, headers=head, content=content) as answer,
        ):
            endless = answer.status_code == 200 and path == "/approvals/events"
            text = "" if endless else (await answer.aread()).decode()
            return answer.status_code, text, answer.headers.get("agui-run-key", "")

    async def made(self) -> dict[str, str]:
        """A new thread of the owner, with a call that waits: the ids by which it is found."""
        self.number += 1
        thread = f"t{self.number}"
        status, _, run_key = await self.send("nothing-own", "POST", "/", body_of(thread, "refund"))
        assert status == 200
        calls = json.loads((await self.send("nothing-own", "GET", f"/threads/{thread}"))[1])
        approval_id = calls["approvals"][0]["id"]
        return {"thread": thread, "approval": approval_id, "run_key": run_key, "grant": "gr_none", "deputy": "dep_none"}

    async def deputized(self) -> dict[str, str]:
        """What `made` makes, and a deputy of the owner."""
        ids = await self.made()
        body = {"deputy": f"nobody{self.number}", "until": soon()}
        status, text, _ = await self.send("nothing-own", "POST", "/deputies", body)
        assert status == 201, text
        return ids | {"deputy": json.loads(text)["id"]}

    async def granted(self) -> dict[str, str]:
        """What `made` makes, and a grant for calls like it."""
        ids = await self.made()
        path, yes = f"/approvals/{ids['approval']}", {"approved": True, "grant": {"scope": "thread"}}
        status, text, _ = await self.send("nothing-own", "POST", path, yes)
        assert status == 200, text
        return ids | {"grant": json.loads(text)["grant"]}


NONE = {"thread": "none", "approval": "apr_none", "run_key": "run_none", "grant": "gr_none", "deputy": "dep_none"}


def body_of(thread: str, text: str) -> dict[str, Any]:
    message = {"id": "m", "role": "user", "content": text}
    return {"threadId": thread, "runId": "r", "messages": [message], "tools": [], "context": [], "state": {}}


def soon() -> str:
    """Tomorrow."""
    return (datetime.now(UTC) + timedelta(days=1)).isoformat()


def asked(method: str, path: str, ids: dict[str, str]) -> tuple[str, Any]:
    """The path and the body of a request to a route, about these objects."""
    kinds = {"approvals": "approval", "grants": "grant", "deputies": "deputy"}
    named = ids[kinds.get(path.split("/")[1], "thread")]
    values = {"name": "support", "agent": "support", "run_key": ids["run_key"], "id": named, "id:path": named}
    filled = re.sub(r"\{([^}]+)\}", lambda found: values[found[1]], path)
    if path in ("/copilotkit", "/copilotkit/"):
        return filled, {
            "method": "agent/run",
            "params": {"agentId": "support"},
            "body": body_of(ids["thread"], "hello"),
        }
    bodies = {"/deputies": {"deputy": "dan", "until": soon()}, "/approvals/{id}/hand-to": {"to": "dan"}}
    if path in bodies and method == "POST":
        return filled, bodies[path]
    if path == "/approvals/{id}":
        return filled, {"approved": False} if method == "POST" else None
    if method == "PATCH":
        return filled, {"title": "x"} if path.startswith("/threads") else {"name": "x", "agentId": "support"}
    if path.endswith(("/cancel", "/archive")) or "/stop/" in path:
        return filled, {"agentId": "support"} if path.endswith("/archive") else {}
    if method == "DELETE":
        return filled, {"agentId": "support"} if path.startswith("/copilotkit") else None
    return filled, body_of(ids["thread"], "hello") if method == "POST" else None


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serving(app_of()) as url, httpx2.AsyncClient(timeout=SECONDS) as client:
        yield World(url, client)


OBJECTS = re.compile(r"\{(id|id:path|run_key)\}")


OPERATORS = {(method, path) for method, path in RIGHTS if path.startswith("/ops/")}
"""Routes that show everybody's of a tenant."""


@pytest.mark.parametrize(
    ("method", "path"), [key for key, roles in RIGHTS.items() if roles != PUBLIC and key not in OPERATORS]
)
async def test_every_cell_is_as_the_table_says(world: World, method: str, path: str) -> None:
    needed = RIGHTS[method, path]
    makes = {"/grants": world.granted, "/deputies": world.deputized}
    make = next((makes[name] for name in makes if path.startswith(name) and method != "POST"), world.made)
    ids = await make()
    before = await snapshot(world, ids)
    turn = list(RIGHTS).index((method, path))
    for n, (name, principal) in enumerate(TOKENS.items()):
        if not needed & rights_of(principal) and n % len(WHERE) != (turn + n // len(WHERE)) % len(WHERE):
            continue  # it has no right to this wherever it is; that is asked at one place, which are taken in turn
        answer = await world.send(name, method, *asked(method, path, ids))
        cell = f"{method} {path} as {name}: {answer[:2]}"
        if not needed & rights_of(principal):
            assert (answer[0], json.loads(answer[1])["error"]["code"]) == (403, "forbidden"), cell
            assert answer == await world.send(name, method, *asked(method, path, NONE)), cell
            assert await snapshot(world, ids) == before, cell
        elif (name.endswith("-own") and (make != world.deputized or name in ("nothing-own", "operator-own"))) or (
            (make != world.made and name == "operator-another-owner")
            or (path == "/audit" and "evil" not in principal.tenant and {"auditor", "operator"} & set(principal.roles))
        ):
            assert answer[0] == (201 if (method, path) == ("POST", "/deputies") else 200), cell
            ids = await make()
            before = await snapshot(world, ids)
        else:
            assert await snapshot(world, ids) == before, cell
            none = await world.send(name, method, *asked(method, path, NONE))
            assert answer[0] == none[0], cell
            if OBJECTS.search(path) and not path.endswith("/connect") and "/stop/" not in path:
                assert answer[:2] == none[:2], cell
                assert answer[0] == 404, cell
            for secret in (ids["approval"], "A1"):
                assert secret not in answer[1], cell


async def test_operators_alone_come_to_what_is_everybodys_of_their_tenant(world: World) -> None:
    ids = await world.made()
    before = await snapshot(world, ids)
    for method, path in sorted(OPERATORS):
        filled = path.replace("{id:path}", ids["thread"]).replace("{id}", ids["approval"])
        for name, principal in TOKENS.items():
            status, text, _ = await world.send(name, method, filled, {} if method == "POST" else None)
            cell = f"{method} {filled} as {name}: {status}, {text}"
            if "operator" not in rights_of(principal):
                assert (status, json.loads(text)["error"]["code"]) == (403, "forbidden"), cell
            elif "another-tenant" in name:
                assert status in (200, 404, 422), cell
                assert ids["approval"] not in text, cell
            else:
                assert status == (422 if method == "POST" else 200), cell
        assert await snapshot(world, ids) == before


async def snapshot(world: World, ids: dict[str, str]) -> Any:
    """All of the owner's thread."""
    return json.loads((await world.send("nothing-own", "GET", f"/threads/{ids['thread']}"))[1])


async def test_nobody_without_a_token_gets_anything(world: World) -> None:
    ids = await world.made()
    for (method, path), roles in RIGHTS.items():
        status, text, _ = await world.send("nobody", method, *asked(method, path, ids))
        assert (status in (401, 415)) is (roles != PUBLIC), (method, path, text)


@pytest.mark.parametrize(
    "after",
    [
        Principal("ada", "acme", ("user", "auditor"), "desk"),
        Principal("ada", "acme", ("user",), "other"),
        Principal("ada", "evil", ("user",), "desk"),
        Principal("ada", "acme", ("user",), "desk", {"person": "p"}),
    ],
    ids=["roles", "owner", "tenant", "person"],
)
async def test_a_stream_ends_when_the_rights_of_its_reader_change(
    monkeypatch: pytest.MonkeyPatch, after: Principal
) -> None:
    monkeypatch.setattr(Admission, "AGAIN_SECONDS", 0.02)
    monkeypatch.setitem(TOKENS, "ada", Principal("ada", "acme", ("user",), "desk"))
    async with (
        serving(app_of()) as url,
        httpx2.AsyncClient(timeout=SECONDS) as client,
        client.stream("GET", f"{url}/approvals/events", headers={"authorization": "ada"}) as stream,
    ):
        assert stream.status_code == 200
        monkeypatch.setitem(TOKENS, "ada", after)
        async with asyncio.timeout(SECONDS):
            with suppress(httpx2.RemoteProtocolError):
                async for _ in stream.aiter_bytes():
                    pass


async def test_a_route_of_an_extension_is_for_users() -> None:
    class Room(Extension):
        def routes(self, server: Server) -> list[BaseRoute]:
            async def show(request: Request) -> Response:
                return JSONResponse({"principal": await server.principal(request)})

            return [Route("/room/{id}", show)]

    async with serving(app_of(extensions=[Room()])) as url, httpx2.AsyncClient(timeout=SECONDS) as client:
        world = World(url, client)
        for name, status in (("nothing-own", 200), ("user-own", 200), ("a-group-own", 200), ("approver-own", 403)):
            assert (await world.send(name, "GET", "/room/1"))[0] == status


async def test_one_of_our_own_without_an_entry_is_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RIGHTS, ("GET", "/threads"))
    monkeypatch.delitem(RIGHTS, ("GET", "/copilotkit/info"))
    async with serving(app_of()) as url, httpx2.AsyncClient(timeout=SECONDS) as client:
        world = World(url, client)
        for path in ("/threads", "/copilotkit/info"):
            assert (await world.send("user-own", "GET", path))[0] == 403
