"""Deleting a thread while something that a person approved is at work on it (T7).

It waits for that, or it is refused; whichever door it comes through. What ran leaves a mark.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.runs import stop_and_delete
from agui_gate.stores.base import Store
from tests.product.kit import TIMEOUT, Product, product
from tests.product.shop import Shop, call, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T7")]

YES = {"approved": True}
TOKENS = {"alice": "token-of-alice", "bob": "token-of-bob"}
ALICE, BOB = ({"authorization": f"Bearer {token}"} for token in TOKENS.values())
DOORS = ("/threads/t", "/copilotkit/threads/t")
WAYS = ("run", "decision")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:////{tmp_path}/t.db"


class Paying:
    """A gated tool that begins, and goes on until it is let go."""

    def __init__(self, p: Product, begun: asyncio.Event, go: asyncio.Event, paid: list[int]) -> None:
        self.p, self.begun, self.go, self.paid = p, begun, go, paid

    @property
    def store(self) -> Store:
        kept: Store = self.p.app.state.engine.store
        return kept

    @asynccontextmanager
    async def at_work(self, way: str) -> AsyncIterator[None]:
        """Approved, in a run or out of band, and begun."""
        chat = self.p.chat(thread_id="t")
        asked = (await chat.say("pay")).interrupts[0]["id"]
        work: asyncio.Task[Any] = asyncio.create_task(
            chat.resume((asked, YES)) if way == "run" else self.p.decide(asked, YES)
        )
        try:
            async with asyncio.timeout(TIMEOUT):
                await self.begun.wait()
            yield
        finally:
            self.go.set()
            async with asyncio.timeout(TIMEOUT):
                await work

    async def delete(self, door: str) -> tuple[int, str | None]:
        response = await self.p.client.delete(self.p.url + door)
        return response.status_code, response.json().get("error", {}).get("code")


@asynccontextmanager
async def paying(store: str) -> AsyncIterator[Paying]:
    begun, go, paid = asyncio.Event(), asyncio.Event(), list[int]()

    @tool(gate=True)
    async def pay(amount: int) -> str:
        """Pay."""
        begun.set()
        await go.wait()
        paid.append(amount)
        return f"paid {amount}"

    async with product([pay], script(call("pay", amount=5)), store=store) as p:
        yield Paying(p, begun, go, paid)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("door", DOORS)
async def test_it_waits_for_what_was_approved_and_that_leaves_a_mark(
    store: str, door: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_and_delete, "DELETE_SECONDS", TIMEOUT)
    async with paying(store) as paying_:
        async with paying_.at_work(way):
            deleting = asyncio.create_task(paying_.delete(door))
            done, _ = await asyncio.wait([deleting], timeout=0.3)
            assert not done, "it waits"
        async with asyncio.timeout(TIMEOUT):
            assert await deleting == (200, None)
        assert paying_.paid == [5]
        assert (await paying_.p.get("/threads/t"))["status_code"] == 404
        (tomb,) = await paying_.store.tombstones("local")
        assert (tomb.state, tomb.tool, tomb.approved, tomb.decided_by) == (State.DONE, "pay", True, "local")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("door", DOORS)
async def test_it_is_refused_where_that_takes_too_long(
    store: str, door: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_and_delete, "DELETE_SECONDS", 0.3)
    async with paying(store) as paying_:
        async with paying_.at_work(way):
            assert await paying_.delete(door) == (409, "thread_busy")
        assert paying_.paid == [5], "it was not cut off"
        thread = await paying_.store.read_thread("local", "t")
        assert thread is not None
        assert [approval.state for approval in thread.approvals] == [State.DONE]


@pytest.mark.parametrize("way", WAYS)
async def test_after_a_stop_it_is_deleted_and_says_unknown(store: str, way: str) -> None:
    async with paying(store) as paying_:
        async with paying_.at_work(way):
            answer = await paying_.p.client.post(f"{paying_.p.url}/threads/t/cancel")
            assert answer.json() == {"cancelled": True}
            assert await paying_.delete("/threads/t") == (200, None)
        (tomb,) = await paying_.store.tombstones("local")
        assert (tomb.state, tomb.decided_by) == (State.UNKNOWN, "local")


@pytest.mark.parametrize("ticks", range(12))
@pytest.mark.parametrize("way", WAYS)
async def test_races_of_an_approval_and_a_deletion(store: str, way: str, ticks: int) -> None:
    """Whatever comes first: what ran has left a mark that says so, and what left no mark didn't run."""
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store) as p:
        engine = p.app.state.engine
        chat = p.chat(thread_id="t")
        asked = (await chat.say("refund A1")).interrupts[0]["id"]
        work: Any = chat.resume((asked, YES)) if way == "run" else p.decide(asked, YES)
        approving = asyncio.create_task(work)
        for _ in range(ticks * 3):
            await asyncio.sleep(0)  # a few steps further each time
        async with asyncio.timeout(TIMEOUT):
            assert await engine.delete_thread("local", "t") in (True, False)
            await approving
        left = [tomb.state for tomb in await engine.store.tombstones("local")]
        thread = await engine.store.read_thread("local", "t")
        there = [approval.state for approval in thread.approvals] if thread else []
        if shop.refunds:
            assert left + there == [State.DONE]
        else:
            assert not {*left, *there} & {State.DONE, State.CLAIMED}


async def test_a_decision_about_a_thread_that_is_being_deleted_makes_no_new_thread(store: str) -> None:
    """It looked while the thread was there, and took its lease when it was gone: that made an empty one."""
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store) as p:
        engine = p.app.state.engine
        asked = (await p.chat(thread_id="t").say("refund A1")).interrupts[0]["id"]
        lease_thread = engine.store.lease_thread

        async def deleted_meanwhile(*arguments: Any, **options: Any) -> Any:
            engine.store.lease_thread = lease_thread
            assert await engine.delete_thread("local", "t")
            return await lease_thread(*arguments, **options)

        engine.store.lease_thread = deleted_meanwhile
        answer = await p.decide(asked, YES)
        assert (answer["status_code"], answer["error"]["code"]) == (404, "not_found")
        assert (await p.get("/threads"))["threads"] == []
        assert shop.refunds == []


async def test_what_is_left_of_a_call_can_be_asked_for(store: str) -> None:
    """By whom it belonged to, and by nobody else."""
    shop = Shop()
    async with product(shop.tools, script(refund()), store=store, settings=Settings(tokens=TOKENS)) as p:
        asked = (await p.chat(thread_id="t", headers=ALICE).say("refund A1")).interrupts[0]["id"]
        done = await p.decide(asked, {**YES, "reason": "she called"}, ALICE)
        assert (await p.client.delete(f"{p.url}/threads/t", headers=ALICE)).status_code == 200
        answer = await p.get(f"/approvals/{asked}", ALICE)
        assert (answer["status_code"], answer["error"]["code"]) == (410, "gone")
        record = answer["error"]["record"]
        assert record["decision"] == {**record["decision"], "approved": True, "by": "alice", "way": "http"}
        assert (record["tool"], record["state"], record["thread_id"]) == ("refund", "done", "t")
        assert record["result_sha256"] == hashlib.sha256(done["result"].encode()).hexdigest()
        assert "she called" not in str(answer)
        assert (await p.get(f"/approvals/{asked}", BOB))["status_code"] == 404
        assert (await p.decide(asked, YES, ALICE))["status_code"] == 404
        assert len(shop.refunds) == 1
