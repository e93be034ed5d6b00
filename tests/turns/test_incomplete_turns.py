"""A turn that the provider cut short, at its limit or by its filter, and that has calls."""

import json

import pytest

from agui_gate import Agent, adapter, create_app
from tests.product.inprocess import Parrot, calls, run, run_body, says, started, user
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


async def test_a_call_that_its_provider_left_open_is_shown_with_whole_arguments() -> None:
    half = [adapter.CallStart("c", "call_1", "look"), adapter.CallDelta("c", '{"at": "the do'), adapter.TurnDone()]
    app = create_app(Agent(name="a", model=Parrot([half, [*says("ok"), adapter.TurnDone()]])), store="memory://")
    async with started(app):
        told = (await run(app, run_body("t", user("look", "u1")))).events()
    shown = "".join(event["delta"] for event in told if event["type"] == "TOOL_CALL_ARGS")
    assert json.loads(shown) == {"at": "the do"}


async def test_what_a_sub_agent_said_when_it_was_cut_off_is_no_answer() -> None:
    clerk = Agent(name="clerk", model=Parrot([[*says("Half of"), CUT]]), description="Refunds.")
    turns = [[*calls("clerk", {"task": "refund"}), adapter.TurnDone()], [*says("ok"), adapter.TurnDone()]]
    app = create_app(Agent(name="boss", model=Parrot(turns), tools=[clerk.as_tool()]), store="memory://")
    async with started(app):
        told = (await run(app, run_body("t", user("go", "u1")))).events()
    (result,) = [event["content"] for event in told if event["type"] == "TOOL_CALL_RESULT"]
    assert "could not finish" in result
