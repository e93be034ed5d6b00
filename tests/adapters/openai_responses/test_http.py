"""Whole turns over real HTTP against the strict emulator, in all three modes."""

from typing import Any

import msgspec
import pytest

from agui_gate.adapter import AssistantTurn, CallEnd, Output, TextDelta

from .support import ANSWER, CALLS, MODES, talking

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("profile", ["openai", "azure_v1", "foundry", "compat_lenient"])
async def test_two_user_turns_with_tools_and_no_refusal(mode: str, profile: Any) -> None:
    """S17: calls, their outputs, an answer; then all of it again on top."""
    async with talking([CALLS, ANSWER, CALLS, ANSWER], mode, profile=profile) as (emulator, thread):
        thread.outputs["weather"] = Output("sunny")
        for question in ("Weather?", "And now?"):
            thread.say(question)
            called = await thread.turn()
            assert [event.arguments for event in called.of(CallEnd)] == ['{"city":"Paris"}', '{"city":"Rome"}']
            answered = await thread.turn()
            assert answered.text == "Sunny in both."
            assert len(answered.of(TextDelta)) > 0
            assert answered.done.status == "completed"
            assert answered.done.usage is not None
            assert answered.done.usage.model == "gpt-test"
    assert emulator.refusals == []
    sent = [len(entry.body["input"]) for entry in emulator.accepted if entry.body]
    if mode != "stateless":
        assert sent == [1, 2, 1, 2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chunk", [1, 7, "random", "whole"])
async def test_any_cut_of_the_body(mode: str, chunk: Any) -> None:
    script = {"turns": [CALLS, {"output": [{"type": "message", "deltas": ["naïve ", "🙂"]}]}], "chunk": chunk}
    async with talking(script, mode) as (emulator, thread):
        thread.say("Weather?")
        assert len((await thread.turn()).of(CallEnd)) == 2
        assert (await thread.turn()).text == "naïve 🙂"
    assert emulator.refusals == []


@pytest.mark.parametrize("deltas", [[], ["Hello world"], ["Hello", " world"]])
async def test_text_is_shown_once(deltas: list[str]) -> None:
    """B13."""
    async with talking([{"output": [{"type": "message", "text": "Hello world", "deltas": deltas}]}]) as (_, thread):
        thread.say("hi")
        assert (await thread.turn()).text == "Hello world"


async def test_sealed_reasoning_comes_back_byte_for_byte() -> None:
    """B16: the emulator verifies the seal against the id."""
    async with talking([CALLS, ANSWER, ANSWER], "stateless") as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        await thread.turn()
        thread.say("Sure?")
        await thread.turn()
    body = emulator.accepted[-1].body
    assert body is not None
    reasoning = [item for item in body["input"] if item["type"] == "reasoning"]
    assert len(reasoning) == 2
    assert all(item["encrypted_content"] and item["id"].startswith("rs_") for item in reasoning)
    assert [item["summary"] != [] for item in reasoning] == [True, False]
    assert emulator.refusals == []


@pytest.mark.parametrize("mode", MODES)
async def test_an_edited_call_is_seen_as_it_ran(mode: str) -> None:
    """B11."""
    async with talking([CALLS, ANSWER, ANSWER], mode) as (emulator, thread):
        thread.edits["weather"] = '{"city":"Oslo"}'
        thread.say("Weather?")
        await thread.turn()
        await thread.turn()
        thread.say("Sure?")
        await thread.turn()
    assert emulator.refusals == []
    assert "Oslo" in msgspec.json.encode(emulator.accepted[1].body).decode()


@pytest.mark.parametrize("mode", MODES)
async def test_repeated_wire_ids(mode: str) -> None:
    """S24: the second turn's call has the first one's id."""
    turn = {"output": [{"type": "function_call", "name": "weather", "arguments": {}, "call_id": "call_same"}]}
    async with talking([turn, ANSWER, turn, ANSWER, ANSWER], mode) as (emulator, thread):
        for _ in range(2):
            thread.say("Weather?")
            await thread.turn()
            await thread.turn()
        thread.say("Thanks")
        await thread.turn()
    assert emulator.refusals == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "output", [[*CALLS["output"]], [{"type": "message", "text": "It is"}], [{"type": "reasoning"}]]
)
async def test_after_an_incomplete_turn_the_next_is_legal(mode: str, output: list[Any]) -> None:
    async with talking([{"output": output, "status": "incomplete"}, ANSWER, ANSWER], mode) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert (turn.done.status, turn.done.reason) == ("incomplete", "max_output_tokens")
        for question in ("Go on", "And?"):
            thread.say(question)
            await thread.turn()
    assert emulator.refusals == []


# --- the provider forgets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["chain", "conversation"])
@pytest.mark.parametrize("after_calls", [True, False])
async def test_a_forgotten_conversation_is_replayed_once(mode: str, after_calls: bool) -> None:
    """B27, R6 and R7."""
    forget = {"fault": {"kind": "forget"}, **ANSWER}
    script = [CALLS, forget, ANSWER] if after_calls else [ANSWER, forget, ANSWER]
    async with talking(script, mode) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        if not after_calls:
            thread.say("Sure?")
        assert (await thread.turn()).text == "Sunny in both."
        thread.say("And now?")
        await thread.turn()
    assert [entry.rule for entry in emulator.refusals] == ["R6" if mode == "chain" else "R7"]
    last = emulator.accepted[-1].body
    assert last is not None
    assert len(last["input"]) == 1, "continued on top of the replay"


async def test_zero_data_retention_works_by_replaying() -> None:
    """R6b."""
    async with talking([ANSWER, ANSWER], zdr=True) as (emulator, thread):
        for question in ("One", "Two"):
            thread.say(question)
            await thread.turn()
    assert [entry.rule for entry in emulator.refusals] == ["R6b"]


@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_an_inconsistent_continuation_is_healed_and_logged(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """R1: what the provider has is not what we think it has."""
    async with talking([CALLS, ANSWER], mode) as (emulator, thread):
        thread.say("Weather?")
        turn = await thread.turn()
        assert isinstance(thread.transcript[-1], AssistantTurn)
        thread.transcript[-1] = AssistantTurn(thread.transcript[-1].id, (), thread.model.origin, turn.done.ref)
        thread.say("Never mind")
        assert (await thread.turn()).text == "Sunny in both."
    assert [entry.rule for entry in emulator.refusals] == ["R1"]
    assert "adapter bug" in caplog.text


async def test_sealed_reasoning_that_is_refused_is_left_out() -> None:
    async with talking([CALLS, ANSWER, ANSWER], "stateless", profile="azure_v1") as (emulator, thread):
        thread.model._settings = msgspec.structs.replace(thread.model._settings, newest_sealed_only=False)
        thread.say("Weather?")
        await thread.turn()
        await thread.turn()
        thread.say("Sure?")
        assert (await thread.turn()).text == "Sunny in both."
    assert len(emulator.refusals) == 1
