"""Whole turns over real HTTP against the strict emulator, as every kind of server it knows."""

from typing import Any

import msgspec
import pytest

from agui_gate.adapter import AssistantTurn, CallEnd, CallStart, Output, ReasoningDelta, UserTurn
from agui_gate.errors import ProviderRejected
from agui_gate_adapters.openai_chat import PROFILES
from agui_gate_adapters.testkit import CHAT_PROFILES
from tests.adapters.openai_responses.support import ANSWER, CALLS
from tests.requirements import shows

from .support import SERVERS, talking

pytestmark = pytest.mark.anyio

CITIES = ['{"city":"Paris"}', '{"city":"Rome"}']


@pytest.mark.parametrize("server", SERVERS)
async def test_two_user_turns_with_parallel_tools_and_no_refusal(server: str) -> None:
    """S17: calls, their outputs, an answer; then all of it again on top."""
    async with talking([CALLS, ANSWER, CALLS, ANSWER], server) as (emulator, thread):
        thread.outputs["weather"] = Output("sunny")
        for question in ("Weather?", "And now?"):
            thread.say(question)
            called = await thread.turn()
            assert [event.arguments for event in called.of(CallEnd)] == CITIES
            assert all(event.wire_id for event in called.of(CallStart))
            answered = await thread.turn()
            assert answered.text == "Sunny in both."
            assert answered.done.status == "completed"
            counted = CHAT_PROFILES[server].usage != "never" and (
                SERVERS[server].stream_usage or CHAT_PROFILES[server].usage == "last_chunk"
            )
            assert (answered.done.usage is not None) == counted
            if answered.done.usage is not None:
                assert answered.done.usage.model == "gpt-test"
                assert answered.done.usage.provider == SERVERS[server].name
    assert emulator.refusals == []
    assert [len(entry.body["messages"]) for entry in emulator.accepted if entry.body] == [2, 5, 7, 10]


@pytest.mark.parametrize("server", SERVERS)
async def test_after_a_tool_the_user_may_say_something_instead(server: str) -> None:
    async with talking([CALLS, ANSWER], server) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        thread.say("Never mind")
        assert (await thread.turn()).text == "Sunny in both."
    assert emulator.refusals == []


@pytest.mark.parametrize("server", ["vllm", "ollama", "deepseek", "kimi", "llama_cpp"])
async def test_reasoning_goes_back_in_its_member(server: str) -> None:
    """The emulator insists on it where the real server does."""
    async with talking([CALLS, ANSWER, ANSWER], server) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert "".join(event.text for event in turn.of(ReasoningDelta)) == "I should look."
        await thread.turn()
        thread.say("Sure?")
        await thread.turn()
    assert emulator.refusals == []
    field = CHAT_PROFILES[server].reasoning_field
    assert field is not None
    for entry in emulator.accepted[1:]:
        assert entry.body is not None
        (called,) = [message for message in entry.body["messages"] if message.get("tool_calls")]
        assert called[field] == "I should look."


@pytest.mark.parametrize("server", ["deepseek", "kimi"])
async def test_a_turn_of_another_provider_needs_no_reasoning(server: str) -> None:
    async with talking([CALLS, ANSWER], server) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        turn = thread.transcript[-1]
        assert isinstance(turn, AssistantTurn)
        thread.transcript[-1] = msgspec.structs.replace(turn, origin="elsewhere")
        await thread.turn()
    assert emulator.refusals == []


@shows("S24")
async def test_ids_go_back_as_they_came_where_the_model_wants_its_own() -> None:
    """Kimi counts them anew in every turn."""
    async with talking([CALLS, ANSWER, CALLS, ANSWER], "kimi") as (emulator, thread):
        for _ in range(2):
            thread.say("Weather?")
            await thread.turn()
            await thread.turn()
    assert emulator.refusals == []
    body = emulator.accepted[-1].body
    assert body is not None
    called = [one["id"] for message in body["messages"] for one in message.get("tool_calls", ())]
    assert called == ["functions.weather:0", "functions.weather:1"] * 2


@shows("S24")
@pytest.mark.parametrize("server", ["openai", "mistral", "lenient"])
async def test_an_id_that_repeats_within_a_turn(server: str) -> None:
    same = {"type": "function_call", "name": "weather", "call_id": "aB3456789"}
    turn = {"output": [{**same, "arguments": {"city": "Paris"}}, {**same, "arguments": {"city": "Rome"}}]}
    async with talking([turn, ANSWER], server) as (emulator, thread):
        thread.say("Weather?")
        assert [event.arguments for event in (await thread.turn()).of(CallEnd)] == CITIES
        await thread.turn()
    assert emulator.refusals == []


@pytest.mark.parametrize("server", ["openai", "vllm", "kimi", "mistral", "lenient"])
async def test_an_edited_call_is_seen_as_it_ran(server: str) -> None:
    """B11."""
    async with talking([CALLS, ANSWER], server) as (emulator, thread):
        thread.edits["weather"] = '{"city":"Oslo"}'
        thread.say("Weather?")
        await thread.turn()
        await thread.turn()
    assert emulator.refusals == []
    assert "Oslo" in msgspec.json.encode(emulator.accepted[1].body).decode()
    assert "Paris" not in msgspec.json.encode(emulator.accepted[1].body).decode()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("chunk", [1, "whole"])
async def test_any_cut_of_the_body(server: str, chunk: Any) -> None:
    script = {"turns": [CALLS, {"output": [{"type": "message", "deltas": ["naïve ", "🙂"]}]}], "chunk": chunk}
    async with talking(script, server) as (emulator, thread):
        thread.say("Weather?")
        assert [event.arguments for event in (await thread.turn()).of(CallEnd)] == CITIES
        assert (await thread.turn()).text == "naïve 🙂"
    assert emulator.refusals == []


@pytest.mark.parametrize("server", ["openai", "vllm", "deepseek", "mistral", "lenient"])
@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter"])
async def test_after_an_incomplete_turn_the_next_is_legal(server: str, reason: str) -> None:
    cut = {
        "output": [
            {"type": "message", "text": "It is"},
            {"type": "function_call", "name": "weather", "arguments": '{"city":"Pa'},
        ],
        "status": "incomplete",
        "reason": reason,
    }
    async with talking([cut, ANSWER, ANSWER], server) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert (turn.done.status, turn.done.reason) == ("incomplete", reason)
        assert not turn.of(CallEnd)
        for question in ("Go on", "And?"):
            thread.say(question)
            await thread.turn()
    assert emulator.refusals == []


async def test_system_and_developer_messages_everywhere() -> None:
    for server in SERVERS:
        async with talking([ANSWER], server) as (emulator, thread):
            for role in ("system", "developer"):
                thread.say("Be kind.")
                turn = thread.transcript[-1]
                assert isinstance(turn, UserTurn)
                thread.transcript[-1] = msgspec.structs.replace(turn, role=role)
            thread.say("hi")
            await thread.turn()
        assert emulator.refusals == []


async def test_a_wrong_profile_is_a_refusal_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    wrong = msgspec.structs.replace(PROFILES["deepseek"], reasoning_replay="never")
    async with talking([CALLS, ANSWER], "deepseek", profile=wrong) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        with pytest.raises(ProviderRejected, match="inconsistent"):
            await thread.turn()
    assert [entry.rule for entry in emulator.refusals] == ["reasoning"]
    assert "adapter bug" in caplog.text
