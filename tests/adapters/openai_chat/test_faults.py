"""What goes wrong at the provider or on the way is tried once more or classified; never again once shown."""

from contextlib import aclosing, suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agui_gate.adapter import AssistantTurn, CallEnd, CallStart, TextDelta, TextPart, TurnDone
from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, ProviderUnavailable, RateLimited
from tests.adapters.openai_responses.support import ANSWER, CALLS

from .support import SERVERS, Thread, talking

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
    {"kind": "status", "status": 429, "retry_after": 2},
    {"kind": "html", "status": 502},
    {"kind": "html", "status": 200},
    {"kind": "cut", "after_events": 0},
    {"kind": "cut", "after_events": 1},
    {"kind": "cut", "after_events": 1, "clean": True},
    {"kind": "cut", "after_bytes": 20},
    {"kind": "error_event", "after_events": 1},
    {"kind": "error_event", "after_events": 1, "shape": "flat"},
    {"kind": "failed", "after_events": 0, "code": "server_error"},
    {"kind": "content_type"},
]


@pytest.mark.parametrize("fault", TRANSIENT, ids=lambda fault: "-".join(map(str, fault.values())))
@pytest.mark.parametrize("server", ["openai", "vllm", "mistral", "lenient"])
async def test_a_transient_fault_is_retried_exactly_once(server: str, fault: dict[str, Any]) -> None:
    script: list[Any] = [ANSWER, {"fault": {"times": 1} | fault, **ANSWER}, ANSWER]
    async with talking(script, server) as (emulator, thread):
        slept = waits(thread)
        thread.say("hi")
        await thread.turn()
        thread.say("again")
        assert (await thread.turn()).text == "Sunny in both."
        assert slept == [2.0] if "retry_after" in fault else len(slept) == 1
        assert len(emulator.journal.entries) == 3
    assert emulator.refusals == []


@pytest.mark.parametrize("fault", TRANSIENT, ids=lambda fault: "-".join(map(str, fault.values())))
async def test_twice_is_an_error(fault: dict[str, Any]) -> None:
    async with talking([{"fault": {"times": 0, **fault}, **ANSWER}] * 2) as (emulator, thread):
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
    ("fault", "error"),
    [
        ({"status": 401}, ProviderAuth),
        ({"status": 403}, ProviderAuth),
        ({"status": 400, "code": "context_length_exceeded"}, ContextLength),
        ({"status": 400, "code": "invalid_value"}, ProviderRejected),
        ({"status": 404, "code": "model_not_found"}, ProviderRejected),
        ({"status": 429, "code": "insufficient_quota"}, RateLimited),
    ],
)
async def test_what_no_retry_helps(fault: dict[str, Any], error: type[Exception]) -> None:
    """B19."""
    script = [{"fault": {"kind": "status", "message": "sk-secret said Bob", **fault}}]
    async with talking(script) as (emulator, thread):
        thread.say("hi")
        with pytest.raises(error) as caught:
            await thread.turn()
        assert "Bob" not in str(caught.value)
        assert len(emulator.journal.entries) == 1


async def watch(thread: Thread, shown: list[Any]) -> None:
    """Stream a turn that may fail, noting its events."""
    with anyio.fail_after(10):
        async with aclosing(thread.model.stream(thread.request())) as batches:
            async for batch in batches:
                shown += batch


TEXT = {"output": [{"type": "message", "deltas": ["Sun", "ny"]}]}


@pytest.mark.parametrize("server", ["openai", "deepseek", "mistral", "lenient", "bare"])
@pytest.mark.parametrize("kind", ["cut", "error_event", "failed"])
async def test_what_was_shown_is_never_tried_again(server: str, kind: str) -> None:
    """And the turn after a cut one is legal."""
    cut = {**TEXT, "fault": {"kind": kind, "after_events": 2}}
    async with talking([CALLS, cut, ANSWER], server) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        shown: list[Any] = []
        with pytest.raises(ProviderUnavailable):
            await watch(thread, shown)
        assert TextDelta in map(type, shown)
        before = len(emulator.journal.entries)
        thread.transcript.append(AssistantTurn("cut", (TextPart("m", "Sun"),)))
        thread.say("You were cut off")
        await thread.turn()
        assert len(emulator.journal.entries) == before + 1
    assert emulator.refusals == []


@pytest.mark.parametrize("server", SERVERS)
async def test_a_call_that_was_cut_never_ends(server: str) -> None:
    """B25: the connection drops in the middle of the last arguments, and the first call is whole by then."""
    for events in range(2, 9):
        script = [{**CALLS, "fault": {"kind": "cut", "after_events": events}}]
        async with talking(script, server) as (_, thread):
            waits(thread)
            thread.say("Weather?")
            shown: list[Any] = []
            with suppress(ProviderUnavailable):  # of the short answers some are whole by then
                await watch(thread, shown)
            assert (CallEnd in map(type, shown)) == (TurnDone in map(type, shown))


async def test_half_a_character() -> None:
    """The bytes of a character may come apart, and their second half never."""
    script = [{"output": [{"type": "message", "deltas": ["🙂"]}], "chunk": 1}]
    async with talking(script) as (_, thread):
        thread.say("hi")
        assert (await thread.turn()).text == "🙂"
    for bytes_ in range(180, 400, 20):
        fault = {"kind": "cut", "after_bytes": bytes_, "times": 0}
        async with talking([{"output": [{"type": "message", "deltas": ["🙂" * 40]}], "fault": fault}]) as (_, thread):
            waits(thread)
            thread.say("hi")
            with pytest.raises(ProviderUnavailable):
                await thread.turn()


async def test_partial_arguments_in_a_whole_answer_are_passed_on() -> None:
    """The engine answers the call with what is wrong with it; nothing crashes."""
    turn = {"output": [{"type": "function_call", "name": "weather", "arguments": '{"city":"Pa'}]}
    async with talking([turn]) as (_, thread):
        thread.say("hi")
        answered = await thread.turn()
        assert len(answered.of(CallStart)) == 1
        assert [event.arguments for event in answered.of(CallEnd)] == ['{"city":"Pa']


async def test_silence_is_bounded() -> None:
    script = [{"fault": {"kind": "hang", "after_events": 2, "times": 0}, **ANSWER}]
    async with talking(script, timeout=0.05) as (_, thread):
        waits(thread)
        thread.say("hi")
        with pytest.raises(ProviderUnavailable, match="silent"):
            await thread.turn()


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
