"""How the emulated Chat Completions API answers: the chunks in order, the whole reply, and any cut of the body."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from agui_gate_adapters.testkit import Clock, Emulator
from agui_gate_adapters.testkit.chat.answer import ChatAnswer
from agui_gate_adapters.testkit.delivery import Pause, deliver
from tests.support.chance import examples
from tests.testkit.chatting import HELLO, MODEL, TOOL, deltas, payloads, post, reply, result, said, streamed

SPOKEN: dict[str, Any] = {
    "output": [
        {"type": "reasoning", "summary": ["Refund, then tell."]},
        {"type": "message", "text": "On it ✓."},
        {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1"}, "call_id": "call_a"},
        {"type": "function_call", "name": "tell", "call_id": "call_b"},
    ]
}
ARGUMENTS = '{"order_id":"A1"}'


def test_chunks_in_their_order() -> None:
    emulator = Emulator([SPOKEN], clock=Clock(lambda: 1000.0))
    *chunks, usage, done = payloads(streamed(emulator, tools=[TOOL], stream_options={"include_usage": True}))
    told = deltas(chunks)
    assert done == "[DONE]"
    assert told[:3] == [{"role": "assistant", "content": ""}, {"content": "On "}, {"content": "it "}]
    head, *pieces = [delta["tool_calls"][0] for delta in told if "tool_calls" in delta and not told.index(delta) > 7]
    assert head == {
        "index": 0,
        "id": "call_a",
        "type": "function",
        "function": {"name": "refund", "arguments": ""},
    }
    assert "".join(piece["function"]["arguments"] for piece in pieces) == ARGUMENTS
    assert all(piece.keys() == {"index", "function"} for piece in pieces)
    assert told[-3]["tool_calls"][0] | {"function": {}} == {
        "index": 1,
        "id": "call_b",
        "type": "function",
        "function": {},
    }
    assert chunks[-1]["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "tool_calls"}]
    assert all(chunk["choices"][0]["finish_reason"] is None for chunk in chunks[:-1])
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == usage["usage"]["prompt_tokens"] + usage["usage"]["completion_tokens"]
    heads = {(chunk["id"], chunk["object"], chunk["created"], chunk["model"]) for chunk in [*chunks, usage]}
    assert heads == {(emulator.accepted[0].response_id, "chat.completion.chunk", 1000, MODEL)}
    assert emulator.accepted[0].ended == "completed"


@pytest.mark.parametrize("profile", ["openai", "azure", "vllm", "deepseek", "kimi", "llama_cpp", "dashscope"])
def test_everything_is_of_the_sdks_types(profile: Any) -> None:
    emulator = Emulator([{**SPOKEN, "repeat": True}], chat=profile)
    for event in payloads(streamed(emulator, stream_options={"include_usage": True}))[profile == "azure" : -1]:
        ChatCompletionChunk.model_validate(event, strict=True)
    ChatCompletion.model_validate(reply(emulator), strict=True)


def test_without_asking_there_is_no_usage() -> None:
    emulator = Emulator([SPOKEN])
    assert not any("usage" in chunk for chunk in payloads(streamed(emulator)) if chunk != "[DONE]")


def test_the_whole_reply() -> None:
    told = reply(Emulator([SPOKEN]))
    (choice,) = told["choices"]
    assert (told["object"], choice["finish_reason"]) == ("chat.completion", "tool_calls")
    assert choice["message"]["content"] == "On it ✓."
    assert [call["function"] for call in choice["message"]["tool_calls"]] == [
        {"name": "refund", "arguments": ARGUMENTS},
        {"name": "tell", "arguments": "{}"},
    ]
    assert told["usage"]["completion_tokens_details"]["reasoning_tokens"] == 16


def test_refusals_and_parts() -> None:
    parts = [{"text": "I see. "}, {"refusal": "But no."}]
    turn = {"output": [{"type": "message", "content": parts}, {"type": "refusal", "text": " Never."}]}
    message = reply(Emulator([turn]))["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == ("I see. ", "But no. Never.")
    told = deltas(payloads(streamed(Emulator([turn]))))
    assert "".join(delta.get("refusal") or "" for delta in told) == "But no. Never."


def test_why_an_answer_stopped() -> None:
    said_so: list[dict[str, Any]] = [{"type": "message", "text": "Half a"}]
    for turn, reason in (
        ({"output": said_so}, "stop"),
        ({"output": said_so, "status": "incomplete"}, "length"),
        ({"output": said_so, "status": "incomplete", "reason": "content_filter"}, "content_filter"),
    ):
        assert reply(Emulator([turn]))["choices"][0]["finish_reason"] == reason
        assert payloads(streamed(Emulator([turn])))[-2]["choices"][0]["finish_reason"] == reason


def test_scripts_force_pieces_ids_usage_and_events() -> None:
    usage = {"input_tokens": 7, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 3}}
    turn = {
        "output": [
            {"type": "message", "deltas": ["a", "", "b"]},
            {"type": "event", "event": {"object": "surprise", "choices": []}},
            {"type": "function_call", "name": "f", "call_id": None, "arguments": "{", "deltas": ["{", "oops"]},
            {"type": "web_search_call", "status": "completed"},
        ],
        "usage": usage,
    }
    events = payloads(streamed(Emulator([turn]), stream_options={"include_usage": True}))
    assert [delta["content"] for delta in deltas(events)[:4]] == ["", "a", "", "b"]
    assert {"object": "surprise", "choices": []} in events
    head, *pieces = [delta["tool_calls"][0] for delta in deltas(events) if "tool_calls" in delta]
    assert head["id"] is None
    assert [piece["function"]["arguments"] for piece in pieces] == ["{", "oops"]
    told = events[-2]["usage"]
    assert (told["prompt_tokens"], told["completion_tokens"], told["total_tokens"]) == (7, 5, 12)
    assert told["prompt_tokens_details"]["cached_tokens"] == 3
    in_chat = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert reply(Emulator([{"output": [], "usage": in_chat}]))["usage"] == in_chat


@examples(40)
@given(st.sampled_from(["event", "whole", "random"]) | st.integers(1, 200), st.integers(0, 2**16))
def test_any_cut_of_the_body_is_the_same_body(chunk: Any, seed: int) -> None:
    expected = streamed(Emulator([SPOKEN]))
    emulator = Emulator([SPOKEN], chunk=chunk, seed=seed)
    got = payloads(streamed(emulator))
    assert [_anonymous(event) for event in got] == [_anonymous(event) for event in payloads(expected)]


def _anonymous(event: Any) -> Any:
    return event if event == "[DONE]" else {key: event[key] for key in event if key not in ("id", "created")}


def test_only_deltas_are_paced() -> None:
    emulator = Emulator([{"output": [{"type": "message", "text": "one two"}]}])
    answer = post(emulator, stream=True)
    assert isinstance(answer, ChatAnswer)
    steps = list(deliver(answer, "event", 0.5, emulator.rng))
    assert [type(step) for step in steps] == [bytes, Pause, bytes, Pause, bytes, bytes, bytes]


def test_an_answer_that_is_left_is_aborted() -> None:
    emulator = Emulator([SPOKEN])
    answer = post(emulator, stream=True)
    assert isinstance(answer, ChatAnswer)
    next(answer.frames())
    answer.close()
    answer.close()
    assert emulator.accepted[0].ended == "aborted"


def test_there_is_nothing_to_forget() -> None:
    """Chat has no state, so that the fault changes nothing."""
    emulator = Emulator([{"output": [{"type": "message", "text": "Hi."}], "fault": {"kind": "forget"}}])
    assert reply(emulator)["choices"][0]["message"]["content"] == "Hi."
    assert emulator.remaining_turns == 0


def test_turns_are_matched_as_in_the_other_apis() -> None:
    def turn(text: str, **when: str) -> dict[str, Any]:
        return {"when": when, "output": [{"type": "message", "text": text}]}

    emulator = Emulator(
        [turn("tool", has_tool="refund"), turn("done", has_output_for="refund"), turn("order", user="ORDER")]
    )
    order = {"role": "user", "content": [{"type": "text", "text": "My order, please."}]}
    repeated = [said("call_a"), result("call_a"), HELLO, said("call_a"), result("call_a")]
    assert reply(emulator, order)["choices"][0]["message"]["content"] == "order"
    assert reply(emulator, *repeated)["choices"][0]["message"]["content"] == "done"
    assert reply(emulator, tools=[TOOL])["choices"][0]["message"]["content"] == "tool"
    assert emulator.remaining_turns == 0


def test_one_script_for_all_apis() -> None:
    emulator = Emulator([SPOKEN, {"output": [{"type": "message", "text": "Second."}]}])
    assert reply(emulator)["choices"][0]["finish_reason"] == "tool_calls"
    exchange = emulator.create(b'{"model": "m", "input": "hello"}')
    assert exchange.finish()["output"][0]["content"][0]["text"] == "Second."  # type: ignore[union-attr]  # accepted
    assert [entry.path for entry in emulator.journal.entries] == ["/v1/chat/completions", "/v1/responses"]


def test_the_brain_speaks_chat() -> None:
    emulator = Emulator()
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    tools = [{"type": "function", "function": {"name": "refund_order", "parameters": schema}}]
    ask = {"role": "user", "content": "Please refund order A1"}
    first = reply(emulator, ask, tools=tools)["choices"][0]["message"]
    (call,) = first["tool_calls"]
    assert call["function"] == {"name": "refund_order", "arguments": '{"order_id":"A1"}'}
    answered = [ask, first, result(call["id"], "refunded")]
    second = reply(emulator, *answered, tools=tools)["choices"][0]["message"]
    assert "refunded" in second["content"]
    assert "tool_calls" not in second
    assert emulator.refusals == []
