"""Whole turns over real HTTP: what is particular to this API (see `test_every_adapter_turns.py` for the rest)."""

import msgspec
import pytest

from agui_gate.adapter import AssistantTurn
from agui_gate.errors import ProviderUnavailable
from tests.adapters.support import ANSWER, CALLS, waits

from .support import NEEDS, talking

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["chain", "conversation"])
@pytest.mark.parametrize("profile", NEEDS)
async def test_only_what_is_new_is_sent(mode: str, profile: str) -> None:
    async with talking([CALLS, ANSWER, CALLS, ANSWER], mode, profile=profile) as (emulator, thread):
        for question in ("Weather?", "And now?"):
            thread.say(question)
            await thread.turn()
            await thread.turn()
    assert [len(entry.body["input"]) for entry in emulator.accepted if entry.body] == [1, 2, 1, 2]


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
    """R6b. It is asked for a continuation once, and then never again (T19)."""
    async with talking([ANSWER, ANSWER, ANSWER], zdr=True) as (emulator, thread):
        for question in ("One", "Two", "Three"):
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


@pytest.mark.parametrize("times", [3, 4])
async def test_a_locked_conversation_is_waited_for(times: int) -> None:
    """R8."""
    script = [{"fault": {"kind": "locked", "times": times}, **ANSWER}]
    async with talking(script, "conversation") as (_, thread):
        slept = waits(thread.model)
        thread.say("hi")
        if times == 3:
            assert (await thread.turn()).text == "Sunny in both."
        else:
            with pytest.raises(ProviderUnavailable, match="busy"):
                await thread.turn()
    assert slept == [0.5, 1.0, 2.0]
