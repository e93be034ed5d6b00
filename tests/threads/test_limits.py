"""How large a thread may be (T13): clear errors, answers still count, and it can be deleted."""

import asyncio
import json
from typing import Any

import pytest

from agui_gate import Agent, Gate, adapter, create_app, tool
from agui_gate.config.limits import Limits
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.core.stored_values import encode_entries
from agui_gate.core.transcript import CardClosedEntry
from agui_gate.errors import LimitReached, TooLarge
from agui_gate.stores.base import Change
from agui_gate.threads.history import Capacity
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows
from tests.stores.support import said

pytestmark = [pytest.mark.anyio, shows("T13")]


def app_of(model: Any, *tools: Any, store: Any = "memory://", **settings: Any) -> Any:
    agent = Agent(name="a", model=model, tools=tools)
    return create_app(agent, store=store, settings=Settings(**settings))


def last(answer: Any) -> tuple[str, str]:
    event = answer.events()[-1]
    return event["type"], event.get("code", "")


async def test_a_full_thread_takes_nothing_new_and_says_so() -> None:
    model = Parrot()
    app = app_of(model, thread_bytes=16 * 1024)
    async with started(app):
        assert last(await run(app, run_body("t", user("x" * 10_000, "m1"))))[0] == "RUN_FINISHED"
        refused = await run(app, run_body("t", user("x" * 10_000, "m2")))
        assert last(refused) == ("RUN_ERROR", "limit_reached")
        assert "Start a new one" in refused.events()[-1]["message"]
        thread = await app.state.engine.store.read_thread("local", "t")
        assert thread.bytes < 16 * 1024  # nothing of it was kept
        assert len(model.requests) == 1
        assert last(await run(app, run_body("t", user("short", "m3"))))[0] == "RUN_FINISHED"


async def test_entries_have_a_limit_too_and_calls_of_a_history_count() -> None:
    app = app_of(Parrot(), thread_entries=50)
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    history = {"id": "a", "role": "assistant", "toolCalls": [{**call, "id": f"c{i}"} for i in range(60)]}
    async with started(app):
        answer = await run(app, run_body("t", user("x", "m0"), history, user("y", "m2")))
        assert last(answer) == ("RUN_ERROR", "limit_reached")
        for number in range(30):
            answer = await run(app, run_body("u", user("x", f"m{number}")))
            if last(answer)[1]:
                break
        assert last(answer) == ("RUN_ERROR", "limit_reached")
        assert len((await app.state.engine.store.read_thread("local", "u")).entries) == 50


def test_a_thread_is_full_at_its_limit_and_not_before_and_answers_still_count() -> None:
    new, closed = said("hello"), CardClosedEntry("card", "m", "{}")
    size = 100 + len(encode_entries(new))
    exact, less = (Capacity(Limits(thread_bytes=number), 100, 1) for number in (size, size - 1))
    exact.check_new(new)
    for entries in (new, [*new, closed]):
        with pytest.raises(LimitReached):
            less.check_new(entries)
    less.check_new([closed])
    less.check_new(new, dropped=new)
    Limits(state_bytes=7).check_state({"a": 1})
    with pytest.raises(TooLarge):
        Limits(state_bytes=6).check_state({"a": 1})


async def test_going_back_makes_room() -> None:
    app = app_of(Parrot(), thread_bytes=16 * 1024)
    async with started(app):
        await run(app, run_body("t", user("x" * 10_000, "m1")))
        edited = await run(app, run_body("t", user("y" * 12_000, "m1")))
        assert last(edited)[0] == "RUN_FINISHED"


async def test_what_tools_say_is_cut_where_the_thread_is_full() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "x" * 100_000

    made = [calls("look", {}, f"call_{i}", str(i)) for i in range(8)]
    turn = [*(event for call in made for event in call), adapter.TurnDone()]
    app = app_of(Parrot([turn]), look, thread_bytes=200_000)
    async with started(app):
        answer = await run(app, run_body("t", user("go", "m1")))
        results = [e for e in answer.events() if e["type"] == "TOOL_CALL_RESULT"]
        thread = await app.state.engine.store.read_thread("local", "t")
    assert len(results) == 8
    assert sum("is full" in result["content"] for result in results) >= 6
    assert thread.bytes < 230_000


async def test_a_person_can_still_decide_what_a_full_thread_asked() -> None:
    ran = []

    @tool(gate=True)
    async def refund(order_id: str) -> str:
        """Refund."""
        ran.append(order_id)
        return "refunded"

    model = Parrot([[*says("x" * 20_000), *calls("refund", {"order_id": "A1"}), adapter.TurnDone()]])
    app = app_of(model, refund, thread_bytes=16 * 1024)
    async with started(app):
        answer = await run(app, run_body("t", user("refund", "m1")))
        interrupt = answer.events()[-1]["outcome"]["interrupts"][0]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        answer = await run(app, run_body("t", user("refund", "m1"), resume=resume))
        assert last(answer) == ("RUN_ERROR", "limit_reached")  # the model is not asked again
        (approval,) = (await app.state.engine.store.read_thread("local", "t")).approvals
    assert (approval.state, ran) == (State.DONE, ["A1"])


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_thread_that_is_too_large_to_be_read_is_refused_and_can_be_deleted(kind: str, tmp_path: Any) -> None:
    """Older data: a limit that was lowered."""
    store = "memory://" if kind == "memory" else f"sqlite:///{tmp_path}/a.db"
    app = app_of(Parrot(), store=store, thread_bytes=16 * 1024, turn_bytes=1024)
    async with started(app):
        kept = app.state.engine.store
        thread = await kept.lease_thread("local", "t", "a", "r")
        await kept.commit(thread, Change(entries=said("x" * 100_000), status="finished"), "r")
        for answer in (
            await request(app, "GET", "/threads/t"),
            await run(app, run_body("t", user("hello"))),
            await run(app, run_body("t"), "/agents/a/connect"),
        ):
            assert (answer.status, answer.json()["error"]["code"]) == (413, "too_large")
        assert (await request(app, "GET", "/threads")).json()["threads"][0]["id"] == "t"
        assert (await request(app, "POST", "/threads/t/cancel")).json()["cancelled"] is False
        assert (await request(app, "DELETE", "/threads/t")).status == 200
        assert last(await run(app, run_body("t", user("hello"))))[0] == "RUN_FINISHED"


async def in_flight(app: Any, number: int) -> None:
    while len(app.state.engine._runs) < number:  # noqa: ASYNC110  (what it waits for has no event)
        await asyncio.sleep(0)


async def test_runs_of_one_principal_have_a_limit_and_others_go_on() -> None:
    gate = asyncio.Event()

    class Waiting(Parrot):
        async def stream(self, request: adapter.TurnRequest) -> Any:
            await gate.wait()
            yield [*says("ok"), adapter.TurnDone()]

    app = app_of(Waiting(), principal_runs=2, tokens={"alice": "A", "bob": "B"})
    hers, his = {"authorization": "Bearer A"}, {"authorization": "Bearer B"}
    async with started(app), asyncio.timeout(60):
        tasks = [asyncio.create_task(run(app, run_body(f"t{i}", user("hello")), headers=hers)) for i in range(2)]
        await in_flight(app, 2)
        refused = await run(app, run_body("t3", user("hello")), headers=hers)
        assert (refused.status, refused.json()["error"]["code"]) == (429, "rate_limited")
        tasks.append(asyncio.create_task(run(app, run_body("t", user("hello")), headers=his)))
        await in_flight(app, 3)
        gate.set()
        assert [last(answer)[0] for answer in await asyncio.gather(*tasks)] == ["RUN_FINISHED"] * 3
        assert last(await run(app, run_body("t3", user("hello")), headers=hers))[0] == "RUN_FINISHED"


async def test_a_run_that_ends_makes_room_for_one_and_not_for_more() -> None:
    gate = asyncio.Event()

    class WaitingWhenAsked(Parrot):
        async def stream(self, request: adapter.TurnRequest) -> Any:
            if "wait" in str(request.transcript):
                await gate.wait()
            yield [*says("ok"), adapter.TurnDone()]

    app = app_of(WaitingWhenAsked(), principal_runs=2)
    async with started(app), asyncio.timeout(60):
        tasks = [asyncio.create_task(run(app, run_body("t0", user("wait"))))]
        await in_flight(app, 1)
        assert last(await run(app, run_body("t1", user("hello"))))[0] == "RUN_FINISHED"
        tasks.append(asyncio.create_task(run(app, run_body("t2", user("wait")))))
        await in_flight(app, 2)
        assert (await run(app, run_body("t3", user("hello")))).status == 429
        gate.set()
        assert [last(answer)[0] for answer in await asyncio.gather(*tasks)] == ["RUN_FINISHED"] * 2


async def test_the_memory_store_keeps_so_much_of_one_principal() -> None:
    app = app_of(Parrot(), principal_threads=3, principal_bytes=30_000, tokens={"alice": "A", "bob": "B"})
    hers, his = {"authorization": "Bearer A"}, {"authorization": "Bearer B"}
    async with started(app):
        for number in range(3):
            assert (await run(app, run_body(f"t{number}", user("hi")), headers=hers)).status == 200
        refused = await run(app, run_body("t3", user("hi")), headers=hers)
        assert (refused.status, refused.json()["error"]["code"]) == (413, "too_large")
        assert (await request(app, "DELETE", "/threads/t0", headers=hers)).status == 200
        await run(app, run_body("t3", user("x" * 40_000)), headers=hers)
        refused = await run(app, run_body("t1", user("more")), headers=hers)
        assert "Delete some" in json.loads(refused.body)["error"]["message"]
        assert (await request(app, "DELETE", "/threads/t3", headers=hers)).status == 200
        assert (await run(app, run_body("t1", user("more")), headers=hers)).status == 200
        assert (await run(app, run_body("t3", user("hi")), headers=his)).status == 200


@pytest.mark.parametrize("what", ["reason", "edited_arguments"])
async def test_what_people_decide_can_not_make_a_thread_too_large_to_be_read(what: str, stored: str) -> None:
    """An answer always finds room, so it has to be small, and it counts."""

    @tool(gate=Gate(editable=["text"]))
    async def send(text: str) -> str:
        """Send."""
        return "sent"

    made = [calls("send", {"text": "x"}, f"call_{i}", str(i)) for i in range(3)]
    turn = [*(event for call in made for event in call), adapter.TurnDone()]
    app = app_of(Parrot([turn]), send, store=stored)
    long = "é" * 600_000
    answer = {"approved": False, "reason": long} if what == "reason" else {"approved": True, what: {"text": long}}
    async with started(app):
        asked = (await run(app, run_body("t", user("go", "m1")))).events()[-1]["outcome"]["interrupts"]
        statuses = [await _decided(app, one["id"], answer) for one in asked]
        assert set(statuses) == {200} if what == "reason" else {403, 409, 422} & set(statuses)
        thread = await app.state.engine.store.read_thread("local", "t")
        assert thread.bytes < 200_000
        if what == "edited_arguments":
            before, some = thread.bytes, {"approved": True, what: {"text": "x" * 50_000}}
            assert await _decided(app, asked[0]["id"], some) == 200
            assert (await app.state.engine.store.read_thread("local", "t")).bytes > before + 50_000


async def _decided(app: Any, approval_id: str, answer: Any) -> int:
    return (await request(app, "POST", f"/approvals/{approval_id}", json.dumps(answer).encode())).status


@pytest.fixture(params=["memory", "sqlite"])
def stored(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'gate.db'}"
