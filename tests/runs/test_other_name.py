"""A thread that is running, by the provider's name for it."""

import asyncio
import json

import pytest

from agui_gate import Agent, adapter, create_app, tool
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio

DONE = adapter.TurnDone(ref=adapter.ConversationRef(turn_id="", origin=Parrot.origin, conversation_id="conv_1"))


@shows("S2", "S33", "B17")
@pytest.mark.parametrize("way", ["a decision", "a run"])
async def test_it_is_followed_and_stopped_by_that_name_too(way: str) -> None:
    begun = asyncio.Event()

    @tool(gate=True)
    async def refund() -> str:
        """Refund."""
        begun.set()
        return await asyncio.Event().wait()

    model = Parrot([[*calls("refund", {}), DONE], [*says("ok"), DONE]])
    app = create_app(Agent(name="a", model=model, tools=[refund]), store="memory://", settings=Settings())
    async with started(app), asyncio.timeout(60):
        asked = (await run(app, run_body("t", user("refund", "u1")))).events()[-1]
        approval_id = asked["outcome"]["interrupts"][0]["id"]
        yes = {"approved": True}
        resume = [{"interruptId": approval_id, "status": "resolved", "payload": yes}]
        if way == "a run":
            work = asyncio.ensure_future(run(app, run_body("t", user("refund", "u1"), resume=resume)))
        else:
            work = asyncio.ensure_future(request(app, "POST", f"/approvals/{approval_id}", json.dumps(yes).encode()))
        await begun.wait()
        reading = asyncio.ensure_future(run(app, run_body("conv_1"), path="/agents/a/connect"))
        stopped = (await request(app, "POST", "/threads/conv_1/cancel")).json()
        assert stopped == {"cancelled": True}
        answer = await work
        if way == "a run":
            assert answer.events()[-1]["code"] == "abort"
            assert (await reading).events()[-1] == answer.events()[-1]
        else:
            assert answer.json()["state"] == "unknown"
            assert (await reading).events()[-1]["type"] == "RUN_FINISHED"
