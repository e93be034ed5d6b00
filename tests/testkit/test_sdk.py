"""The OpenAI SDK itself drives the emulator over a real socket."""

from typing import Any

import anyio
import openai
import pytest

from agui_gate_adapters.testkit import Emulator
from tests.testkit.driving import MODEL, TOOL, call, output, say, sdk, user

pytestmark = pytest.mark.anyio

GROUP = {"output": [{"type": "reasoning", "summary": ["Thinking."]}, call(call_id="call_a", order_id="A1")]}
ENCRYPTED: Any = {"store": False, "include": ["reasoning.encrypted_content"]}


async def test_create_streams_typed_events_and_chains() -> None:
    emulator = Emulator([GROUP, say("Refunded, all done.")])
    async with sdk(emulator) as client:
        stream = await client.responses.create(model=MODEL, input="go", tools=[TOOL], stream=True)
        events = [event async for event in stream]
        first = events[-1].response
        second = await client.responses.create(model=MODEL, previous_response_id=first.id, input=[output("call_a")])
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    assert first.output[1].arguments == '{"order_id":"A1"}'
    assert second.output_text == "Refunded, all done."
    assert second.previous_response_id == first.id
    assert second.usage.total_tokens == second.usage.input_tokens + second.usage.output_tokens
    assert emulator.refusals == []


async def test_the_accumulating_stream() -> None:
    emulator = Emulator([say("Hello there, friend.")])
    async with sdk(emulator) as client, client.responses.stream(model=MODEL, input="hi") as stream:
        deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    assert deltas == ["Hello ", "there, ", "friend."]
    assert final.output_text == "Hello there, friend."


async def test_stateless_with_encrypted_reasoning() -> None:
    emulator = Emulator([GROUP, say("done")])
    async with sdk(emulator) as client:
        first = await client.responses.create(model=MODEL, input=[user("go")], **ENCRYPTED)
        replay = [item.model_dump(exclude_none=True) for item in first.output]
        second = await client.responses.create(model=MODEL, input=[user("go"), *replay, output("call_a")], **ENCRYPTED)
    assert first.output[0].encrypted_content
    assert second.output_text == "done"
    assert emulator.refusals == []


async def test_encrypted_content_only_on_request() -> None:
    async with sdk(Emulator([GROUP])) as client:
        first = await client.responses.create(model=MODEL, input="go", store=False)
    assert first.output[0].encrypted_content is None


async def test_a_dumped_item_with_nulls_is_refused() -> None:
    emulator = Emulator([GROUP])
    async with sdk(emulator) as client:
        first = await client.responses.create(model=MODEL, input="go", **ENCRYPTED)
        replay = [item.model_dump() for item in first.output]
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model=MODEL, input=[*replay, output("call_a")], **ENCRYPTED)
    assert caught.value.code == "unknown_parameter"
    assert [entry.rule for entry in emulator.refusals] == ["R13"]


async def test_conversation_life() -> None:
    emulator = Emulator([GROUP, say("one"), say("two")])
    async with sdk(emulator) as client:
        conversation = await client.conversations.create(items=[user("earlier")], metadata={"a": "b"})
        await client.responses.create(model=MODEL, input="go", conversation=conversation.id)
        with pytest.raises(openai.BadRequestError, match="No tool output found for function call call_a"):
            await client.responses.create(model=MODEL, input="and?", conversation=conversation.id)
        await client.conversations.items.create(conversation.id, items=[output("call_a")])
        answer = await client.responses.create(model=MODEL, input="and?", conversation=conversation.id)
        listed = await client.conversations.items.list(conversation.id, order="asc", limit=3)
        kinds = [item.type async for item in listed]
        fetched = await client.conversations.items.retrieve(listed.data[0].id, conversation_id=conversation.id)
        updated = await client.conversations.update(conversation.id, metadata={"c": "d"})
        deleted = await client.conversations.delete(conversation.id)
        with pytest.raises(openai.NotFoundError, match=f"Conversation with id '{conversation.id}' not found."):
            await client.responses.create(model=MODEL, input="x", conversation=conversation.id)
    assert answer.conversation.id == conversation.id
    assert kinds == ["message", "message", "reasoning", "function_call", "function_call_output", "message", "message"]
    assert fetched.content[0].text == "earlier"
    assert updated.metadata == {"c": "d"}
    assert deleted.deleted


async def test_deleting_a_pending_call_frees_the_conversation() -> None:
    async with sdk(Emulator([GROUP, say("free")])) as client:
        conversation = await client.conversations.create()
        first = await client.responses.create(model=MODEL, input="go", conversation=conversation.id)
        await client.conversations.items.delete(first.output[1].id, conversation_id=conversation.id)
        again = await client.responses.create(model=MODEL, input="x", conversation=conversation.id)
    assert again.output_text == "free"


async def test_retrieve_input_items_and_delete() -> None:
    async with sdk(Emulator([say("hi")])) as client:
        made = await client.responses.create(model=MODEL, input="hello")
        assert (await client.responses.retrieve(made.id)).output_text == "hi"
        items = await client.responses.input_items.list(made.id)
        assert items.data[0].content[0].text == "hello"
        await client.responses.delete(made.id)
        with pytest.raises(openai.NotFoundError, match=f"Response with id '{made.id}' not found."):
            await client.responses.retrieve(made.id)


async def test_r24_only_background_responses_can_be_cancelled() -> None:
    async with sdk(Emulator([say("hi")])) as client:
        made = await client.responses.create(model=MODEL, input="hello")
        with pytest.raises(openai.BadRequestError, match="Responses can only be cancelled if they were created with"):
            await client.responses.cancel(made.id)


async def test_background_is_polled_cancelled_and_streamed_again() -> None:
    emulator = Emulator([say("one two three"), say("never"), say("again and again")])
    async with sdk(emulator) as client:
        made = await client.responses.create(model=MODEL, input="x", background=True)
        states = [made.status, *[(await client.responses.retrieve(made.id)).status for _ in range(2)]]
        other = await client.responses.create(model=MODEL, input="x", background=True)
        cancelled = await client.responses.cancel(other.id)
        stream = await client.responses.create(model=MODEL, input="x", background=True, stream=True)
        response_id = ""
        async for event in stream:
            if event.type == "response.created":
                response_id = event.response.id
                break
        await stream.close()
        again = await client.responses.retrieve(response_id, stream=True, starting_after=2)
        numbers = [event.sequence_number async for event in again]
    assert states == ["queued", "in_progress", "completed"]
    assert cancelled.status == "cancelled"
    assert numbers == list(range(3, 3 + len(numbers)))
    assert [entry.ended for entry in emulator.accepted] == ["completed", "cancelled", "completed"]


async def test_an_abandoned_stream_stores_nothing_and_frees_the_conversation() -> None:
    endless = {"kind": "hang", "after_events": 5}
    emulator = Emulator([say("one two three", fault=endless), say("after")])
    async with sdk(emulator) as client:
        conversation = await client.conversations.create()
        stream = await client.responses.create(model=MODEL, input="x", conversation=conversation.id, stream=True)
        first = await anext(aiter(stream))
        with pytest.raises(openai.BadRequestError) as locked:
            await client.responses.create(model=MODEL, input="y", conversation=conversation.id)
        await stream.close()
        entry = emulator.accepted[0]
        with anyio.fail_after(60):
            while entry.ended is None:
                await anyio.lowlevel.checkpoint()
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(first.response.id)
        with pytest.raises(openai.BadRequestError) as unknown:
            await client.responses.create(model=MODEL, input="y", previous_response_id=first.response.id)
        items = await client.conversations.items.list(conversation.id)
        after = await client.responses.create(model=MODEL, input="z", conversation=conversation.id)
    assert locked.value.code == "conversation_locked"
    assert entry.ended == "aborted"
    assert unknown.value.code == "previous_response_not_found"
    assert items.data == []
    assert after.output_text == "one two three"  # The turn that was spoiled is played whole to the next request.


async def test_keys_and_models() -> None:
    emulator = Emulator([say("hi")], api_key="right", models=frozenset({MODEL}))
    async with sdk(emulator) as client:
        with pytest.raises(openai.AuthenticationError):
            await client.responses.create(model=MODEL, input="x")
        right = client.with_options(api_key="right")
        with pytest.raises(openai.BadRequestError) as unknown:
            await right.responses.create(model="gpt-0", input="x")
        assert [model.id async for model in right.models.list()] == [MODEL]
    assert unknown.value.code == "model_not_found"
    assert [entry.rule for entry in emulator.refusals] == ["auth", "model"]
