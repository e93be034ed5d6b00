"""Each fault as the SDK sees it, what it stores, and that a spoiled turn is played again."""

from typing import Any

import anyio
import httpx2
import openai
import pytest

from agui_gate_adapters.testkit import Emulator, EmulatorTransport
from tests.testkit.driving import MODEL, say, sdk

pytestmark = pytest.mark.anyio


def faulty(**fault: Any) -> Emulator:
    return Emulator([say("one two three four", fault=fault)])


async def collect(stream: Any, seen: list[Any]) -> None:
    async for event in stream:
        seen.append(event)  # noqa: PERF401 - a comprehension would lose what came before the cut


async def text_of(client: openai.AsyncOpenAI) -> str:
    return (await client.responses.create(model=MODEL, input="again")).output_text


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, openai.AuthenticationError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
    ],
)
async def test_http_errors(status: int, kind: type[openai.APIStatusError]) -> None:
    emulator = faulty(kind="status", status=status, retry_after=1.5)
    async with sdk(emulator) as client:
        with pytest.raises(kind) as caught:
            await text_of(client)
        assert caught.value.response.headers["retry-after"] == "1.5"
        assert await text_of(client) == "one two three four"
    assert [(entry.status, entry.fault) for entry in emulator.accepted] == [(status, "status"), (200, None)]


async def test_a_fault_without_output_is_used_up() -> None:
    emulator = Emulator([{"fault": {"kind": "status", "status": 503, "times": 2}}, say("fine")])
    async with sdk(emulator) as client:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                await text_of(client)
        assert await text_of(client) == "fine"


async def test_the_sdk_retries_transient_errors() -> None:
    emulator = faulty(kind="status", status=500, retry_after=0.01)
    async with sdk(emulator) as client:
        assert await text_of(client.with_options(max_retries=1)) == "one two three four"


async def test_html_and_wrong_content_type() -> None:
    async with sdk(faulty(kind="html", status=502)) as client:
        with pytest.raises(openai.InternalServerError) as caught:
            await text_of(client)
    assert caught.value.response.headers["content-type"].startswith("text/html")
    async with sdk(faulty(kind="content_type")) as client:
        raw = await client.responses.with_raw_response.create(model=MODEL, input="x")
    assert raw.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("cut", [{"after_events": 6}, {"after_bytes": 900}])
async def test_a_cut_stream_stores_nothing(cut: dict[str, Any]) -> None:
    emulator = faulty(kind="cut", **cut)
    seen: list[Any] = []
    async with sdk(emulator) as client:
        stream = await client.responses.create(model=MODEL, input="x", stream=True)
        with pytest.raises((openai.APIError, httpx2.HTTPError)):
            await collect(stream, seen)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(seen[0].response.id)
        assert await text_of(client) == "one two three four"
    if "after_events" in cut:
        assert len(seen) == 6


async def test_a_clean_cut_just_ends() -> None:
    async with sdk(faulty(kind="cut", clean=True)) as client:
        stream = await client.responses.create(model=MODEL, input="x", stream=True)
        assert [event.type async for event in stream] == ["response.created", "response.in_progress"]


async def test_error_events_in_both_shapes() -> None:
    async with sdk(faulty(kind="error_event", message="boom")) as client:
        with pytest.raises(openai.APIError, match="boom"):
            async for _ in await client.responses.create(model=MODEL, input="x", stream=True):
                pass
    async with sdk(faulty(kind="error_event", shape="flat", code="server_error")) as client:
        events = [event async for event in await client.responses.create(model=MODEL, input="x", stream=True)]
    assert (events[-1].type, events[-1].code) == ("error", "server_error")


async def test_failed_in_the_middle() -> None:
    async with sdk(faulty(kind="failed", after_events=5, code="server_error", message="boom")) as client:
        events = [event async for event in await client.responses.create(model=MODEL, input="x", stream=True)]
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model=MODEL, input="y", previous_response_id=events[0].response.id)
    assert (events[-1].type, events[-1].response.error.message) == ("response.failed", "boom")


async def test_forgetting_and_a_locked_conversation() -> None:
    emulator = Emulator(
        [say("first"), say("replayed", fault={"kind": "forget"}), {"fault": {"kind": "locked"}}, say("free")]
    )
    async with sdk(emulator) as client:
        first = await client.responses.create(model=MODEL, input="x")
        with pytest.raises(openai.BadRequestError) as forgotten:
            await client.responses.create(model=MODEL, input="y", previous_response_id=first.id)
        assert await text_of(client) == "replayed"
        conversation = await client.conversations.create()
        with pytest.raises(openai.BadRequestError) as locked:
            await client.responses.create(model=MODEL, input="y", conversation=conversation.id)
        await client.responses.create(model=MODEL, input="y", conversation=conversation.id)
    assert forgotten.value.code == "previous_response_not_found"
    assert locked.value.code == "conversation_locked"
    assert [entry.rule for entry in emulator.refusals] == ["R6"]


async def test_slow_streams_arrive_all_the_same() -> None:
    emulator = faulty(kind="slow", ms=1)
    async with sdk(emulator) as client:
        assert [event async for event in await client.responses.create(model=MODEL, input="x", stream=True)]
    assert emulator.remaining_turns == 0


async def test_faults_never_hide_a_refusal() -> None:
    emulator = faulty(kind="status", status=503, times=0)
    async with sdk(emulator) as client:
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model=MODEL, input="x", previous_response_id="resp_nope")
        with pytest.raises(openai.InternalServerError):
            await text_of(client)


async def test_the_in_process_transport_streams_and_notices_leaving() -> None:
    emulator = faulty(kind="hang", after_events=4)
    with anyio.fail_after(60):
        async with httpx2.AsyncClient(transport=EmulatorTransport(emulator), base_url="http://emulator/v1") as http:
            client = openai.AsyncOpenAI(base_url="http://emulator/v1", api_key="k", http_client=http, max_retries=0)
            stream = await client.responses.create(model=MODEL, input="x", stream=True)
            await anext(aiter(stream))
            await stream.close()
            assert emulator.accepted[0].ended == "aborted"
            assert await text_of(client) == "one two three four"
            with pytest.raises(openai.NotFoundError):
                await client.responses.retrieve("resp_nope")


async def test_the_in_process_transport_reports_a_cut() -> None:
    async with httpx2.AsyncClient(transport=EmulatorTransport(faulty(kind="cut"))) as http:
        with pytest.raises(httpx2.RemoteProtocolError):
            await http.post(
                "http://emulator/v1/responses",
                json={"model": MODEL, "input": "x", "stream": True},
                headers={"authorization": "Bearer k"},
            )
