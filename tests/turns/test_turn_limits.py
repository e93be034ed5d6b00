"""What a model may say, call and take in one turn (T13): the thread goes on, others are served."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from agui_gate import Agent, ToolContext, adapter, create_app, tool
from agui_gate.adapter import AssistantTurn
from agui_gate.config.settings import Settings
from agui_gate.turns import tool_execution
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T13")]


class Endless(Parrot):
    """A model whose first answer never ends: ``batch`` again and again. Then it says "ok"."""

    def __init__(self, batch: Sequence[adapter.ModelEvent], *, waits: bool = False) -> None:
        super().__init__()
        self.batch, self.waits = batch, waits
        self.asked = asyncio.Event()

    async def stream(self, request: adapter.TurnRequest) -> AsyncIterator[Any]:
        """One turn."""
        self.requests.append(request)
        self.asked.set()
        if len(self.requests) > 1:
            yield [*says("ok"), adapter.TurnDone()]
            return
        while True:
            yield self.batch
            if self.waits:
                await asyncio.Event().wait()


def app_of(model: Any, *tools: Any, **settings: Any) -> Any:
    return create_app(Agent(name="a", model=model, tools=tools), store="memory://", settings=Settings(**settings))


def last(answer: Any) -> tuple[str, str]:
    event = answer.events()[-1]
    return event["type"], event.get("code", "")


ENDLESS = {
    "text": [adapter.TextDelta("0", "x" * 1000)],
    "reasoning": [adapter.ReasoningDelta("0", "x" * 1000)],
    "arguments": [adapter.CallStart("0", "c", "look"), adapter.CallDelta("0", "x" * 1000)],
    "empty items": [adapter.TextStart("0")],
    "hosted results": [
        adapter.CallStart("0", "c", "search", hosted=True),
        adapter.CallEnd("0", "{}"),
        adapter.CallResult("0", "x" * 1000),
    ],
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_answer_without_end_is_cut_off_and_the_thread_goes_on(kind: str) -> None:
    app = app_of(Endless(ENDLESS[kind]), turn_bytes=20_000)
    async with started(app), asyncio.timeout(60):
        answer = await run(app, run_body("t", user("hello", "m1")))
        assert last(answer) == ("RUN_ERROR", "limit_reached")
        assert "longer than 20,000 bytes" in answer.events()[-1]["message"]
        assert len(answer.body) < 400_000
        again = await run(app, run_body("t", user("hello", "m1"), user("go on", "m2")))
        assert last(again)[0] == "RUN_FINISHED"


async def test_what_was_said_is_kept_as_a_turn_that_was_cut_off() -> None:
    model = Endless([adapter.TextDelta("0", "x" * 1000)])
    app = app_of(model, turn_bytes=20_000)
    async with started(app):
        await run(app, run_body("t", user("hello", "m1")))
        thread = await app.state.engine.store.read_thread("local", "t")
        assert thread.entries[-2].cut
        await run(app, run_body("t", user("hello", "m1"), user("go on", "m2")))
        turn = model.requests[1].transcript[1]
        assert isinstance(turn, AssistantTurn)
        assert turn.parts[0].text == "x" * 19_000


async def test_others_are_served_while_a_model_talks_without_a_pause() -> None:
    model = Endless([adapter.TextDelta("0", "x")] * 100)
    app = app_of(model, turn_bytes=2_000_000, turn_seconds=50)
    async with started(app), asyncio.timeout(60):
        running = asyncio.create_task(run(app, run_body("t", user("hello", "m1"))))
        await model.asked.wait()
        for _ in range(10):
            assert (await request(app, "GET", "/healthz")).status == 200
            await asyncio.sleep(0)
        assert not running.done()
        assert (await request(app, "POST", "/threads/t/cancel")).status == 200
        assert last(await running) == ("RUN_ERROR", "abort")


async def test_an_answer_that_takes_too_long_is_cut_off() -> None:
    app = app_of(Endless([adapter.TextDelta("0", "Well, ")], waits=True), turn_seconds=1, metrics="on")
    async with started(app), asyncio.timeout(60):
        answer = await run(app, run_body("t", user("hello", "m1")))
        assert last(answer) == ("RUN_ERROR", "limit_reached")
        assert "1 seconds" in answer.events()[-1]["message"]
        assert (await run(app, run_body("t", user("hello", "m1"), user("go on", "m2")))).status == 200
        counted = (await request(app, "GET", "/metrics")).body
        assert b'agui_gate_model_requests_total{code="limit_reached"' in counted


def many(number: int) -> list[Any]:
    made = [calls("look", {}, f"call_{i}", str(i)) for i in range(number)]
    return [event for call in made for event in call]


async def test_a_turn_with_too_many_calls_runs_none_of_them_and_each_has_its_result() -> None:
    ran = []

    @tool
    def look() -> str:
        """Look."""
        ran.append(1)
        return "seen"

    app = app_of(Parrot([[*many(300), adapter.TurnDone()]]), look)
    async with started(app):
        answer = await run(app, run_body("t", user("hello", "m1")))
        assert last(answer) == ("RUN_ERROR", "limit_reached")
        assert "more than 256 calls" in answer.events()[-1]["message"]
        results = [e for e in answer.events() if e["type"] == "TOOL_CALL_RESULT"]
        again = await run(app, run_body("t", user("hello", "m1"), user("go on", "m2")))
        assert last(again)[0] == "RUN_FINISHED"
    assert (len(results), ran) == (256, [])


async def test_the_calls_of_one_turn_take_turns() -> None:
    now, most = 0, 0

    @tool
    async def look() -> str:
        """Look."""
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return "seen"

    app = app_of(Parrot([[*many(50), adapter.TurnDone()]]), look, tools_at_once=4)
    async with started(app):
        answer = await run(app, run_body("t", user("hello", "m1")))
        results = [e for e in answer.events() if e["type"] == "TOOL_CALL_RESULT"]
    assert (len(results), most) == (50, 4)


async def test_sync_tools_have_a_bounded_number_of_threads() -> None:
    lock, full = threading.Lock(), threading.Event()
    now, most = 0, 0

    @tool
    def look() -> str:
        """Look."""
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
            if now == 5:
                full.set()
        full.wait(10)  # the first ones, until as many as may be are at work
        with lock:
            now -= 1
        return "seen"

    app = app_of(Parrot([[*many(60), adapter.TurnDone()]] * 3), look, tools_at_once=60, tool_threads=5)
    async with started(app):
        await asyncio.gather(*(run(app, run_body(f"t{i}", user("hello", "m1"))) for i in range(3)))
    assert most == 5


async def test_a_shared_state_that_a_tool_makes_too_large_is_undone() -> None:
    @tool
    async def fill(ctx: ToolContext) -> str:
        """Fill."""
        ctx.state["text"] = "x" * 1000
        return "filled"

    app = app_of(Parrot([[*calls("fill", {}), adapter.TurnDone()]]), fill, state_bytes=500)
    async with started(app):
        answer = await run(app, run_body("t", user("hello", "m1"), state={"a": 1}))
        assert last(answer)[0] == "RUN_FINISHED"
        assert (await app.state.engine.store.read_thread("local", "t")).state == {"a": 1}
        refused = await run(app, run_body("u", user("hello", "m1"), state={"text": "x" * 1000}))
        assert (refused.status, refused.json()["error"]["code"]) == (413, "too_large")


def test_a_result_is_cut_behind_its_limit_and_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_execution, "MAX_RESULT", 5)
    assert [tool_execution._as_text(text) for text in ("12345", "123456")] == ["12345", "12345… (cut)"]
