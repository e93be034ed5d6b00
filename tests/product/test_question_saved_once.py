"""A question is saved with the end of its run: one transaction less, and nobody is asked before it is there."""

import asyncio

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate import adapter as ad
from agui_gate.approvals.outcomes import OutcomeEvents
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio


class Asks(Parrot):
    """Asks for a refund."""

    def _turn(self, request):
        if isinstance(request.transcript[-1], ad.UserTurn):
            return [*calls("refund", {"order_id": "A1"}), ad.TurnDone()]
        return [*says("Done."), ad.TurnDone()]


@tool(gate=True)
async def refund(order_id: str) -> str:
    """Refund an order."""
    return "refunded"


@shows("S33")
async def test_a_run_that_is_stopped_before_its_question_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is there all the same, and closed: whoever looks at the trail sees what became of the call."""
    reached = asyncio.Event()

    async def waits(self: OutcomeEvents) -> None:
        reached.set()
        await asyncio.Event().wait()

    app = create_app(Agent(name="a", model=Asks(), tools=[refund]), store="memory://", settings=Settings())
    async with started(app):
        with monkeypatch.context() as patched:
            patched.setattr(OutcomeEvents, "snapshot", waits)
            asking = asyncio.create_task(run(app, run_body("t", user("refund", "m1"))))
            await reached.wait()
            assert (await request(app, "GET", "/approvals")).json()["approvals"] == []
            await request(app, "POST", "/threads/t/cancel", b"{}")
            assert b"interrupts" not in (await asking).body
        (record,) = (await request(app, "GET", "/approvals", query="state=decided")).json()["approvals"]
        assert record["state"] == "cancelled"
        assert (await run(app, run_body("t", user("again", "m2")))).events()[-1]["type"] == "RUN_FINISHED"
