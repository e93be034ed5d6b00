"""Whole turns over real HTTP: what is particular to this API (see `test_every_adapter_turns.py` for the rest)."""

import pytest

from agui_gate.adapter import (
    CallEnd,
    CallResult,
    CallStart,
    Notice,
    Output,
    ReasoningEnd,
    SettledCall,
    TextDelta,
    TurnDone,
)
from agui_gate.core.transcript import ResultEntry, TurnEntry
from agui_gate.errors import ProviderUnavailable
from tests.adapters.support import CALLS, CITIES, Json, waits

from .support import ADAPTIVE, ANSWER, ENABLED, SEARCH, talking

pytestmark = pytest.mark.anyio

THINKING = [None, ENABLED, ADAPTIVE]


def blocks(body: Json | None, kind: str) -> list[Json]:
    assert body is not None
    return [block for message in body["messages"] for block in message["content"] if block["type"] == kind]


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


# --- limits and refusals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thinking", THINKING)
@pytest.mark.parametrize(("reason", "whole"), [("max_output_tokens", 1), ("content_filter", 0)])
async def test_of_an_incomplete_turn_only_whole_calls_run(reason: str, whole: int, thinking: Json | None) -> None:
    """B25: of a refused turn none, of a cut one not the last."""
    async with talking([{**CALLS, "status": "incomplete", "reason": reason}], thinking=thinking) as (_, thread):
        thread.say("Weather?")
        assert (await thread.turn()).arguments == CITIES[:whole]


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
        waits(thread.model)
        thread.say("Weather?")
        assert (await thread.turn()).text == "So. Sunny in both."
    assert len(emulator.journal.entries) == 3


async def test_an_error_after_a_pause_ends_the_turn() -> None:
    script = [pausing(0), {"fault": {"kind": "status", "status": 529, "times": 0}}]
    async with talking(script, hosted_tools=(SEARCH,)) as (_, thread):
        waits(thread.model)
        thread.say("Weather?")
        with pytest.raises(ProviderUnavailable):
            await thread.turn()


# --- the unusual --------------------------------------------------------------------------------------------------


async def test_a_missing_message_stop_is_forgiven() -> None:
    """The reason was said; cut before that, it is tried again."""
    answer = {"output": [{"type": "message", "deltas": ["Hi"]}]}
    events = 7  # start, block start, ping, delta, block stop, message_delta; the next would be message_stop
    for after, requests in ((events - 1, 1), (2, 2)):
        fault = {"kind": "cut", "after_events": after, "clean": True}
        async with talking([{"fault": fault, **answer}]) as (emulator, thread):
            waits(thread.model)
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
