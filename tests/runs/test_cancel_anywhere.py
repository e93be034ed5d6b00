"""A run is cancelled after every number of steps of the loop: whatever it was doing, the thread is whole afterwards."""

import asyncio
import json
from pathlib import Path

import pytest

from agui_gate import Agent, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core import result_texts
from agui_gate.core.approvals import State
from agui_gate.core.transcript import ResultEntry, TurnEntry
from agui_gate.errors import ProviderUnavailable
from agui_gate.protocol.request_decoder import decode
from agui_gate_adapters.testkit.agui import parse
from tests.product.inprocess import Parrot, calls, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio

STEPS = (*range(30), *range(40, 400, 20), *range(400, 4_000, 300))
"""Steps of the loop. A store with a thread of its own takes hundreds of them over one save, under load thousands."""


class Shop:
    """One gated tool, one free tool that takes a few steps."""

    def __init__(self, store) -> None:
        self.ran = []

        @tool(gate=True)
        async def refund(order_id: str) -> str:
            """Refund an order."""
            self.ran.append(order_id)
            for _ in range(3):
                await asyncio.sleep(0)
            return "refunded"

        @tool
        async def look() -> str:
            """Look."""
            for _ in range(3):
                await asyncio.sleep(0)
            return "seen"

        self.model = Parrot()
        self.agent = Agent(name="a", model=self.model, tools=[refund, look], on_unanswered="supersede")
        self.app = create_app(self.agent, store=store, settings=Settings())

    async def begin(self, thread_id, *messages, **more):
        body = json.dumps(run_body(thread_id, *messages, **more)).encode()
        return await self.app.state.engine.run(self.agent, decode(body), "local")

    async def thread(self, thread_id):
        return await self.app.state.engine.store.read_thread("local", thread_id)

    async def cancelled_after(self, steps, live) -> None:
        async with asyncio.timeout(60):
            if steps is None:
                await asyncio.wait([live.task])
            for _ in range(steps or 0):
                await asyncio.sleep(0)
            live.cancel()
            live.cancel()
            await asyncio.wait([live.task])
        raw = await (await self.app.state.engine.read(live.key, -1)).read()
        ends = [e["type"] for e in parse(raw.decode()) if e["type"] in ("RUN_FINISHED", "RUN_ERROR")]
        assert len(ends) == 1, "a stream without its one terminal event"

    async def whole(self, thread_id):
        """Nothing is there twice, nothing is half there, and the next turn works."""
        thread = await self.thread(thread_id)
        assert thread.run_status != "running"
        turns = [e for e in thread.entries if isinstance(e, TurnEntry)]
        assert len({t.id for t in turns}) == len(turns)
        results = [e.call_id for e in thread.entries if isinstance(e, ResultEntry)]
        assert len(set(results)) == len(results)
        issued = [c for t in turns for c in t.calls]
        by_call = {a.call_id: a for a in thread.approvals}
        assert set(by_call) <= {c.id for c in issued}, "an approval without its call"
        for call in issued:
            assert call.id in results or call.id in by_call, "a call that nobody settles"
            assert not (call.id in results and call.id in by_call), "a call with two records"
        self.model.plan = None
        live = await self.begin(thread_id, user("next", f"{thread_id}-next"))
        async with asyncio.timeout(60):
            await live.task
        after = await self.thread(thread_id)
        assert after.run_status == "finished"
        assert not [a for a in after.approvals if a.state in (State.PENDING, State.CLAIMED)]
        return after


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path: Path):
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/t.db"


@shows("S29", "S30", "S31", "B9")
async def test_cancelled_while_a_turn_is_made_and_its_calls_are_recorded(store: str) -> None:
    shop = Shop(store)
    async with started(shop.app):
        for steps in STEPS:
            turn = [*says("hm"), *calls("refund", {"order_id": "A1"}, "c1", "1"), *calls("look", {}, "c2", "2")]
            shop.model.plan = [[*turn, adapter.TurnDone()]]
            thread_id = f"t{steps}"
            await shop.cancelled_after(steps, await shop.begin(thread_id, user("go", "u1")))
            await shop.whole(thread_id)
    assert shop.ran == []


@shows("S29", "S30", "B14")
async def test_cancelled_while_a_run_fails(store: str) -> None:
    shop = Shop(store)
    async with started(shop.app):
        for steps in STEPS:
            turn = [*says("hm"), *calls("look", {}, "c1", "1"), ProviderUnavailable("Away.")]
            shop.model.plan = [turn, turn]
            thread_id = f"t{steps}"
            await shop.cancelled_after(steps, await shop.begin(thread_id, user("go", "u1")))
            await shop.whole(thread_id)


@shows("S29", "S30", "S32", "B9", "B10")
async def test_cancelled_while_an_approval_is_carried_out(store: str) -> None:
    shop = Shop(store)
    states = set()
    async with started(shop.app):
        for steps in (*STEPS, None):
            thread_id = f"t{steps}"
            shop.model.plan = [[*calls("refund", {"order_id": thread_id}), adapter.TurnDone()]]
            asking = await shop.begin(thread_id, user("go", "u1"))
            async with asyncio.timeout(60):
                await asking.task
            (approval,) = (await shop.thread(thread_id)).approvals
            yes = [{"interruptId": approval.id, "status": "resolved", "payload": {"approved": True}}]
            await shop.cancelled_after(steps, await shop.begin(thread_id, resume=yes))
            again = await shop.begin(thread_id, resume=yes)
            async with asyncio.timeout(60):
                await again.task
            after = await shop.whole(thread_id)
            (settled,) = after.approvals
            states.add(settled.state)
            assert shop.ran.count(thread_id) <= 1
            if settled.state is State.DONE:
                assert shop.ran.count(thread_id) == 1
                assert settled.output.content == "refunded"
            elif settled.state is State.FAILED:
                assert shop.ran.count(thread_id) == 0
                assert settled.output == result_texts.NOT_STARTED
            else:
                assert settled.state is State.UNKNOWN
    assert states >= {State.DONE, State.FAILED}
