"""What goes wrong at the provider or on the way is retried once, waited for, or classified; never again once shown."""

from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from agui_gate.adapter import AssistantTurn, TextDelta, TextPart
from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve

from .support import ANSWER, CALLS, MODES, Thread, talking

pytestmark = pytest.mark.anyio


def waits(thread: Thread) -> list[float]:
    """From now on the adapter notes how long it would have slept."""
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    thread.model._sleep = note
    return slept


@pytest.mark.parametrize("times", [3, 4])
async def test_a_locked_conversation_is_waited_for(times: int) -> None:
    """R8."""
    script = [{"fault": {"kind": "locked", "times": times}, **ANSWER}]
    async with talking(script, "conversation") as (_, thread):
        slept = waits(thread)
        thread.say("hi")
        if times == 3:
            assert (await thread.turn()).text == "Sunny in both."
        else:
            with pytest.raises(ProviderUnavailable, match="busy"):
                await thread.turn()
    assert slept == [0.5, 1.0, 2.0]


TRANSIENT = [
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 429, "retry_after": 2},
    {"kind": "html", "status": 502},
    {"kind": "cut", "after_events": 0},
    {"kind": "cut", "after_events": 2},
    {"kind": "cut", "after_events": 2, "clean": True},
    {"kind": "cut", "after_bytes": 20},
    {"kind": "error_event"},
    {"kind": "error_event", "shape": "flat"},
    {"kind": "failed", "code": "server_error"},
    {"kind": "content_type"},
]


@pytest.mark.parametrize("fault", TRANSIENT, ids=lambda fault: "-".join(map(str, fault.values())))
@pytest.mark.parametrize("mode", MODES)
async def test_a_transient_fault_is_retried_exactly_once(mode: str, fault: dict[str, Any]) -> None:
    script = [ANSWER, {"fault": {"times": 1, **fault}, **ANSWER}, ANSWER]
    async with talking(script, mode) as (emulator, thread):
        slept = waits(thread)
        thread.say("hi")
        await thread.turn()
        thread.say("again")
        assert (await thread.turn()).text == "Sunny in both."
        thread.say("more")
        await thread.turn() if emulator.remaining_turns else None
        assert slept == [2.0] if "retry_after" in fault else len(slept) == 1
    assert emulator.refusals == []


@pytest.mark.parametrize("fault", TRANSIENT[:5], ids=lambda fault: "-".join(map(str, fault.values())))
async def test_twice_is_an_error(fault: dict[str, Any]) -> None:
    async with talking([{"fault": {"times": 0, **fault}}]) as (emulator, thread):
        waits(thread)
        thread.say("hi")
        with pytest.raises(RateLimited if fault.get("status") == 429 else ProviderUnavailable) as caught:
            await thread.turn()
        assert caught.value.retry
        assert "Gateway" not in caught.value.message
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
        ({"kind": "status", "status": 401}, ProviderAuth),
        ({"kind": "status", "status": 403}, ProviderAuth),
        ({"kind": "status", "status": 400, "code": "context_length_exceeded"}, ContextLength),
        ({"kind": "status", "status": 400, "code": "invalid_value"}, ProviderRejected),
        ({"kind": "status", "status": 404, "code": "model_not_found"}, ProviderRejected),
        ({"kind": "status", "status": 429, "code": "insufficient_quota"}, RateLimited),
        ({"kind": "failed", "code": "invalid_prompt"}, ProviderRejected),
    ],
)
async def test_what_no_retry_helps(fault: dict[str, Any], error: type[Exception]) -> None:
    """B19."""
    async with talking([{"fault": {**fault, "message": "sk-secret said Bob"}}]) as (emulator, thread):
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


@pytest.mark.parametrize("kind", ["cut", "error_event", "failed"])
@pytest.mark.parametrize("mode", MODES)
async def test_what_was_shown_is_never_tried_again(mode: str, kind: str) -> None:
    """And the turn after a cut one is legal: the cut one was not committed."""
    cut = {"output": [{"type": "message", "deltas": ["Sun", "ny"]}], "fault": {"kind": kind, "after_events": 5}}
    async with talking([CALLS, cut, ANSWER], mode) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        shown: list[Any] = []
        with pytest.raises(ProviderUnavailable):
            await watch(thread, shown)
        assert TextDelta in map(type, shown)
        before = len(emulator.journal.entries)
        thread.transcript.append(AssistantTurn("cut", (TextPart("m", "Sun"),), thread.model.origin))
        thread.say("You were cut off")
        await thread.turn()
        assert len(emulator.journal.entries) == before + 1
    assert emulator.refusals == []


async def test_silence_is_bounded() -> None:
    emulator = Emulator(script=[{"fault": {"kind": "hang", "times": 0}}])
    async with serve(emulator) as base_url:
        model = OpenAIResponses("m", base_url=base_url, api_key="k", timeout=0.05)
        thread = Thread(model)
        waits(thread)
        thread.say("hi")
        with pytest.raises(ProviderUnavailable, match="silent"):
            await thread.turn()
        await model.aclose()


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


async def test_turns_share_connections() -> None:
    connections = set()

    async def record(scope: Any, receive: Any, send: Any) -> None:
        connections.add(scope["client"])
        await real(scope, receive, send)

    emulator = Emulator(script=[ANSWER] * 5)
    real = emulator.app
    emulator.__dict__["app"] = record
    async with serve(emulator) as base_url:
        thread = Thread(OpenAIResponses("m", base_url=base_url, api_key="k"))
        for _ in range(5):
            thread.say("hi")
            await thread.turn()
        await thread.model.aclose()
    assert len(connections) == 1


async def test_nobody_listens() -> None:
    async with serve(Emulator()) as base_url:
        pass
    thread = Thread(OpenAIResponses("m", base_url=base_url, api_key="k"))
    slept = waits(thread)
    thread.say("hi")
    with pytest.raises(ProviderUnavailable, match="reached"):
        await thread.turn()
    assert len(slept) == 1
    (finding,) = await thread.model.check()
    assert not finding.ok
    assert "base_url" in finding.fix
    await thread.model.aclose()
    await thread.model.aclose()


async def test_check_is_content_with_a_provider_that_works() -> None:
    async with talking([]) as (_, thread):
        (finding,) = await thread.model.check()
    assert finding.ok
