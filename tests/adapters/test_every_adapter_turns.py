"""Whole turns of every adapter over real HTTP against the strict emulator, which refuses what a real provider would."""

from typing import Any

import msgspec
import pytest

from agui_gate.adapter import CallDelta, CallStart, NamedTool, ReasoningDelta, ToolChoice
from tests.requirements import shows
from tests.support.pairwise import pairs, turns

from .subject import Way
from .subjects import EVERY_WAY, WAYS, every_way, everywhere
from .support import ANSWER, CALLS, CITIES, Json, run

pytestmark = pytest.mark.anyio

PARTIAL = {"type": "function_call", "name": "weather", "arguments": '{"city":"Pa'}


@everywhere
async def test_two_user_turns_with_parallel_tools_and_no_refusal(way: Way) -> None:
    """S17: calls, their outputs, an answer; then all of it again on top."""
    async with way.talking([CALLS, ANSWER, CALLS, ANSWER]) as (emulator, thread):
        for question in ("Weather?", "And now?"):
            thread.say(question)
            called = await thread.turn()
            assert called.arguments == CITIES
            assert all(event.wire_id for event in called.of(CallStart))
            answered = await thread.turn()
            assert answered.text == "Sunny in both."
            assert answered.done.status == "completed"
            assert (answered.done.ref is not None) == way.remembers
            usage = answered.done.usage
            assert (usage.provider if usage else None) == way.counted_as
            if usage is not None:
                assert usage.model == "some-model"
                assert usage.input_tokens
    assert emulator.refusals == []


@pytest.mark.parametrize(("way", "choice"), turns(EVERY_WAY, [NamedTool("weather"), "required", "none"]), ids=str)
async def test_a_tool_that_is_forced_or_forbidden(way: Way, choice: ToolChoice) -> None:
    """No server refuses what it is told of that, and a call that was forced ends like any other."""
    async with way.talking([ANSWER if choice == "none" else CALLS]) as (emulator, thread):
        thread.say("Weather?")
        turn = await run(thread.model, msgspec.structs.replace(thread.request(), tool_choice=choice))
        assert turn.arguments == ([] if choice == "none" else CITIES)
    assert emulator.refusals == []


@everywhere
async def test_after_a_tool_the_user_may_say_something_instead(way: Way) -> None:
    async with way.talking([CALLS, ANSWER]) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        thread.say("Never mind")
        assert (await thread.turn()).text == "Sunny in both."
    assert emulator.refusals == []


@everywhere
async def test_system_and_developer_messages(way: Way) -> None:
    async with way.talking([ANSWER, ANSWER]) as (emulator, thread):
        for _ in range(2):
            for role in ("system", "developer"):
                thread.say("Be kind.", role)
            thread.say("hi")
            await thread.turn()
    assert emulator.refusals == []


@pytest.mark.parametrize(
    ("way", "chunk"),
    turns(EVERY_WAY, (1, "whole")) + turns(WAYS, (7, "random")),
    ids=str,
)
async def test_any_cut_of_the_body(way: Way, chunk: Any) -> None:
    script = {"turns": [CALLS, {"output": [{"type": "message", "deltas": ["naïve ", "🙂"]}]}], "chunk": chunk}
    async with way.talking(script) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert turn.arguments == CITIES
        assert "".join(event.text for event in turn.of(ReasoningDelta)) in ("", "I should look.")
        assert (await thread.turn()).text == "naïve 🙂"
    assert emulator.refusals == []


@every_way
async def test_events_that_do_not_exist_yet(way: Way) -> None:
    event = {"type": "event", "event": {"type": "brand_new", "index": 0}}
    async with way.talking([{"output": [event, *ANSWER["output"], event]}]) as (_, thread):
        thread.say("Weather?")
        assert (await thread.turn()).text == "Sunny in both."


# --- calls --------------------------------------------------------------------------------------------------------


@every_way
async def test_an_edited_call_is_seen_as_it_ran(way: Way) -> None:
    """B11."""
    async with way.talking([CALLS, ANSWER, ANSWER]) as (emulator, thread):
        thread.edits["weather"] = '{"city":"Oslo"}'
        thread.say("Weather?")
        await thread.turn()
        await thread.turn()
        thread.say("Sure?")
        await thread.turn()
    assert emulator.refusals == []
    assert "Oslo" in msgspec.json.encode(emulator.accepted[1].body).decode()


@shows("S24")
@every_way
@pytest.mark.parametrize("call_id", ["call_same", "functions.weather:0"])
async def test_ids_that_repeat_between_turns(way: Way, call_id: str) -> None:
    """The second turn's call has the first one's id; it may be of another provider's form."""
    turn = {"output": [{"type": "function_call", "name": "weather", "arguments": {}, "call_id": call_id}]}
    async with way.talking([turn, ANSWER, turn, ANSWER, ANSWER]) as (emulator, thread):
        for question in ("Weather?", "Again?"):
            thread.say(question)
            await thread.turn()
            await thread.turn()
        thread.say("Thanks")
        await thread.turn()
    assert emulator.refusals == []


@shows("S24")
@every_way
async def test_an_id_that_repeats_within_a_turn(way: Way) -> None:
    same = {"type": "function_call", "name": "weather", "call_id": "aB3456789"}
    turn = {"output": [{**same, "arguments": {"city": "Paris"}}, {**same, "arguments": {"city": "Rome"}}]}
    async with way.talking([turn, ANSWER]) as (emulator, thread):
        thread.say("Weather?")
        assert (await thread.turn()).arguments == CITIES
        await thread.turn()
    assert emulator.refusals == []


@every_way
async def test_a_call_without_arguments(way: Way) -> None:
    call = {"type": "function_call", "name": "weather", "arguments": {}}
    async with way.talking([{"output": [call]}]) as (_, thread):
        thread.say("Weather?")
        turn = await thread.turn()
    assert "".join(event.text for event in turn.of(CallDelta)) == "{}"
    assert turn.arguments == ["{}"]


@every_way
async def test_partial_arguments_in_a_whole_answer_are_passed_on(way: Way) -> None:
    """As they came, or as a call that never ends: either way the engine answers it with what is wrong with it."""
    async with way.talking([{"output": [PARTIAL]}]) as (_, thread):
        thread.say("hi")
        answered = await thread.turn()
        assert answered.done.status == "completed"
        assert "".join(event.text for event in answered.of(CallDelta)) == PARTIAL["arguments"]
        assert answered.arguments in ([], [PARTIAL["arguments"]])


MESSAGE = {"type": "message", "text": "It is"}
REASONS = ("max_output_tokens", "content_filter")
INCOMPLETE: dict[str, list[Json]] = {
    "calls": CALLS["output"],
    "text": [MESSAGE],
    "reasoning": [{"type": "reasoning"}],
    "half a call": [MESSAGE, PARTIAL],
}


@pytest.mark.parametrize(("way", "reason", "output"), pairs(WAYS, REASONS, INCOMPLETE), ids=str)
async def test_after_an_incomplete_turn_the_next_is_legal(way: Way, reason: str, output: str) -> None:
    """B25: and a call that was cut never ends."""
    script = [{"output": INCOMPLETE[output], "status": "incomplete", "reason": reason}, ANSWER, ANSWER]
    async with way.talking(script) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert (turn.done.status, turn.done.reason) == ("incomplete", way.subject.reasons[reason])
        assert turn.arguments == CITIES[: len(turn.arguments)]
        for question in ("Go on", "And?"):
            thread.say(question)
            await thread.turn()
    assert emulator.refusals == []
