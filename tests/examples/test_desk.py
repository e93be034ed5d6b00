"""A day at `examples/desk`: tokens, PostgreSQL, a rule, another person, the nightly job, and the room that is told."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.rows import dict_row
from standardwebhooks import Webhook
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient
from tests.examples.conftest import EXAMPLES
from tests.people.issuer import ISSUER, public, token, write
from tests.product.kit import client_of, running
from tests.product.shop import call, say
from tests.support.servers import Postgres

pytestmark = pytest.mark.anyio

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def login(sub: str, *roles: str) -> dict[str, str]:
    """Returns the headers of somebody who has just logged in. A token lives for five minutes."""
    return {"authorization": f"Bearer {token(sub=sub, org=None, realm={'roles': roles})}"}


class Room:
    """A chat room that is told: what was signed for it."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.app = Starlette(routes=[Route("/hook", self.hear, methods=["POST"])])

    async def hear(self, request: Request) -> Response:
        """Takes a notice, if it is signed."""
        self.told.put_nowait(Webhook(SECRET).verify(await request.body(), dict(request.headers)))
        return Response(status_code=204)


@pytest.fixture
def databases(postgres: Postgres) -> Iterator[tuple[str, str]]:
    """One for the desk, one for the server."""
    names = [postgres.take(), postgres.take()]
    yield postgres.url(names[0]), postgres.url(names[1])
    postgres.start()
    for name in names:
        postgres.give_back(name)


@asynccontextmanager
async def desk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, databases: tuple[str, str], script: Any
) -> AsyncIterator[tuple[str, Room]]:
    """The desk at an address, and its room."""
    room = Room()
    write(tmp_path / "keys.json", public("RS256", "rsa"))
    async with serve(Emulator(script=script)) as provider, running(room.app) as room_url:
        hook = f'[room]\nurl = "{room_url.rstrip("/")}/hook"\nsecrets = ["{SECRET}"]\nprivate = ["127.0.0.0/8"]\n'
        (tmp_path / "webhooks.toml").write_text(hook + 'kinds = ["asked", "decided"]\n')
        settings = {
            "DESK_DATABASE": databases[0],
            "OPENAI_BASE_URL": provider,
            "AGUI_GATE_STORE": databases[1],
            "AGUI_GATE_JWT_ISSUER": ISSUER,
            "AGUI_GATE_JWT_AUDIENCE": "agui-gate",
            "AGUI_GATE_JWT_JWKS": str(tmp_path / "keys.json"),
            "AGUI_GATE_JWT_ROLES": "realm.roles",
            "AGUI_GATE_WEBHOOKS": str(tmp_path / "webhooks.toml"),
            "AGUI_GATE_PUBLIC_URL": "https://desk.example",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.syspath_prepend(EXAMPLES / "desk")
        import desk as module  # type: ignore[import-not-found]

        try:
            async with running(module.app) as url:
                yield url.rstrip("/"), room
        finally:
            for name in ("desk", "nightly"):
                sys.modules.pop(name, None)


async def payments(client: httpx2.AsyncClient, url: str) -> list[tuple[str, str, float]]:
    """What was paid: kind, for what, how much."""
    listed = (await client.get(f"{url}/payments")).json()
    return [(one["kind"], one["what"], one["amount"]) for one in listed]


async def test_a_day_at_the_desk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, databases: tuple[str, str]) -> None:
    ada, ben = login("ada", "user"), login("ben", "approver", "finance")
    voucher = call("send_voucher", customer="Ben Okafor", amount=30)
    script = [
        {"output": [call("find_orders", customer="Ben Okafor")]},
        {"output": [voucher]},
        {"output": [say("Sent.")]},
        {"output": [voucher]},
        {"output": [call("refund", order_id="1003", amount=64.9)], "repeat": True},
    ]
    async with desk(monkeypatch, tmp_path, databases, script) as (url, room), client_of() as client:
        async with await psycopg.AsyncConnection.connect(databases[0], row_factory=dict_row) as connection:
            await connection.execute("INSERT INTO orders VALUES ('1003', 'Ben Okafor', 'Kettle', 64.9, true)")
        chat = AGUIClient(client, url, headers=dict(ada))
        first = await chat.say("Find Ben's orders and send a voucher of 30 €")
        assert first.text == "Sent.", list(first)
        assert await payments(client, url) == [("voucher", "Ben Okafor", 30.0)], "by the rule: nobody was asked"

        asked = await AGUIClient(client, url, headers=dict(ada)).say("And one more")
        (approval,) = (await client.get(f"{url.rstrip('/')}/approvals", headers=ben)).json()["approvals"]
        assert (approval["tool"], approval["asker"], approval["needs"]) == ("send_voucher", "ada", 1)
        decision = f"{url.rstrip('/')}/approvals/{approval['id']}"
        refused = await client.post(decision, json={"approved": True}, headers=ada)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_allowed")
        approved = await client.post(decision, json={"approved": True}, headers=ben)
        assert approved.json()["state"] == "done"
        assert len(await payments(client, url)) == 2
        assert asked.interrupts

        import nightly  # type: ignore[import-not-found]

        (waiting,) = await nightly.main()
        said = await client.post(f"{url.rstrip('/')}/approvals/{waiting}", json={"approved": True}, headers=ben)
        assert said.json()["state"] == "done"
        assert ("refund", "1003", 64.9) in await payments(client, url)

        async with asyncio.timeout(60):
            told = [await room.told.get() for _ in range(4)]
    assert [one["type"] for one in told if one["data"]["approval_id"] == waiting] == [
        "approval.asked",
        "approval.decided",
    ]
    # Of the voucher that the rule let go, nobody was told.
    assert {one["data"]["link"] for one in told} == {
        f"https://desk.example/inbox#{one}" for one in (approval["id"], waiting)
    }
