"""Whole turns over real HTTP: what is particular to this API (see `test_every_adapter_turns.py` for the rest)."""

import msgspec
import pytest

from agui_gate.adapter import AssistantTurn, ReasoningDelta
from agui_gate.errors import ProviderRejected
from agui_gate_adapters.openai_chat import PROFILES
from agui_gate_adapters.testkit import CHAT_PROFILES
from tests.adapters.support import ANSWER, CALLS
from tests.requirements import shows

from .support import SERVERS, talking

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("server", SERVERS)
async def test_everything_is_sent_every_time(server: str) -> None:
    async with talking([CALLS, ANSWER, CALLS, ANSWER], server) as (emulator, thread):
        for question in ("Weather?", "And now?"):
            thread.say(question)
            await thread.turn()
            await thread.turn()
    assert [len(entry.body["messages"]) for entry in emulator.accepted if entry.body] == [2, 5, 7, 10]


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


async def test_a_wrong_profile_is_a_refusal_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    wrong = msgspec.structs.replace(PROFILES["deepseek"], reasoning_replay="never")
    async with talking([CALLS, ANSWER], "deepseek", profile=wrong) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        with pytest.raises(ProviderRejected, match="inconsistent"):
            await thread.turn()
    assert [entry.rule for entry in emulator.refusals] == ["reasoning"]
    assert "adapter bug" in caplog.text
