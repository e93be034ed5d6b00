"""The list of threads, their titles, and deleting them: over HTTP, each strictly within its principal."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.config.settings import Settings
from agui_gate.runs import stop_and_delete
from tests.product.kit import TIMEOUT, Product, product
from tests.product.shop import Shop, call, refund, say, script
from tests.requirements import shows
from tests.stores.support import OTHERS

pytestmark = [pytest.mark.anyio, shows("B22")]

Json = dict[str, Any]

ALICE = {"authorization": "Bearer secret-of-alice-0123456789"}
BOB = {"authorization": "Bearer secret-of-bob-0123456789"}
YES = {"approved": True}
HELLO = [{"output": [say("Hello.")], "repeat": True}]


def tokens() -> Settings:
    return Settings(tokens={"alice": "secret-of-alice-0123456789", "bob": "secret-of-bob-0123456789"})


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:////{tmp_path}/t.db"


async def send(p: Product, method: str, path: str, body: Any = None, headers: dict[str, str] = ALICE) -> Json:
    """Any JSON route."""
    response = await p.client.request(method, p.url + path, json=body, headers=headers)
    found: Json = response.json()
    return found | {"status_code": response.status_code}


async def listed(p: Product, query: str = "", headers: dict[str, str] = ALICE) -> list[str]:
    return [head["id"] for head in (await send(p, "GET", f"/threads{query}", headers=headers))["threads"]]


# --- the list


async def test_a_list_says_what_each_thread_is_about_and_waits_for(store: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), refund("B2")), store=store, settings=tokens()) as p:
        asked = await p.chat(thread_id="first", headers=ALICE).say("refund A1 and B2, please")
        page = await send(p, "GET", "/threads")
        (head,) = page["threads"]
        assert page["next_cursor"] is None
        snapshot = await send(p, "GET", "/threads/first")
        assert head == {
            "id": "first",
            "agent": "support",
            "title": "refund A1 and B2, please",
            "created_at": snapshot["created_at"],
            "updated_at": snapshot["updated_at"],
            "archived": False,
            "run": {"key": asked.run_key, "status": "waiting"},
            "pending": 2,
        }
        assert snapshot["archived"] is False
        await p.decide(asked.interrupts[0]["id"], YES, ALICE)
        (head,) = (await send(p, "GET", "/threads"))["threads"]
        assert (head["pending"], shop.orders) == (1, ["A1"])


async def test_lists_come_in_pages_newest_first(store: str) -> None:
    async with product(script=HELLO, store=store, settings=tokens()) as p:
        for number in range(7):
            await p.chat(thread_id=f"t{number}", headers=ALICE).say("hi")
        seen: list[str] = []
        cursor: str | None = ""
        for size in (3, 3, 1):
            page = await send(p, "GET", f"/threads?limit=3&cursor={cursor}")
            assert len(page["threads"]) == size
            seen += [head["id"] for head in page["threads"]]
            cursor = page["next_cursor"]
        assert cursor is None
        assert sorted(seen) == [f"t{number}" for number in range(7)]
        await p.chat(thread_id="t0", headers=ALICE).say("again")
        assert (await listed(p, "?limit=1"))[0] == "t0"


BAD_QUERIES = [
    "limit=0", "limit=101", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=%D9%A3", f"limit={'9' * 5000}",
    "archived=yes", "archived=1", "archived=", "archived=True", "cursor=x", "cursor=%00", f"cursor={'A' * 5000}",
]  # fmt: skip


@pytest.mark.parametrize("query", BAD_QUERIES)
async def test_a_bad_query_is_a_422(query: str) -> None:
    async with product(settings=tokens()) as p:
        refused = await send(p, "GET", f"/threads?{query}")
        assert (refused["status_code"], refused["error"]["code"]) == (422, "invalid_request")


async def test_lists_and_threads_are_their_principals_own(store: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store, settings=tokens()) as p:
        await p.chat(thread_id="same", headers=ALICE).say("refund A1")
        p.emulator.load(HELLO)
        await p.chat(thread_id="his", headers=BOB).say("hi")
        await p.chat(thread_id="same", headers=BOB).say("hi, it's bob")
        assert await listed(p) == ["same"]
        assert await listed(p, headers=BOB) == ["same", "his"]
        theirs = (await send(p, "GET", "/threads", headers=BOB))["threads"][0]
        assert (theirs["title"], theirs["pending"]) == ("hi, it's bob", 0)
        for method, body in (("PATCH", {"title": "stolen"}), ("DELETE", None), ("GET", None)):
            unknown = await send(p, method, "/threads/nothing", body)
            assert unknown["status_code"] == 404
            assert await send(p, method, "/threads/his", body) == unknown, "hers to see: nothing"
        assert (await send(p, "DELETE", "/threads/same", headers=BOB))["deleted"] is True
        assert await listed(p) == ["same"]
        assert len((await p.get("/approvals", ALICE))["approvals"]) == 1


@pytest.mark.parametrize(("method", "path"), [("GET", "/threads"), ("PATCH", "/threads/t"), ("DELETE", "/threads/t")])
async def test_without_a_principal_there_is_a_401(method: str, path: str) -> None:
    async with product(settings=tokens()) as p:
        assert (await send(p, method, path, {}, headers={}))["status_code"] == 401


@pytest.mark.parametrize(("method", "path"), [("GET", "/threads"), ("PATCH", "/threads/t"), ("DELETE", "/threads/t")])
async def test_a_page_of_another_site_is_refused(method: str, path: str) -> None:
    async with product() as p:
        refused = await send(p, method, path, {}, headers={"origin": "https://evil.example"})
        assert (refused["status_code"], refused["error"]["code"]) == (403, "forbidden")


# --- titles, putting away


async def test_a_title_given_by_a_person_stays(store: str) -> None:
    async with product(script=HELLO, store=store, settings=tokens()) as p:
        chat = p.chat(thread_id="with/slashes/in it", headers=ALICE)
        await chat.say("hi")
        path = "/threads/with/slashes/in%20it"
        named = await send(p, "PATCH", path, {"title": "  Ada's \n orders 👩‍🚀 "})
        assert (named["status_code"], named["id"], named["title"]) == (200, chat.thread_id, "Ada's orders 👩‍🚀")
        await chat.say("something else")
        assert (await send(p, "GET", path))["title"] == "Ada's orders 👩‍🚀"
        assert (await send(p, "PATCH", path, {"title": None}))["title"] is None
        await chat.say("more")
        assert (await send(p, "GET", path))["title"] == "hi", "the automatic one again"


async def test_archived_threads_are_listed_apart_and_can_come_back(store: str) -> None:
    async with product(script=HELLO, store=store, settings=tokens()) as p:
        for thread_id in ("a", "b"):
            await p.chat(thread_id=thread_id, headers=ALICE).say("hi")
        before = await send(p, "GET", "/threads/a")
        put_away = await send(p, "PATCH", "/threads/a", {"archived": True})
        assert (put_away["archived"], put_away["title"]) == (True, "hi")
        assert put_away["updated_at"] == before["updated_at"]
        assert (await listed(p), await listed(p, "?archived=true")) == (["b"], ["a"])
        assert await send(p, "PATCH", "/threads/a", {}) == put_away
        assert (await send(p, "GET", "/threads/a"))["archived"] is True
        await send(p, "PATCH", "/threads/a", {"archived": False, "title": "back"})
        assert (await listed(p, "?archived=false"), await listed(p, "?archived=true")) == (["b", "a"], [])


BAD_CHANGES = [
    {"title": ""}, {"title": " \n"}, {"title": "x" * 201}, {"title": 1}, {"title": "a\x00b"}, {"title": "\x1b[31mred"},
    {"title": ["x"]}, {"archived": "true"}, {"archived": 1}, {"archived": None}, {"titel": "x"}, {"pending": 0},
    [], None, "x",
]  # fmt: skip


async def test_a_bad_change_is_a_422_and_changes_nothing() -> None:
    async with product(script=HELLO, settings=tokens()) as p:
        await p.chat(thread_id="t", headers=ALICE).say("hi")
        before = (await send(p, "GET", "/threads"))["threads"]
        declared = {**ALICE, "content-type": "application/json"}
        for body in BAD_CHANGES:
            response = await p.client.patch(f"{p.url}/threads/t", content=json.dumps(body), headers=declared)
            assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_request"), body
        assert (await send(p, "GET", "/threads"))["threads"] == before
        broken = await p.client.patch(f"{p.url}/threads/t", content=b"{", headers=declared)
        assert broken.status_code == 400
        for method in ("PATCH", "DELETE"):
            refused = await send(p, method, f"/threads/{'x' * 257}", {})
            assert refused["status_code"] == 422


# --- deletion


async def test_a_deleted_thread_is_gone_with_what_waited(store: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store, settings=tokens()) as p:
        chat = p.chat(thread_id="t/1", headers=ALICE)
        asked = await chat.say("refund A1")
        assert await send(p, "DELETE", "/threads/t/1") == {"id": "t/1", "deleted": True, "status_code": 200}
        assert (await send(p, "DELETE", "/threads/t/1"))["status_code"] == 404
        assert (await send(p, "GET", "/threads/t/1"))["status_code"] == 404
        assert await listed(p) == []
        assert (await p.get("/approvals", ALICE))["approvals"] == []
        assert (await p.decide(asked.interrupts[0]["id"], YES, ALICE))["status_code"] == 404
        p.emulator.load(HELLO)
        again = await chat.resume((asked.interrupts[0]["id"], YES))
        assert again[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        assert shop.refunds == [], "an answer to what was deleted is an answer to nothing"


async def test_deletion_leaves_no_row(tmp_path: Path) -> None:
    shop = Shop()
    path = f"{tmp_path}/t.db"
    async with product(shop.tools, script(refund()), store=f"sqlite:////{path}") as p:
        await p.chat(thread_id="t").say("refund A1")
        assert rows(path)
        assert (await send(p, "DELETE", "/threads/t", headers={}))["deleted"] is True
        assert rows(path) == {}


def rows(path: str) -> dict[str, int]:
    """Tables about threads that are not empty."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counts = {
        name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables if name not in OTHERS
    }
    connection.close()
    return {name: count for name, count in counts.items() if count}


@asynccontextmanager
async def digging(**options: Any) -> AsyncIterator[tuple[Product, asyncio.Event]]:
    """A product whose free tool `dig` and gated tool `bury` begin and never end."""
    begun = asyncio.Event()

    @tool
    async def dig() -> str:
        """Dig for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    @tool(gate=True)
    async def bury() -> str:
        """Bury for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with product([dig, bury], **options) as p:
        yield p, begun


async def test_deleting_stops_the_run_first(store: str) -> None:
    async with digging(script=script(call("dig")), store=store, settings=tokens()) as (p, begun):
        run = asyncio.create_task(p.chat(thread_id="t", headers=ALICE).say("dig"))
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
            assert (await send(p, "GET", "/threads"))["threads"][0]["run"]["status"] == "running"
            assert (await send(p, "DELETE", "/threads/t"))["deleted"] is True
            stream = await run
        assert stream[-1]["type"] == "RUN_ERROR"
        assert stream[-1]["code"] == "abort"
        assert await listed(p) == []


async def test_the_events_of_a_deleted_threads_runs_are_gone_too(store: str) -> None:
    async with product(script=HELLO, store=store, settings=tokens()) as p:
        streams = {}
        for thread_id in ("t", "u"):
            for text in ("hi", "again"):
                streams[thread_id, text] = await p.chat(thread_id=thread_id, headers=ALICE).say(text)
        theirs = await p.chat(thread_id="t", headers=BOB).say("hi")
        assert (await send(p, "DELETE", "/threads/t"))["deleted"] is True
        for (thread_id, _), stream in streams.items():
            response = await p.client.get(f"{p.url}/runs/{stream.run_key}/events", headers=ALICE)
            assert response.status_code == (404 if thread_id == "t" else 200)
        assert (await p.client.get(f"{p.url}/runs/{theirs.run_key}/events", headers=BOB)).status_code == 200


async def test_a_thread_whose_decision_is_at_work_is_busy(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tool has begun and can't be taken back: deleting would lose what became of it."""
    monkeypatch.setattr(stop_and_delete, "DELETE_SECONDS", 0.3)
    async with digging(script=script(call("bury")), store=store, settings=tokens()) as (p, begun):
        asked = await p.chat(thread_id="t", headers=ALICE).say("bury")
        decision = asyncio.create_task(p.decide(asked.interrupts[0]["id"], YES, ALICE))
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
            refused = await send(p, "DELETE", "/threads/t")
        assert (refused["status_code"], refused["error"]["code"]) == (409, "thread_busy")
        assert await listed(p) == ["t"]
        decision.cancel()
        await asyncio.gather(decision, return_exceptions=True)


async def test_many_deletions_at_once_delete_once(store: str) -> None:
    async with product(script=HELLO, store=store, settings=tokens()) as p:
        await p.chat(thread_id="t", headers=ALICE).say("hi")
        async with asyncio.timeout(TIMEOUT):
            answers = await asyncio.gather(*(send(p, "DELETE", "/threads/t") for _ in range(10)))
        assert {answer["status_code"] for answer in answers} <= {200, 404, 409}
        assert 200 in {answer["status_code"] for answer in answers}
        assert await listed(p) == []
        assert (await p.chat(thread_id="t", headers=ALICE).say("hi again")).text == "Hello."
