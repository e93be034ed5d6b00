"""What a process does when somebody asks, through the store, that its work be stopped."""

import asyncio

import pytest

from agui_gate.core.approvals import State
from agui_gate.stores.base import StopRequest
from tests.support.house import DONE, LOOKS, PAYS, House, house

pytestmark = pytest.mark.anyio

YES = {"approved": True}


async def asked_to_stop(h: House, request: StopRequest) -> None:
    assert await h.store.ask_to_stop("alice", "t", request) is not None
    await h.beat()


@pytest.mark.parametrize(
    ("run_id", "status", "ran"), [("r", "cancelled", 0), (None, "cancelled", 0), ("x", "finished", 1)]
)
async def test_a_run_stops_when_it_is_the_one_that_is_meant(run_id: str | None, status: str, ran: int) -> None:
    async with house(LOOKS, DONE) as h:
        live = await h.start("look")
        await h.begun.wait()
        await asked_to_stop(h, StopRequest(run_id=run_id))
        if ran:
            h.go.set()
        assert live.task is not None
        await live.task
        thread = await h.store.read_thread("alice", "t")
        assert thread is not None
        assert (thread.run_status, h.ran) == (status, ran)


async def test_a_decision_at_work_stops_but_not_for_whoever_asks_gently() -> None:
    async with house(PAYS, DONE) as h:
        asked = await h.asked()
        decision = asyncio.create_task(h.engine.decide("alice", asked.id, YES))
        await h.begun.wait()
        await asked_to_stop(h, StopRequest(gently=True))
        (work,) = h.engine._decisions.working._works.values()
        assert not work._stopped
        await asked_to_stop(h, StopRequest())
        assert (await decision).record.state is State.UNKNOWN
        assert h.ran == 0
