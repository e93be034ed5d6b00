"""A turn that the provider cut short, at its limit or by its filter, and that has calls."""

import pytest

from agui_gate import adapter
from tests.product.inprocess import calls
from tests.support.house import DONE, events, house

pytestmark = pytest.mark.anyio

CUT = adapter.TurnDone(status="incomplete", reason="max_output_tokens")


async def test_after_an_incomplete_turn_whose_calls_have_run_the_run_ends_and_says_why() -> None:
    """Asked again, the model would most likely reach the same limit, and that costs."""
    async with house([*calls("look", {}), CUT], DONE) as h:
        h.go.set()
        told = await events(await h.start("look"))
        assert h.ran == 1
        assert len(h.model.requests) == 1
        assert '"reason":"max_output_tokens"' in told


async def test_an_incomplete_turn_with_a_gated_call_waits_for_its_answer() -> None:
    async with house([*calls("pay", {}), CUT], DONE) as h:
        asked = await h.asked()
        thread = await h.store.read_thread("alice", "t")
        assert thread is not None
        assert (asked.tool, thread.run_status) == ("pay", "waiting")
        assert len(h.model.requests) == 1


@pytest.mark.parametrize("said", [[], [adapter.ReasoningStart("r"), adapter.ReasoningDelta("r", "hm")]])
async def test_an_incomplete_turn_that_said_nothing_is_no_finished_run(said: list[adapter.ModelEvent]) -> None:
    """Clients of 0.x were told a run that had finished, with nothing in it."""
    async with house([*said, CUT]) as h:
        told = await events(await h.start("well?"))
    assert "RUN_FINISHED" not in told
    assert '"code":"limit_reached"' in told
    assert "before the model said anything" in told
