"""Calls side by side: what becomes of one is not the other's business, and what never began is told so."""

import asyncio
import json
from typing import Any

import pytest

from agui_gate import Agent, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.errors import Unavailable
from agui_gate.stores.memory import MemoryStore
from tests.product.inprocess import TIMEOUT, Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio
YES = {"approved": True}


class Busy(MemoryStore):
    """Can't be written when the second call is to be claimed, after the first one's tool began."""

    def __init__(self, begun: asyncio.Event, refused: asyncio.Event) -> None:
        super().__init__()
        self.begun, self.refused, self.claims = begun, refused, 0

    async def move(self, approval_id: str, to: State, **more: Any) -> Any:
        self.claims += to is State.CLAIMED
        if to is State.CLAIMED and self.claims == 2:
            await self.begun.wait()
            self.refused.set()
            raise Unavailable("The store is busy.")
        return await super().move(approval_id, to, **more)


def two(name: str, values: tuple[Any, Any]) -> list[Any]:
    made = (calls(name, {"n": value}, f"call_{value}", str(value)) for value in values)
    return [*(event for call in made for event in call), adapter.TurnDone()]


@shows("T8")
async def test_an_approved_call_is_not_cut_off_because_another_could_not_be_claimed() -> None:
    begun, refused, ran = asyncio.Event(), asyncio.Event(), []

    @tool(gate=True)
    async def pay(n: int) -> str:
        """Pay."""
        begun.set()
        await refused.wait()
        for _ in range(5):  # whoever would cut it off has had the time to
            await asyncio.sleep(0)
        ran.append(n)
        return "paid"

    model = Parrot([two("pay", (1, 2)), [*says("Paid."), adapter.TurnDone()]])
    store = Busy(begun, refused)
    app = create_app(Agent(name="a", model=model, tools=[pay]), store=store, settings=Settings())
    async with started(app), asyncio.timeout(TIMEOUT):
        asked = (await run(app, run_body("t", user("pay", "u1")))).events()[-1]["outcome"]["interrupts"]
        answers = [{"interruptId": one["id"], "status": "resolved", "payload": YES} for one in asked]
        failed = (await run(app, run_body("t", resume=answers))).events()[-1]
        assert (failed["type"], failed["code"]) == ("RUN_ERROR", "unavailable")
        assert ran == [1]
        states = [call["state"] for call in (await request(app, "GET", "/threads/t")).json()["calls"]]
        assert states == ["done", "pending"]
        again = (await run(app, run_body("t", resume=answers[1:]))).events()
        assert again[-1]["type"] == "RUN_FINISHED"
    assert ran == [1, 2]


@shows("T8", "T13")
async def test_a_call_that_never_began_is_not_said_to_have_been_cancelled_while_it_ran() -> None:
    begun, ran = asyncio.Event(), []

    @tool
    async def look(n: int) -> str:
        """Look."""
        ran.append(n)
        begun.set()
        await asyncio.Event().wait()
        return ""

    agent = Agent(name="a", model=Parrot([two("look", (1, 2))]), tools=[look])
    app = create_app(agent, store="memory://", settings=Settings(tools_at_once=1))
    async with started(app), asyncio.timeout(TIMEOUT):
        running = asyncio.ensure_future(run(app, run_body("t", user("look", "u1"))))
        await begun.wait()
        await request(app, "POST", "/threads/t/cancel")
        events = (await running).events()
    told = {e["toolCallId"]: json.loads(e["content"])["message"] for e in events if e["type"] == "TOOL_CALL_RESULT"}
    assert ran == [1]
    assert told == {
        "call_1": "It was cancelled while it ran. Whether it took effect is not known.",
        "call_2": "Not executed: the run ended before this call began.",
    }
