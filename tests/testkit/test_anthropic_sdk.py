"""The Anthropic SDK itself drives the emulator over a real socket."""

from typing import Any

import anthropic
import anyio
import pytest

from agui_gate_adapters.testkit import Emulator
from tests.testkit.anthropic_driving import MODEL, TOOL, call, say, sdk

pytestmark = pytest.mark.anyio

GO: Any = {"role": "user", "content": "go"}
BASE: Any = {"model": MODEL, "max_tokens": 2048, "tools": [TOOL]}
THINKING: Any = {**BASE, "thinking": {"type": "enabled", "budget_tokens": 1024}}
REASONING = {"type": "reasoning", "summary": ["The order exists."]}
GROUP = {"output": [REASONING, {"type": "message", "text": "I'll refund it."}, call(order_id="A1")]}


def results(content: Any) -> Any:
    return [{"type": "tool_result", "tool_use_id": b.id, "content": "ok"} for b in content if b.type == "tool_use"]


async def test_a_tool_loop_with_thinking() -> None:
    emulator = Emulator([GROUP, GROUP, say("Refunded, all done.")])
    async with sdk(emulator) as client:
        messages: Any = [GO]
        for _ in range(2):
            message = await client.messages.create(messages=messages, **THINKING)
            assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
            assert message.stop_reason == "tool_use"
            messages += [message.to_param(), {"role": "user", "content": results(message.content)}]
        last = await client.messages.create(messages=messages, **THINKING)
    assert last.content[0].text == "Refunded, all done."
    assert last.usage.input_tokens > 0
    assert emulator.refusals == []


async def test_a_tool_loop_that_is_streamed() -> None:
    emulator = Emulator([{"chunk": "random", **GROUP}, say("Refunded.")])
    async with sdk(emulator) as client:
        async with client.messages.stream(messages=[GO], **THINKING) as stream:
            seen = [event.type async for event in stream]
            message = await stream.get_final_message()
        dumped = [block.model_dump(exclude_none=True, by_alias=True) for block in message.content]
        after: Any = [
            GO,
            {"role": "assistant", "content": dumped},
            {"role": "user", "content": results(message.content)},
        ]
        events = await client.messages.create(messages=after, stream=True, **THINKING)
        told = [event async for event in events]
    assert {"thinking", "signature", "text", "input_json"} <= set(seen)
    assert message.content[0].signature
    assert message.content[2].input == {"order_id": "A1"}
    assert [event.type for event in told][:2] == ["message_start", "content_block_start"]
    assert told[-2].delta.stop_reason == "end_turn"
    assert emulator.refusals == []


async def test_the_accumulated_message_is_the_one_that_is_not_streamed() -> None:
    searched = {"type": "web_search_call", "action": {"query": "tea"}, "results": [{"url": "https://a.example/"}]}
    cited = {"type": "message", "text": "Tea.", "annotations": [{"type": "url_citation", "url": "https://a.example/"}]}
    turn = {"output": [REASONING, {**REASONING, "redacted": True}, searched, cited, call("toolu_a")]}

    async def ask(*, streamed: bool) -> Any:
        async with sdk(Emulator([turn])) as client:
            if not streamed:
                return await client.messages.create(messages=[GO], **THINKING)
            async with client.messages.stream(messages=[GO], **THINKING) as stream:
                return await stream.get_final_message()

    whole, gathered = await ask(streamed=False), await ask(streamed=True)
    assert gathered.to_dict() == whole.to_dict()
    assert [block.type for block in whole.content][2:4] == ["server_tool_use", "web_search_tool_result"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, anthropic.AuthenticationError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
async def test_errors_have_the_sdks_own_classes(status: int, error: type[anthropic.APIStatusError]) -> None:
    fault = {"kind": "status", "status": status, "retry_after": 2}
    async with sdk(Emulator([{**say("hi"), "fault": fault}])) as client:
        with pytest.raises(error) as caught:
            await client.messages.create(messages=[GO], stream=True, **BASE)
        after = await client.messages.create(messages=[GO], **BASE)
    assert caught.value.status_code == status
    assert caught.value.request_id is not None
    assert caught.value.response.headers["retry-after"] == "2"
    assert after.content[0].text == "hi"


async def test_an_error_event_in_the_middle_of_a_stream() -> None:
    emulator = Emulator([{**say("one two three"), "fault": {"kind": "error_event", "after_events": 4}}])
    seen: list[str] = []
    async with sdk(emulator) as client:
        stream = await client.messages.create(messages=[GO], stream=True, **BASE)
        with pytest.raises(anthropic.APIStatusError) as caught:
            seen += [event.type async for event in stream]
    assert caught.value.type == "overloaded_error"
    assert [entry.ended for entry in emulator.accepted] == ["aborted"]


async def test_a_refused_request() -> None:
    emulator = Emulator([say("hi")])
    async with sdk(emulator) as client:
        with pytest.raises(anthropic.BadRequestError, match="messages: at least one message is required") as caught:
            await client.messages.create(messages=[], **BASE)
    assert caught.value.type == "invalid_request_error"
    assert [(entry.rule, entry.path, entry.error) for entry in emulator.refusals] == [
        (
            "A12",
            "/v1/messages",
            {"type": "invalid_request_error", "message": "messages: at least one message is required"},
        )
    ]


async def test_keys_models_and_counting() -> None:
    emulator = Emulator([say("hi")], api_key="right", models=frozenset({MODEL}))
    async with sdk(emulator) as client:
        with pytest.raises(anthropic.AuthenticationError, match="Invalid bearer token"):
            await client.models.list()
        right = client.with_options(api_key="right")
        assert [model.id async for model in right.models.list()] == [MODEL]
        assert (await right.models.retrieve(MODEL)).display_name == "Claude Sonnet 5"
        for name in ("claude-0", "gpt"):
            with pytest.raises(anthropic.NotFoundError):
                await right.models.retrieve(name)
        with pytest.raises(anthropic.NotFoundError, match="model: claude-0"):
            await right.messages.create(messages=[GO], **{**BASE, "model": "claude-0"})
        counted = await right.messages.count_tokens(model=MODEL, messages=[GO], tools=[TOOL])
        assert counted.input_tokens > 10
        assert (await right.messages.create(messages=[GO], **BASE)).content[0].text == "hi"


async def test_a_client_that_leaves() -> None:
    emulator = Emulator([{**say("one two three"), "fault": {"kind": "hang", "after_events": 4}}])
    async with sdk(emulator) as client:
        stream = await client.messages.create(messages=[GO], stream=True, **BASE)
        await anext(aiter(stream))
        await stream.close()
        with anyio.fail_after(60):
            while emulator.accepted[0].ended is None:
                await anyio.lowlevel.checkpoint()
    assert emulator.accepted[0].ended == "aborted"
