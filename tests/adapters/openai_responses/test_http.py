"""Whole turns over real HTTP against the strict emulator, in all three modes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from agui_gate.adapter import CallEnd, Output, TextDelta
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve

from .support import Thread

pytestmark = pytest.mark.anyio
MODES = ("chain", "conversation", "stateless")

CALLS = {
    "output": [
        {"type": "reasoning", "summary": ["I should look."]},
        {"type": "function_call", "name": "weather", "arguments": {"city": "Paris"}},
        {"type": "function_call", "name": "weather", "arguments": {"city": "Rome"}},
    ]
}
ANSWER = {"output": [{"type": "reasoning"}, {"type": "message", "text": "Sunny in both."}]}


@asynccontextmanager
async def talking(script: Any, mode: str = "chain", **options: Any) -> AsyncIterator[tuple[Emulator, Thread]]:
    """An emulator with this script, and a thread that talks to it."""
    emulator = Emulator(script=script, **options)
    async with serve(emulator) as base_url:
        model = OpenAIResponses("gpt-test", mode=mode, base_url=base_url, api_key="sk-test")  # type: ignore[arg-type]
        # What an Azure host name would have switched on.
        azure = emulator.profile.single_sealed_turn
        model._settings = msgspec.structs.replace(model._settings, newest_sealed_only=azure)
        try:
            yield emulator, Thread(model)
        finally:
            await model.aclose()


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
