"""`GET /approvals/events`: what waits for somebody, as it comes and goes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.extras.inbox import feed as inbox
from agui_gate.extras.inbox import stream as http_inbox
from agui_gate.extras.inbox.feed import inbox_of
from agui_gate.stores.sqlite import SQLiteStore
from tests.product.kit import CARD_TOOL, TIMEOUT, Product, product
from tests.product.shop import Shop, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("H2")]

ALICE, BOB = {"authorization": "Bearer A"}, {"authorization": "Bearer B"}
TWO = Settings(tokens="alice:A,bob:B")


@pytest.fixture(autouse=True)
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests see is told by what happened, unless they say otherwise."""
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 3600.0)


class Watching:
    """One open stream; the next of its events, each as its name and its data."""

    def __init__(self, response: Any) -> None:
        self.response, self._lines = response, response.aiter_lines()

    async def next(self) -> tuple[str, Any]:
        name = ""
        async for line in self._lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))
        return "end", None

    async def line(self) -> str:
        return await anext(self._lines)

    async def states(self, number: int) -> list[tuple[str, str]]:
        """The next records: their calls and their states."""
        told = [await self.next() for _ in range(number)]
        assert [name for name, _ in told] == ["approval"] * number
        return [(record["call_id"], record["state"]) for _, record in told]


@asynccontextmanager
async def watching(p: Product, headers: dict[str, str] | None = None) -> AsyncIterator[Watching]:
    async with (
        asyncio.timeout(TIMEOUT),
        p.client.stream("GET", f"{p.url}/approvals/events", headers=headers or {}) as response,
    ):
        yield Watching(response)


async def ask(p: Product, headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """A chat that ends in two refunds that wait."""
    chat = p.chat(headers=headers or {}, tools=[CARD_TOOL])
    await chat.say("refund both")
    return list((await p.get("/approvals", headers))["approvals"])


TWO_CALLS = script(refund("call_1"), refund("call_2"))


async def test_first_what_waits_then_each_that_comes_and_each_state() -> None:
    shop = Shop()
    async with product(shop.tools, TWO_CALLS) as p:
        one, two = await ask(p)
        async with watching(p) as seen:
            assert seen.response.headers["content-type"].startswith("text/event-stream")
            assert await seen.next() == ("approval", one)
            assert await seen.next() == ("approval", two)
            assert await seen.next() == ("waiting", {"ids": [one["id"], two["id"]]})
            await p.decide(two["id"], {"approved": False, "reason": "no"})
            name, rejected = await seen.next()
            assert (name, rejected["id"], rejected["state"]) == ("approval", two["id"], "rejected")
            assert await p.get(f"/approvals/{two['id']}") == rejected | {"status_code": 200}
            await p.decide(one["id"], {"approved": True})
            last = await seen.states(1)
            if last[0][1] == "claimed":  # seen at work
                last = await seen.states(1)
            assert last[0][1] == "done"
            chat = p.chat(tools=[CARD_TOOL])
            p.emulator.load(script(refund("call_3")))
            await chat.say("another")
            assert [state for _, state in await seen.states(1)] == ["pending"]


async def test_what_is_answered_in_a_run_is_told_too() -> None:
    async with product(Shop().tools, TWO_CALLS) as p:
        chat = p.chat(tools=[CARD_TOOL])
        async with watching(p) as seen:
            assert await seen.next() == ("waiting", {"ids": []})
            asked = await chat.say("refund both")
            assert [state for _, state in await seen.states(2)] == ["pending", "pending"]
            await chat.answer(*((card_id, {"accepted": False}) for card_id in asked.cards))
            assert [state for _, state in await seen.states(2)] == ["rejected", "rejected"]


async def test_of_a_deleted_thread_what_waited_is_gone() -> None:
    async with product(Shop().tools, TWO_CALLS) as p:
        one, two = await ask(p)
        async with watching(p) as seen:
            for _ in range(3):
                await seen.next()
            assert (await p.client.delete(f"{p.url}/threads/{one['thread_id']}")).is_success
            assert [await seen.next(), await seen.next()] == [("gone", {"id": one["id"]}), ("gone", {"id": two["id"]})]


async def test_everybody_sees_their_own_and_a_stranger_nothing() -> None:
    async with product(Shop().tools, TWO_CALLS, settings=TWO) as p:
        mine = await ask(p, ALICE)
        async with watching(p, ALICE) as alice, watching(p, BOB) as bob:
            assert [(await alice.next())[1]["id"] for _ in mine] == [approval["id"] for approval in mine]
            assert await bob.next() == ("waiting", {"ids": []})
            p.emulator.load(TWO_CALLS)
            theirs = await ask(p, BOB)
            assert [(await bob.next())[1]["id"] for _ in theirs] == [approval["id"] for approval in theirs]
            assert (await alice.next())[0] == "waiting"
        async with watching(p) as nobody:
            assert nobody.response.status_code == 401


async def test_what_another_process_writes_and_what_expires_is_seen_with_the_next_look(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 0.05)
    path = tmp_path / "a.db"
    async with product(Shop(expires_after=3600).tools, TWO_CALLS, store=f"sqlite:///{path}") as p:
        one, two = await ask(p)
        other = SQLiteStore(str(path))  # as another process has it
        await other.start()
        async with watching(p) as seen:
            for _ in range(3):
                await seen.next()
            await other.move(one["id"], State.CANCELLED)
            assert await seen.states(1) == [(one["call_id"], "cancelled")]
            await other._run(lambda db: db.execute("UPDATE approvals SET expires_at = 1"))
            assert await seen.states(1) == [(two["call_id"], "expired")]
        await other.aclose()


async def test_it_ends_when_the_server_stops() -> None:
    async with product(Shop().tools, TWO_CALLS) as p:
        engine = p.app.state.engine
        async with watching(p) as seen:
            assert await seen.next() == ("waiting", {"ids": []})
            await engine.drain()
            assert await seen.next() == ("end", None)
        async with watching(p) as late:
            assert late.response.status_code == 503


async def test_an_idle_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_inbox, "PING_INTERVAL", 0.01)
    async with product(Shop().tools) as p, watching(p) as seen:
        while await seen.line() != ": ping":
            pass


async def test_who_leaves_is_forgotten_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MAX_WATCHERS", 1)
    async with product(Shop().tools) as p:
        watchers = inbox_of(p.app.state.engine)._watchers
        async with watching(p) as first:
            await first.next()
            async with watching(p) as second:
                assert second.response.status_code == 429
        async with asyncio.timeout(TIMEOUT):
            while watchers:  # noqa: ASYNC110  the server notices by itself, and tells nobody
                await asyncio.sleep(0)
        async with watching(p) as again:
            assert await again.next() == ("waiting", {"ids": []})
