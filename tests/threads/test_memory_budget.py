"""What all open threads together may have in memory (T13, T15)."""

import asyncio
import gc
import json
import threading
from typing import Any

import pytest

from agui_gate import Agent, adapter, create_app, tool
from agui_gate.concurrency import LARGE
from agui_gate.config.settings import Settings
from agui_gate.errors import RateLimited, Unavailable
from agui_gate.stores.base import Change
from agui_gate.threads import leased_thread
from agui_gate.threads.budget import Budget
from agui_gate.threads.leased_thread import LeasedThread
from tests.product.inprocess import Parrot, request, run, run_body, says, started, user
from tests.requirements import shows
from tests.stores.support import pending, said

pytestmark = [pytest.mark.anyio, shows("T13", "T15")]

MIB = 1024 * 1024


async def test_one_principal_takes_half_and_all_together_the_whole() -> None:
    budget = Budget(100)
    hers = [budget.reserve("alice", 25), budget.reserve("alice", 25)]
    with pytest.raises(RateLimited):
        budget.reserve("alice", 1)
    his = budget.reserve("bob", 50)
    with pytest.raises(Unavailable):
        budget.reserve("carol", 1)
    his.release()
    his.release()
    assert budget.reserved == 50
    carols = budget.reserve("carol", 50)
    hers.clear()  # as good as released
    assert budget.reserved == 50
    carols.release()
    assert (budget.reserved, len(budget._reserved)) == (0, 0)


async def test_a_thread_that_is_larger_than_the_budget_is_worked_on_alone() -> None:
    budget = Budget(100)
    hers = budget.reserve("alice", 500)
    with pytest.raises(Unavailable):
        budget.reserve("bob", 1)
    hers.release()
    assert budget.reserve("bob", 1)


async def test_runs_shows_and_connections_count_and_are_given_back() -> None:
    gate = asyncio.Event()

    class Waiting(Parrot):
        async def stream(self, request: adapter.TurnRequest) -> Any:
            await gate.wait()
            yield [*says("ok"), adapter.TurnDone()]

    agent = Agent(name="a", model=Waiting())
    app = create_app(agent, store="memory://", settings=Settings(open_bytes=2 * MIB))
    async with started(app), asyncio.timeout(60):
        engine = app.state.engine
        for thread_id in ("t", "u"):
            thread = await engine.store.lease_thread("local", thread_id, "a", "r")
            await engine.store.commit(thread, Change(entries=said("x" * MIB), status="finished"), "r")
        running = asyncio.create_task(run(app, run_body("t", user("hi"))))
        while not engine._runs:  # noqa: ASYNC110  (it has no event)
            await asyncio.sleep(0)
        for refused in (
            await run(app, run_body("u", user("hi"))),
            await request(app, "GET", "/threads/u"),
            await run(app, run_body("u"), "/agents/a/connect"),
            await run(app, run_body("t"), "/agents/a/connect"),  # to a run in flight
            await request(app, "GET", "/copilotkit/threads/u/messages"),
            await request(app, "GET", "/copilotkit/threads/u/state"),
            await request(app, "POST", "/", json.dumps(run_body("u")).encode(), {"last-event-id": "run_1:0"}),
        ):
            assert refused.status == 429
        gate.set()
        assert (await running).status == 200
        assert (await request(app, "GET", "/threads/u")).json()["id"] == "u"
        assert (await run(app, run_body("u"), "/agents/a/connect")).status == 200
        assert (await run(app, run_body("u", user("hi")))).status == 200  # a refused run gives its lease back
        gc.collect()
        assert engine.budget.reserved == 0


async def test_a_decision_counts_too_and_decides_nothing_where_there_is_no_room() -> None:
    @tool(gate=True)
    async def refund(order_id: str) -> str:
        """Refund."""
        return "refunded"

    app = create_app(Agent(name="a", model=Parrot(), tools=[refund]), store="memory://")
    async with started(app), asyncio.timeout(60):
        engine = app.state.engine
        assert (await run(app, run_body("t", user("refund")))).status == 200
        (waiting,) = await pending(engine.store, "local")
        path, yes = f"/approvals/{waiting.id}", b'{"approved": true}'
        others = engine.budget.reserve("local", engine.budget.limit // 2)
        assert (await request(app, "POST", path, yes)).status == 429
        others.release()
        assert (await request(app, "POST", path, yes)).json()["state"] == "done"
        gc.collect()
        assert engine.budget.reserved == 0


async def test_a_long_thread_is_opened_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a decision, too: nobody else waits for it (T15)."""
    places: list[str] = []

    def opened(*args: Any) -> LeasedThread:
        places.append(threading.current_thread().name)
        return LeasedThread(*args)

    @tool(gate=True)
    async def refund(order_id: str) -> str:
        """Refund."""
        return "refunded"

    settings = Settings(kept_bytes=0)  # what is kept is not opened again
    app = create_app(Agent(name="a", model=Parrot(), tools=[refund]), store="memory://", settings=settings)
    async with started(app), asyncio.timeout(60):
        store = app.state.engine.store
        thread = await store.lease_thread("local", "t", "a", "r")
        await store.commit(thread, Change(entries=said(*["x"] * (LARGE + 1)), status="finished"), "r")
        monkeypatch.setattr(leased_thread, "LeasedThread", opened)
        assert (await run(app, run_body("t", user("refund")))).status == 200
        (waiting,) = await pending(store, "local")
        answer = await request(app, "POST", f"/approvals/{waiting.id}", b'{"approved": true}')
        assert answer.json()["state"] == "done"
    assert [place.startswith("agui-gate-heavy") for place in places] == [True, True]


async def test_a_large_thread_that_finds_no_room_is_not_even_read_the_second_time() -> None:
    budget = Budget(10 * MIB)
    first = budget.expect("alice", "t").found("t", 4 * MIB)
    with pytest.raises(RateLimited):
        budget.expect("alice", "u").found("u", 3 * MIB)
    with pytest.raises(RateLimited):
        budget.expect("alice", "u")
    first.release()
    budget.expect("alice", "u").found("u", 10)  # it was deleted, and the id is another one's now
    assert budget.expect("alice", "u")._size == 0


def test_two_empty_threads_of_one_principal_are_given_back_one_by_one() -> None:
    budget = Budget(100)
    one, other = budget.expect("ada", "t1"), budget.expect("ada", "t2")
    one.release()
    other.release()
    assert budget.reserved == 0
