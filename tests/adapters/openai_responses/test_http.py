"""Whole turns over real HTTP against the strict emulator, in all three modes."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest

from agui_gate.adapter import AssistantTurn, CallEnd, Output, TextDelta, TextPart
from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, ProviderUnavailable, RateLimited
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


# --- faults -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("kind", ["cut", "error_event", "failed"])
@pytest.mark.parametrize("mode", MODES)
async def test_what_was_shown_is_never_tried_again(mode: str, kind: str) -> None:
    """And the turn after a cut one is legal: the cut one was not committed (facts §1.5.1)."""
    cut = {"output": [{"type": "message", "deltas": ["Sun", "ny"]}], "fault": {"kind": kind, "after_events": 5}}
    async with talking([CALLS, cut, ANSWER], mode) as (emulator, thread):
        thread.say("Weather?")
        await thread.turn()
        shown = []
        with pytest.raises(ProviderUnavailable), anyio.fail_after(10):
            async with aclosing(thread.model.stream(thread.request())) as batches:
                async for batch in batches:
                    shown += [event for event in batch if isinstance(event, TextDelta)]
        assert shown
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
                await anyio.sleep(0)
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
