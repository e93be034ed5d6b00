"""Refusals that this API words in its own way (see `test_every_adapter_faults.py` for the rest)."""

import pytest

from agui_gate.errors import ProviderRejected
from agui_gate_adapters.anthropic_messages.failures import API, messages_failure
from agui_gate_adapters.common.failures import ErrorReply, Kind, classify_status
from tests.adapters.support import CALLS, waits

from .support import ANSWER, ENABLED, talking

pytestmark = pytest.mark.anyio

THINKING = {
    "A7": "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking`"
    " is enabled, a final `assistant` message must start with a thinking block",
    "A8": "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
    " modified. These blocks must remain as they were in the original response.",
    "A9": "messages.1.content.0: Invalid `signature` in `thinking` block",
    "A9 redacted": "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    "A9 lost": "messages.1.content.0.thinking.signature: Field required",
}
OURS = {
    "A1": "messages.63: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_X.",
    "A2": "messages.48.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_X.",
    "A3": "messages.1.content.1: `tool_use` ids must be unique",
    "A4": "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks",
    "A5": "messages.27: Did not find 1 tool_result block(s) at the beginning of this message.",
    "A6": "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "A10": "This model does not support assistant message prefill. The conversation must end with a user message.",
    "A10 space": "messages: final assistant content cannot end with trailing whitespace",
    "A11": "messages: text content blocks must be non-empty",
    "A11 blank": "messages: text content blocks must contain non-whitespace text",
    "A12": "messages: at least one message is required",
    "A12 empty": "messages.0: user messages must have non-empty content",
}


@pytest.mark.parametrize("rule", THINKING)
async def test_refused_thinking_is_left_out_once(rule: str) -> None:
    """Whatever the reason; nothing was shown yet."""
    fault = {"kind": "status", "status": 400, "message": THINKING[rule]}
    async with talking([CALLS, {"fault": fault, **ANSWER}], thinking=ENABLED) as (emulator, thread):
        slept = waits(thread.model)
        thread.say("Weather?")
        await thread.turn()
        assert (await thread.turn()).text == "Sunny in both."
    assert slept == []
    body = emulator.journal.entries[-1].body
    assert body is not None
    assert body["thinking"] == {"type": "disabled"}


async def test_thinking_that_is_still_refused_is_an_error() -> None:
    fault = {"kind": "status", "status": 400, "message": THINKING["A9"], "times": 0}
    async with talking([CALLS, {"fault": fault}], thinking=ENABLED) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        with pytest.raises(ProviderRejected, match="does not take back the thinking"):
            await thread.turn()
    assert len(emulator.journal.entries) == 3


@pytest.mark.parametrize("rule", OURS)
async def test_an_inconsistent_request_is_a_bug_and_said_to_be(rule: str, caplog: pytest.LogCaptureFixture) -> None:
    """The same transcript would give the same request."""
    fault = {"kind": "status", "status": 400, "message": OURS[rule]}
    async with talking([{"fault": fault}]) as (emulator, thread):
        thread.say("hi")
        with pytest.raises(ProviderRejected, match="inconsistent"):
            await thread.turn()
    assert "adapter bug" in caplog.text
    assert len(emulator.journal.entries) == 1


def test_a_tool_s_own_name_is_no_bug_of_the_adapter() -> None:
    told = ErrorReply(message="tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    assert messages_failure(told) is None
    assert classify_status(400, told, API).kind is Kind.FATAL
