"""What goes wrong at the provider or on the way is retried once or classified; never again once shown."""

from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agui_gate.adapter import TextDelta
from agui_gate.core.transcript import TextPart, TurnEntry
from agui_gate.errors import (
    ContextLength,
    ProviderAuth,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
    RateLimited,
)
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.anthropic_messages.failures import API, messages_failure
from agui_gate_adapters.common.failures import Kind, Told, classify_status
from agui_gate_adapters.testkit import Emulator, serve

from .support import ANSWER, CALLS, ENABLED, Thread, talking

pytestmark = pytest.mark.anyio


def waits(thread: Thread) -> list[float]:
    """From now on the adapter notes how long it would have slept."""
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    thread.model._sleep = note
    return slept


TRANSIENT: list[dict[str, Any]] = [
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 529},
    {"kind": "status", "status": 429, "retry_after": 2},
    {"kind": "html", "status": 502},
    {"kind": "cut", "after_events": 0},
    {"kind": "cut", "after_events": 2},
    {"kind": "cut", "after_events": 2, "clean": True},
    {"kind": "cut", "after_bytes": 20},
    {"kind": "error_event", "after_events": 1},
    {"kind": "error_event", "after_events": 1, "code": "api_error"},
    {"kind": "content_type"},
]


def name(fault: dict[str, Any]) -> str:
    return "-".join(map(str, fault.values()))


@pytest.mark.parametrize("fault", TRANSIENT, ids=name)
async def test_a_transient_fault_is_retried_exactly_once(fault: dict[str, Any]) -> None:
    script = [ANSWER, {"fault": {"times": 1, **fault}, **ANSWER}, ANSWER]
    async with talking(script, thinking=None) as (emulator, thread):
        slept = waits(thread)
        thread.say("hi")
        await thread.turn()
        thread.say("again")
        assert (await thread.turn()).text == "Sunny in both."
        assert slept == [2.0] if "retry_after" in fault else len(slept) == 1
    assert emulator.refusals == []


@pytest.mark.parametrize("fault", TRANSIENT[:-1], ids=name)
async def test_twice_is_an_error(fault: dict[str, Any]) -> None:
    async with talking([{"fault": {"times": 0, **fault}, **ANSWER}]) as (emulator, thread):
        waits(thread)
        thread.say("hi")
        with pytest.raises(RateLimited if fault.get("status") == 429 else ProviderUnavailable) as caught:
            await thread.turn()
        assert caught.value.retry
        assert len(emulator.journal.entries) == 2


async def test_a_long_retry_after_is_left_to_the_caller() -> None:
    async with talking([{"fault": {"kind": "status", "status": 429, "retry_after": 60}}]) as (emulator, thread):
        thread.say("hi")
        with pytest.raises(RateLimited):
            await thread.turn()
        assert len(emulator.journal.entries) == 1


@pytest.mark.parametrize(
    ("status", "message", "error", "says"),
    [
        (401, "invalid x-api-key", ProviderAuth, "ANTHROPIC_API_KEY"),
        (403, "no", ProviderAuth, "ANTHROPIC_API_KEY"),
        (402, "pay", ProviderRejected, "billing_error"),
        (404, "model: sk-secret", ProviderRejected, "does not know the model 'claude-test'"),
        (404, "Not found", ProviderRejected, "no Messages API at this address"),
        (413, "Request exceeds the maximum size", ProviderRejected, "request_too_large"),
        (400, "prompt is too long: 3 tokens > 2 maximum", ContextLength, "longer"),
        (400, "input length and `max_tokens` exceed context limit: 3 > 2", ContextLength, "longer"),
        (400, "Your credit balance is too low to access the API", RateLimited, "credit"),
        (
            400,
            "tools.0.custom.name: String should match",
            ProviderRejected,
            "at tools.0.custom.name",
        ),
        (400, "temperature: Extra inputs are not permitted", ProviderRejected, "at temperature"),
        (400, "Bob said: sk-secret", ProviderRejected, r"\(400\)"),
    ],
)
async def test_what_no_retry_helps(status: int, message: str, error: type[ProviderError], says: str) -> None:
    """B19: the provider's own words stay in the debug log."""
    fault = {"kind": "status", "status": status, "message": message}
    async with talking([{"fault": fault}]) as (emulator, thread):
        thread.say("hi")
        with pytest.raises(error, match=says) as caught:
            await thread.turn()
        assert "sk-secret" not in str(caught.value)
        assert len(emulator.journal.entries) == 1


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
        slept = waits(thread)
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
    told = Told(message="tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
    assert messages_failure(told) is None
    assert classify_status(400, told, API).kind is Kind.FATAL


# --- once shown ---------------------------------------------------------------------------------------------------


async def watch(thread: Thread, shown: list[Any]) -> None:
    """Stream a turn that may fail, noting its events."""
    with anyio.fail_after(10):
        async with aclosing(thread.model.stream(thread.request())) as batches:
            async for batch in batches:
                shown += batch


@pytest.mark.parametrize("kind", ["cut", "error_event", "failed"])
async def test_what_was_shown_is_never_tried_again(kind: str) -> None:
    """And the turn after a cut one is legal."""
    cut = {"output": [{"type": "message", "deltas": ["Sun", "ny"]}], "fault": {"kind": kind, "after_events": 4}}
    async with talking([CALLS, cut, ANSWER], thinking=ENABLED) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        shown: list[Any] = []
        with pytest.raises(ProviderUnavailable):
            await watch(thread, shown)
        assert TextDelta in map(type, shown)
        before = len(emulator.journal.entries)
        thread.entries.append(TurnEntry("cut", (TextPart("m", "Sun"),), thread.model.origin, cut=True))
        thread.say("You were cut off")
        await thread.turn()
        assert len(emulator.journal.entries) == before + 1
    assert emulator.refusals == []


async def test_silence_is_bounded() -> None:
    emulator = Emulator(script=[{"fault": {"kind": "hang", "times": 0}}])
    async with serve(emulator) as base_url:
        thread = Thread(AnthropicMessages("m", base_url=base_url, api_key="k", timeout=0.05))
        waits(thread)
        thread.say("hi")
        with pytest.raises(ProviderUnavailable, match="silent"):
            await thread.turn()
        await thread.model.aclose()


@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_leaving_closes_the_provider_s_stream_at_once(how: str) -> None:
    slow = {"output": [{"type": "message", "deltas": ["a"] * 50}], "fault": {"kind": "hang", "after_events": 6}}
    async with talking([slow]) as (emulator, thread):
        thread.say("hi")
        with anyio.fail_after(5), anyio.CancelScope() as scope:
            async with aclosing(thread.model.stream(thread.request())) as batches:
                async for _ in batches:
                    if how == "close":
                        break
                    scope.cancel()
        with anyio.fail_after(5):
            while emulator.accepted[0].ended is None:
                await anyio.lowlevel.checkpoint()
    assert emulator.accepted[0].ended == "aborted"


async def test_nobody_listens() -> None:
    async with serve(Emulator()) as base_url:
        pass
    thread = Thread(AnthropicMessages("m", base_url=base_url, api_key="k"))
    slept = waits(thread)
    thread.say("hi")
    with pytest.raises(ProviderUnavailable, match="reached"):
        await thread.turn()
    assert len(slept) == 1
    (finding,) = await thread.model.check()
    assert not finding.ok
    assert "ANTHROPIC_BASE_URL" in finding.fix
    await thread.model.aclose()
    await thread.model.aclose()
