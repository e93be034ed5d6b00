"""Whole turns over real HTTP against the strict emulator."""

from typing import Any

import pytest

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallResult,
    CallStart,
    Notice,
    Output,
    ReasoningDelta,
    ReasoningEnd,
    SettledCall,
    TextDelta,
    TurnDone,
)
from agui_gate.core.transcript import ResultEntry, TurnEntry
from agui_gate.errors import ProviderUnavailable

from .support import ADAPTIVE, ANSWER, CALLS, ENABLED, SEARCH, Json, talking

pytestmark = pytest.mark.anyio

THINKING = [None, ENABLED, ADAPTIVE]


def blocks(body: Json | None, kind: str) -> list[Json]:
    assert body is not None
    return [block for message in body["messages"] for block in message["content"] if block["type"] == kind]


@pytest.mark.parametrize("thinking", THINKING)
@pytest.mark.parametrize("profile", ["anthropic", "older"])
async def test_two_user_turns_with_parallel_tools_and_no_refusal(profile: str, thinking: Json | None) -> None:
    """S17: calls, their outputs, an answer; then all of it again on top."""
    script = [CALLS, ANSWER, CALLS, ANSWER]
    async with talking(script, emulator={"anthropic": profile}, thinking=thinking) as (emulator, thread):
        for question in ("Weather?", "And now?"):
            thread.say(question)
            called = await thread.turn()
            assert [event.arguments for event in called.of(CallEnd)] == ['{"city":"Paris"}', '{"city":"Rome"}']
            answered = await thread.turn()
            assert answered.text == "Sunny in both."
            assert answered.done.status == "completed"
            assert answered.done.ref is None
            assert answered.done.usage is not None
            assert answered.done.usage.model == "claude-test"
            assert answered.done.usage.input_tokens > 0
    assert emulator.refusals == []


@pytest.mark.parametrize("chunk", [1, 7, "random", "whole"])
async def test_any_cut_of_the_body(chunk: Any) -> None:
    script = {"turns": [CALLS, {"output": [{"type": "message", "deltas": ["naïve ", "🙂"]}]}], "chunk": chunk}
    async with talking(script, thinking=ENABLED) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert len(turn.of(CallEnd)) == 2
        assert "".join(event.text for event in turn.of(ReasoningDelta)) == "I should look."
        assert (await thread.turn()).text == "naïve 🙂"
    assert emulator.refusals == []


# --- thinking -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("redacted", [False, True])
async def test_thinking_comes_back_days_later(redacted: bool) -> None:
    """B16: the emulator verifies signature and place; a gated call may have waited for a person all weekend."""
    calls = {"output": [{**CALLS["output"][0], "redacted": redacted}, *CALLS["output"][1:]]}
    async with talking([calls, ANSWER, ANSWER], thinking=ENABLED) as (emulator, thread):
        thread.edits["weather"] = '{"city":"Oslo"}'
        thread.say("Weather?")
        turn = await thread.turn()
        assert all(end.encrypted for end in turn.of(ReasoningEnd))
        emulator.state.clock.advance(3 * 24 * 3600)
        await thread.turn()
        second = emulator.accepted[-1].body
        thread.say("Sure?")
        await thread.turn()
    kind = "redacted_thinking" if redacted else "thinking"
    assert len(blocks(second, kind)) == 1
    assert [call["input"] for call in blocks(second, "tool_use")] == [{"city": "Paris"}, {"city": "Rome"}]
    assert all("Oslo" in result["content"] for result in blocks(second, "tool_result"))
    third = emulator.accepted[-1].body
    assert blocks(third, kind) == []
    assert [call["input"] for call in blocks(third, "tool_use")] == [{"city": "Oslo"}] * 2
    assert emulator.refusals == []


async def test_preserved_thinking_that_no_longer_fits_is_left_out() -> None:
    """The instructions changed while the call waited: once more, without thinking (A9), and once only."""
    async with talking([CALLS, ANSWER], emulator={"anthropic": "preserved"}) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        thread.instructions = "It is Monday."
        assert (await thread.turn()).text == "Sunny in both."
    assert [entry.rule for entry in emulator.refusals] == ["A9"]
    last = emulator.accepted[-1].body
    assert last is not None
    assert last["thinking"] == {"type": "disabled"}


async def test_a_loop_that_another_provider_began() -> None:
    async with talking([CALLS, CALLS, ANSWER, ANSWER], thinking=ENABLED) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        first = thread.entries[1]
        assert isinstance(first, TurnEntry)
        thread.entries[1] = TurnEntry(first.id, first.parts, "openai-chat:elsewhere")
        await thread.turn()
        await thread.turn()
        thread.say("Sure?")
        await thread.turn()
    sent = [entry.body["thinking"]["type"] for entry in emulator.accepted if entry.body]
    assert sent == ["enabled", "disabled", "disabled", "enabled"]
    assert emulator.refusals == []


# --- repeated ids, limits, refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize("call_id", ["call_same", "functions.weather:0"])
async def test_s24_repeated_and_foreign_ids(call_id: str) -> None:
    """S24: the second turn's call has the first one's id."""
    turn = {"output": [{"type": "function_call", "name": "weather", "arguments": {}, "call_id": call_id}]}
    async with talking([turn, ANSWER, turn, ANSWER, ANSWER], thinking=ENABLED) as (emulator, thread):
        for question in ("Weather?", "Again?"):
            thread.say(question)
            await thread.turn()
            await thread.turn()
        thread.say("Thanks")
        await thread.turn()
    assert emulator.refusals == []


@pytest.mark.parametrize("thinking", THINKING)
@pytest.mark.parametrize(
    "output", [[*CALLS["output"]], [{"type": "message", "text": "It is"}], [{"type": "reasoning"}]]
)
@pytest.mark.parametrize(("reason", "told"), [("max_output_tokens", "max_tokens"), ("content_filter", "refusal")])
async def test_after_an_incomplete_turn_the_next_is_legal(
    reason: str, told: str, output: list[Any], thinking: Json | None
) -> None:
    """B25: and of a refused turn no call runs, of a cut one not the last."""
    script = [{"output": output, "status": "incomplete", "reason": reason}, ANSWER, ANSWER]
    async with talking(script, thinking=thinking) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert (turn.done.status, turn.done.reason) == ("incomplete", told)
        starts = len(turn.of(CallStart))
        assert len(turn.of(CallEnd)) == (max(0, starts - 1) if told == "max_tokens" else 0)
        for question in ("Go on", "And?"):
            thread.say(question)
            await thread.turn()
    assert emulator.refusals == []


async def test_a_call_without_arguments() -> None:
    async with talking([{"output": [{"type": "function_call", "name": "weather", "arguments": {}}]}]) as (_, thread):
        thread.say("Weather?")
        turn = await thread.turn()
    assert [event.text for event in turn.of(CallDelta)] == ["{}"]
    assert [event.arguments for event in turn.of(CallEnd)] == ["{}"]


# --- server tools and pauses --------------------------------------------------------------------------------------

SEARCHED: Json = {
    "type": "web_search_call",
    "action": {"query": "weather"},
    "results": [{"url": "https://a.example", "title": "A"}],
}
CITED: Json = {
    "type": "message",
    "text": "Sunny.",
    "annotations": [{"type": "url_citation", "url": "https://a.example", "title": "A"}],
}


@pytest.mark.parametrize("thinking", THINKING)
async def test_a_server_tool_beside_a_call(thinking: Json | None) -> None:
    searched = {"output": [CALLS["output"][0], SEARCHED, CITED, CALLS["output"][1]]}
    options: Json = {"thinking": thinking, "hosted_tools": (SEARCH,)}
    async with talking([searched, ANSWER, ANSWER], **options) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert [event.content for event in turn.of(CallResult)] == ["A: https://a.example"]
        assert [event.hosted for event in turn.of(CallStart)] == [True, False]
        assert [event.name for event in turn.of(Notice)] == ["anthropic.citation"]
        await thread.turn()
        thread.say("Sure?")
        await thread.turn()
        settled = [part for part in thread.transcript[1].parts if isinstance(part, SettledCall)]  # type: ignore[union-attr]
        assert settled[0].output == Output("A: https://a.example")
    for entry in emulator.accepted[1:]:
        assert len(blocks(entry.body, "server_tool_use")) == len(blocks(entry.body, "web_search_tool_result")) == 1
        assert [bool(block.get("citations")) for block in blocks(entry.body, "text")][1] is True
    assert emulator.refusals == []


async def test_a_server_tool_that_failed() -> None:
    failed = {"output": [{"type": "web_search_call", "error": "max_uses_exceeded"}, CITED]}
    async with talking([failed], hosted_tools=(SEARCH,)) as (_, thread):
        thread.say("Weather?")
        (result,) = (await thread.turn()).of(CallResult)
    assert (result.content, result.is_error) == ("max_uses_exceeded", True)


def pausing(number: int) -> Json:
    search = {**SEARCHED, "call_id": f"srvtoolu_{number}", "pending": True}
    resumed = [{**SEARCHED, "call_id": f"srvtoolu_{number - 1}", "resumes": True}] if number else []
    output = [*resumed, {"type": "reasoning", "summary": [f"{number}"]}, {"type": "message", "text": "So. "}, search]
    return {"output": output, "status": "incomplete", "reason": "pause_turn"}


@pytest.mark.parametrize("profile", ["anthropic", "preserved"])
async def test_a_paused_turn_goes_on(profile: str) -> None:
    """As one turn, twice; and the whole of it is legal afterwards."""
    end = {"output": [{**SEARCHED, "call_id": "srvtoolu_1", "resumes": True}, *CALLS["output"]]}
    script = [pausing(0), pausing(1), end, ANSWER, ANSWER]
    options: Json = {"thinking": ADAPTIVE, "hosted_tools": (SEARCH,)}
    async with talking(script, emulator={"anthropic": profile}, **options) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert turn.text == "So. So. "
        assert [(event.key, event.content) for event in turn.of(CallResult)] == [
            (start.key, "A: https://a.example") for start in turn.of(CallStart) if start.hosted
        ]
        assert len(turn.of(CallEnd)) == 4
        assert turn.done.usage is not None
        assert turn.done.usage.output_tokens > 0
        await thread.turn()
        assert len(blocks(emulator.accepted[-1].body, "thinking")) == 3
        thread.say("Sure?")
        await thread.turn()
    assert emulator.refusals == []
    assert len(emulator.accepted) == 5


async def test_a_turn_that_pauses_for_ever_ends() -> None:
    async with talking([pausing(number) for number in range(12)], hosted_tools=(SEARCH,)) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert (turn.done.status, turn.done.reason) == ("incomplete", "pause_turn")
        thread.say("Go on")
        await thread.turn()
    assert len(emulator.accepted) == 12
    assert emulator.refusals == []


async def test_what_fails_after_a_pause_is_retried_from_there() -> None:
    """What was shown stays; the continuation alone is sent again."""
    script = [pausing(0), {"fault": {"kind": "status", "status": 529}, **ANSWER}]
    async with talking(script, hosted_tools=(SEARCH,)) as (emulator, thread):
        thread.model._sleep = _at_once
        thread.say("Weather?")
        assert (await thread.turn()).text == "So. Sunny in both."
    assert len(emulator.journal.entries) == 3


async def test_an_error_after_a_pause_ends_the_turn() -> None:
    script = [pausing(0), {"fault": {"kind": "status", "status": 529, "times": 0}}]
    async with talking(script, hosted_tools=(SEARCH,)) as (_, thread):
        thread.model._sleep = _at_once
        thread.say("Weather?")
        with pytest.raises(ProviderUnavailable):
            await thread.turn()


async def _at_once(_: float) -> None: ...


# --- the unusual --------------------------------------------------------------------------------------------------


async def test_events_that_do_not_exist_yet() -> None:
    event = {"type": "event", "event": {"type": "brand_new", "index": 0}}
    async with talking([{"output": [event, *ANSWER["output"], event]}]) as (_, thread):
        thread.say("Weather?")
        assert (await thread.turn()).text == "Sunny in both."


async def test_a_missing_message_stop_is_forgiven() -> None:
    """The reason was said; cut before that, it is tried again."""
    answer = {"output": [{"type": "message", "deltas": ["Hi"]}]}
    events = 7  # start, block start, ping, delta, block stop, message_delta; the next would be message_stop
    for after, requests in ((events - 1, 1), (2, 2)):
        fault = {"kind": "cut", "after_events": after, "clean": True}
        async with talking([{"fault": fault, **answer}]) as (emulator, thread):
            thread.model._sleep = _at_once
            thread.say("hi")
            turn = await thread.turn()
            assert [type(event) for event in turn.events if type(event) in (TextDelta, TurnDone)] == [
                TextDelta,
                TurnDone,
            ]
        assert len(emulator.journal.entries) == requests


async def test_a_call_without_its_result_can_t_be_written_down() -> None:
    """A1: whatever is missing from the journal, the transcript has an output for each call."""
    async with talking([CALLS, ANSWER], thinking=ENABLED) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        thread.entries = [entry for entry in thread.entries if not isinstance(entry, ResultEntry)]
        thread.say("Never mind")
        await thread.turn()
    assert len(blocks(emulator.accepted[-1].body, "tool_result")) == 2
    assert emulator.refusals == []
