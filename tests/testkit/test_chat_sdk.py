"""The OpenAI SDK drives the emulator's Chat Completions API over HTTP, whole and streamed, and through its faults."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import openai
import pytest
from openai import AsyncOpenAI

from agui_gate_adapters.testkit import CHAT_PROFILES, Emulator, EmulatorTransport
from tests.testkit.chatting import HELLO, MODEL, TOOL, result, said
from tests.testkit.driving import sdk

pytestmark = pytest.mark.anyio

CALLING: dict[str, Any] = {
    "output": [
        {"type": "message", "text": "Refunding order A1 ✓ now."},
        {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1"}},
        {"type": "function_call", "name": "refund", "arguments": {"order_id": "B2"}},
    ]
}
DONE: dict[str, Any] = {"output": [{"type": "message", "text": "Both are done."}]}
HI: dict[str, Any] = {"type": "message", "text": "one two three four five"}


def faulty(fault: dict[str, Any]) -> Emulator:
    return Emulator([{"output": [HI], "fault": fault}])


async def ask(client: AsyncOpenAI, *messages: Any, **body: Any) -> Any:
    given: Any = list(messages) or [HELLO]
    return await client.chat.completions.create(model=MODEL, messages=given, **body)


async def heard(client: AsyncOpenAI, *messages: Any, **body: Any) -> tuple[str, dict[int, list[str]], list[Any]]:
    """A streamed answer: its text, its calls as [id, name, arguments] by index, and all chunks."""
    text, calls, chunks = "", dict[int, list[str]](), []
    async for chunk in await ask(client, *messages, stream=True, **body):
        chunks.append(chunk)
        for choice in chunk.choices or ():
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                call = calls.setdefault(piece.index, ["", "", ""])
                call[0] += piece.id or ""
                call[1] += piece.function.name or ""
                call[2] += piece.function.arguments or ""
    return text, calls, chunks


async def test_a_tool_loop_whole() -> None:
    async with sdk(emulator := Emulator([CALLING, DONE])) as client:
        first = (await ask(client, tools=[TOOL])).choices[0]
        assert first.finish_reason == "tool_calls"
        results = [result(call.id) for call in first.message.tool_calls]
        told = first.message.model_dump(exclude_none=True)
        second = await ask(client, HELLO, told, *results, tools=[TOOL])
        assert second.choices[0].message.content == "Both are done."
        assert second.usage.total_tokens > 0
    assert emulator.refusals == []


async def test_a_tool_loop_streamed() -> None:
    async with sdk(emulator := Emulator([CALLING, DONE])) as client:
        options = {"include_usage": True}
        text, calls, chunks = await heard(client, tools=[TOOL], stream_options=options)
        assert text == "Refunding order A1 ✓ now."
        assert [call[1:] for call in calls.values()] == [
            ["refund", '{"order_id":"A1"}'],
            ["refund", '{"order_id":"B2"}'],
        ]
        assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == "tool_calls"
        assert chunks[-1].usage.total_tokens > 0
        made = [call[0] for call in calls.values()]
        assert (await heard(client, HELLO, said(*made), *map(result, made)))[0] == "Both are done."
    assert [entry.ended for entry in emulator.accepted] == ["completed", "completed"]
    assert emulator.refusals == []


async def test_refusals_reach_the_client() -> None:
    async with sdk(emulator := Emulator([DONE])) as client:
        with pytest.raises(openai.BadRequestError, match="The following tool_call_ids did not have") as caught:
            await ask(client, said("call_a"), HELLO)
        assert (caught.value.param, caught.value.code) == ("messages.[1].role", None)
        with pytest.raises(openai.BadRequestError, match="preceeding"):
            await ask(client, result("call_a"), stream=True)
    assert [entry.rule for entry in emulator.refusals] == ["C1", "C2"]


async def test_keys() -> None:
    async with sdk(Emulator([DONE], api_key="right")) as client:
        with pytest.raises(openai.AuthenticationError):
            await ask(client)
        assert (await ask(client.with_options(api_key="right"))).choices[0].message.content == "Both are done."


async def test_azure_takes_its_own_header() -> None:
    for profile, status in (("azure", 200), ("openai", 401)):
        emulator = Emulator([DONE], chat=profile, api_key="right")  # type: ignore[arg-type]  # names of the table
        async with httpx2.AsyncClient(transport=EmulatorTransport(emulator), base_url="http://emulator/v1") as client:
            body = {"model": MODEL, "messages": [HELLO]}
            answer = await client.post("/chat/completions", json=body, headers={"api-key": "right"})
            assert answer.status_code == status


@pytest.mark.parametrize("profile", sorted(CHAT_PROFILES))
@pytest.mark.parametrize("chunk", ["event", 3])
async def test_every_profile_streams_text(profile: Any, chunk: Any) -> None:
    async with in_process(Emulator([DONE], chat=profile, chunk=chunk)) as client:
        assert (await heard(client))[0] == "Both are done."


@asynccontextmanager
async def in_process(emulator: Emulator) -> AsyncIterator[AsyncOpenAI]:
    """The SDK without a socket."""
    with anyio.fail_after(60):
        async with httpx2.AsyncClient(transport=EmulatorTransport(emulator)) as http:
            yield AsyncOpenAI(base_url="http://emulator/v1", api_key="k", http_client=http, max_retries=0)


# -- faults ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, openai.RateLimitError), (500, openai.InternalServerError), (529, openai.InternalServerError)],
)
async def test_statuses(status: int, kind: type[openai.APIStatusError], stream: bool) -> None:
    emulator = faulty({"kind": "status", "status": status, "retry_after": 2, "message": "Later."})
    async with in_process(emulator) as client:
        with pytest.raises(kind, match=r"Later\.") as caught:
            await ask(client, stream=stream)
        assert caught.value.response.headers["retry-after"] == "2"
        assert (await ask(client)).choices[0].message.content == HI["text"]
    assert [entry.fault for entry in emulator.accepted] == ["status", None]


async def test_a_status_in_the_servers_own_shape() -> None:
    emulator = Emulator([{"output": [HI], "fault": {"kind": "status", "status": 429, "times": 0}}], chat="mistral")
    async with in_process(emulator) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            await ask(client)
        assert caught.value.response.json()["object"] == "error"


async def test_an_html_page_and_a_wrong_content_type() -> None:
    async with in_process(faulty({"kind": "html", "status": 502})) as client:
        with pytest.raises(openai.InternalServerError) as caught:
            await ask(client, stream=True)
        assert caught.value.response.headers["content-type"].startswith("text/html")
    async with in_process(faulty({"kind": "content_type"})) as client:
        raw = await client.chat.completions.with_raw_response.create(model=MODEL, messages=[HELLO])  # type: ignore[list-item]  # a message
        assert raw.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("fault", [{"after_events": 3}, {"after_bytes": 400}])
async def test_a_cut_stream(fault: dict[str, Any]) -> None:
    emulator = faulty({"kind": "cut", **fault})
    async with in_process(emulator) as client:
        with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)):
            await heard(client)
    assert emulator.accepted[0].ended == "aborted"


async def test_a_cut_before_the_last_line_is_a_cut() -> None:
    """Role, five words, finish: the eighth frame would be `[DONE]`."""
    emulator = faulty({"kind": "cut", "after_events": 7})
    async with in_process(emulator) as client:
        with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)):
            await heard(client)
    assert emulator.accepted[0].ended == "aborted"
    async with in_process(faulty({"kind": "cut", "after_events": 7, "clean": True})) as client:
        _, _, chunks = await heard(client)
        assert chunks[-1].choices[0].finish_reason == "stop"


async def test_a_silent_stream_ends_with_its_client() -> None:
    emulator = faulty({"kind": "hang", "after_events": 2})
    async with in_process(emulator) as client:
        stream = await ask(client, stream=True)
        iterator = aiter(stream)
        await anext(iterator)
        await anext(iterator)
        await stream.close()
    assert emulator.accepted[0].ended == "aborted"


@pytest.mark.parametrize("kind", ["error_event", "failed"])
async def test_an_error_in_the_stream(kind: str) -> None:
    emulator = faulty({"kind": kind, "after_events": 3, "message": "The engine fell over."})
    async with in_process(emulator) as client:
        with pytest.raises(openai.APIError, match="The engine fell over"):
            await heard(client)
    assert emulator.accepted[0].ended == ("aborted" if kind == "error_event" else "failed")
    async with in_process(faulty({"kind": kind, "message": "The engine fell over."})) as client:
        with pytest.raises(openai.InternalServerError, match="The engine fell over"):
            await ask(client)


async def test_a_flat_error_and_a_patient_one() -> None:
    emulator = faulty({"kind": "error_event", "shape": "flat", "after_events": 1})
    async with in_process(emulator) as client:
        _, _, chunks = await heard(client)
        assert chunks[-1].model_extra["code"] == "server_error"
    async with in_process(faulty({"kind": "error_event", "after_events": 99})) as client:
        assert (await heard(client))[0] == HI["text"]


async def test_a_failed_turn() -> None:
    turn = {"output": [HI], "status": "failed", "error": {"code": "overloaded", "message": "No."}, "repeat": True}
    async with in_process(emulator := Emulator([turn])) as client:
        with pytest.raises(openai.InternalServerError, match=r"No\."):
            await ask(client)
        with pytest.raises(openai.APIError, match=r"No\."):
            await heard(client)
    assert emulator.accepted[-1].ended == "failed"


async def test_locked_and_slow() -> None:
    async with in_process(faulty({"kind": "locked"})) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client)
        assert caught.value.code == "conversation_locked"
    async with in_process(faulty({"kind": "slow", "ms": 1})) as client:
        assert (await heard(client))[0] == HI["text"]
