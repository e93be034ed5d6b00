"""The events of the Messages API: their order, their shapes, how turns end, and how a stream goes wrong."""

import random
from typing import Any

import msgspec
import pytest
from anthropic._streaming import SSEDecoder
from hypothesis import given
from hypothesis import strategies as st

from agui_gate_adapters.testkit import Emulator, ScriptError, load_script
from agui_gate_adapters.testkit.anthropic.answer import Answer
from agui_gate_adapters.testkit.delivery import Cut, Hang, deliver
from agui_gate_adapters.testkit.faults import Reply
from tests.testkit.anthropic_driving import (
    THINK,
    TOOL,
    Json,
    assistant,
    call,
    events,
    post,
    reply,
    result,
    say,
    use,
    user,
)

GO = user("go")
GROUP = {
    "output": [
        {"type": "reasoning", "summary": "The order exists."},
        {"type": "reasoning", "summary": "Hidden.", "redacted": True},
        {"type": "message", "text": "I'll refund it."},
        {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1é"}, "call_id": "toolu_a"},
        {"type": "function_call", "name": "ping", "arguments": {}, "call_id": "toolu_b"},
    ]
}


def kinds(told: list[Json]) -> list[str]:
    return [event.get("delta", {}).get("type", event["type"]) for event in told]


def test_the_order_of_events() -> None:
    told = events(Emulator([GROUP]), GO, **THINK, tools=[TOOL])
    block = ["content_block_start", "content_block_stop"]
    assert kinds(told) == [
        "message_start",
        "content_block_start",
        "ping",
        *["thinking_delta"] * 3,
        "signature_delta",
        "content_block_stop",
        *block,
        "content_block_start",
        *["text_delta"] * 3,
        "content_block_stop",
        "content_block_start",
        *["input_json_delta"] * 4,
        "content_block_stop",
        *block,
        "message_delta",
        "message_stop",
    ]
    starts = [event for event in told if event["type"] == "content_block_start"]
    assert [event["index"] for event in starts] == [0, 1, 2, 3, 4]
    assert starts[0]["content_block"] == {"type": "thinking", "thinking": "", "signature": ""}
    assert starts[1]["content_block"].keys() == {"type", "data"}
    assert starts[2]["content_block"] == {"type": "text", "text": "", "citations": None}
    called = {"type": "tool_use", "id": "toolu_a", "name": "refund", "input": {}}
    assert starts[3]["content_block"] == {**called, "caller": {"type": "direct"}}
    pieces = [event["delta"]["partial_json"] for event in told if kinds([event]) == ["input_json_delta"]]
    assert pieces[0] == ""
    assert msgspec.json.decode("".join(pieces)) == {"order_id": "A1é"}


def test_the_ends_of_a_message() -> None:
    told = events(Emulator([{**GROUP, "usage": {"input_tokens": 7, "output_tokens": 9}}]), GO, **THINK, tools=[TOOL])
    usage = {"input_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "server_tool_use": None}
    start = told[0]["message"]
    assert start.items() >= {"type": "message", "role": "assistant", "content": [], "stop_reason": None}.items()
    assert start["usage"].items() >= {**usage, "output_tokens": 1, "service_tier": "standard"}.items()
    assert told[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None, "container": None},
        "usage": {**usage, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
    }
    assert told[-1] == {"type": "message_stop"}


def test_streamed_and_whole_are_the_same_message() -> None:
    whole = reply(Emulator([GROUP]), GO, **THINK, tools=[TOOL])
    told = events(Emulator([GROUP]), GO, **THINK, tools=[TOOL])
    assert whole["content"][3]["input"] == {"order_id": "A1é"}
    start, end = told[0]["message"], told[-2]
    assert {**start, **end["delta"], "usage": start["usage"] | end["usage"]} == {**whole, "content": []}


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ({}, "end_turn"),
        ({"output": [call()]}, "tool_use"),
        ({"output": [{"type": "refusal", "text": "No."}]}, "refusal"),
        ({"status": "incomplete"}, "max_tokens"),
        ({"status": "incomplete", "reason": "content_filter"}, "refusal"),
        ({"status": "incomplete", "reason": "refusal"}, "refusal"),
        ({"status": "incomplete", "reason": "pause_turn"}, "pause_turn"),
        ({"status": "incomplete", "reason": "model_context_window_exceeded"}, "model_context_window_exceeded"),
        ({"status": "incomplete", "reason": "stop_sequence"}, "stop_sequence"),
    ],
)
def test_stop_reasons(turn: Json, reason: str) -> None:
    emulator = Emulator([{**say("hi"), **turn, "repeat": True}])
    told = events(emulator, GO, stop_sequences=["END"])[-2]["delta"]
    whole = reply(emulator, GO, stop_sequences=["END"])
    assert told["stop_reason"] == whole["stop_reason"] == reason
    assert told["stop_sequence"] == ("END" if reason == "stop_sequence" else None)
    assert (told["stop_details"] is not None) is (reason == "refusal")
    assert {entry.ended for entry in emulator.accepted} == {turn.get("status", "completed")}


def test_an_unknown_reason_is_no_script() -> None:
    with pytest.raises(ScriptError):
        load_script([{"status": "incomplete", "reason": "tired"}])


def test_arguments_that_were_cut_off() -> None:
    cut = {"type": "function_call", "name": "refund", "arguments": '{"order_id": "A', "deltas": ['{"order', '_id": "A']}
    told = events(Emulator([{"output": [cut], "status": "incomplete"}]), GO)
    assert [event["delta"]["partial_json"] for event in told if kinds([event]) == ["input_json_delta"]] == cut["deltas"]
    assert reply(Emulator([{"output": [cut]}]), GO)["content"][0]["input"] == {}


def test_citations_and_hosted_tools() -> None:
    native = {"type": "char_location", "cited_text": "x", "document_index": 0}
    url = {"type": "url_citation", "url": "https://a.example/", "title": "A", "start_index": 0, "end_index": 3}
    output = [
        {
            "type": "web_search_call",
            "action": {"query": "tea"},
            "results": [{"url": "https://a.example/", "title": "A"}],
        },
        {"type": "web_search_call", "error": "max_uses_exceeded"},
        {"type": "code_interpreter_call", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1\n"}]},
        {"type": "mcp_call", "server_label": "x", "name": "y", "arguments": "{}"},
        {"type": "message", "text": "Tea is hot.", "annotations": [url, native]},
    ]
    told = events(Emulator([{"output": output}]), GO)
    starts = [event["content_block"] for event in told if event["type"] == "content_block_start"]
    assert [block["type"] for block in starts] == [
        *["server_tool_use", "web_search_tool_result"] * 2,
        "server_tool_use",
        "code_execution_tool_result",
        "text",
    ]
    assert starts[0]["id"].startswith("srvtoolu_")
    assert starts[1]["tool_use_id"] == starts[0]["id"]
    assert starts[1]["content"][0].items() >= {"type": "web_search_result", "url": "https://a.example/"}.items()
    assert starts[3]["content"] == {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    assert starts[5]["content"]["stdout"] == "1\n"
    cited = [event["delta"]["citation"] for event in told if kinds([event]) == ["citations_delta"]]
    assert cited[0].items() >= {"type": "web_search_result_location", "cited_text": "Tea", "title": "A"}.items()
    assert cited[1] == native


def test_injected_events() -> None:
    ping = {"type": "event", "event": {"type": "ping"}}
    strange = {"type": "event", "event": {"type": "brand_new", "index": 7}}
    told = events(Emulator([{"output": [ping, {"type": "message", "text": "hi"}, strange]}]), GO)
    assert [event["type"] for event in told][1:4] == ["ping", "content_block_start", "ping"]
    assert told[-3] == {"type": "brand_new", "index": 7}


# -- scripts and the brain see the same request ------------------------------------------------------------------


def test_conditions_of_turns() -> None:
    emulator = Emulator(
        [
            {**say("b"), "when": {"has_output_for": "refund"}},
            {**say("c"), "when": {"has_tool": "other"}},
            {**say("a"), "when": {"user": "GO on", "model": "claude-sonnet-5"}},
        ]
    )
    loop = [assistant("Well.", use("toolu_a")), user(result("toolu_a", [{"type": "text", "text": "done"}]), "thanks")]
    assert reply(emulator, user("please go on"), tools=[TOOL])["content"][0]["text"] == "a"
    assert reply(emulator, GO, *loop, tools=[TOOL])["content"][0]["text"] == "b"
    assert reply(emulator, GO, tools=[{**TOOL, "name": "other"}])["content"][0]["text"] == "c"
    assert [item["type"] for item in emulator.accepted[1].items] == [
        "message",
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]


def test_the_demo_brain_speaks_this_api() -> None:
    refund = {
        "name": "refund",
        "description": "Refund an order.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
            "required": ["order_id", "amount"],
        },
    }
    emulator = Emulator()
    ask = user("Refund order A1, 20 euros")
    first = reply(emulator, ask, tools=[refund], **THINK)
    *_, calls = first["content"]
    assert first["content"][0]["type"] == "thinking"
    assert calls["input"] == {"order_id": "A1", "amount": 20}
    outcome = user(result(calls["id"], '{"refunded": true}'))
    second = reply(emulator, ask, assistant(*first["content"]), outcome, tools=[refund], **THINK)
    assert second["stop_reason"] == "end_turn"
    assert reply(emulator, ask, tools=[refund], tool_choice={"type": "none"})["stop_reason"] == "end_turn"
    forced = {"type": "tool", "name": "refund"}
    assert reply(emulator, user("hello"), tools=[refund], tool_choice=forced)["stop_reason"] == "tool_use"


def test_counting_tokens() -> None:
    emulator = Emulator([say("hi")])
    counted = emulator.messages.count(msgspec.json.encode({"model": "m", "messages": [user("x" * 400)]}), {})
    assert 100 < msgspec.json.decode(counted.body)["input_tokens"] < 120
    refused = emulator.messages.count(b'{"model": "m", "messages": [], "max_tokens": 1}', {})
    assert (refused.status, emulator.remaining_turns) == (400, 1)


# -- going wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (418, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ],
)
def test_statuses(status: int, kind: str) -> None:
    emulator = Emulator([{**say("after"), "fault": {"kind": "status", "status": status, "retry_after": 3}}])
    answer = post(emulator, GO, stream=True)
    assert isinstance(answer, Reply)
    assert (answer.status, dict(answer.headers)["Retry-After"]) == (status, "3")
    assert msgspec.json.decode(answer.body)["error"]["type"] == kind
    assert reply(emulator, GO)["content"][0]["text"] == "after"


def failing(fault: Json, **turn: Any) -> list[Json]:
    return events(Emulator([{**say("one two three"), "fault": fault, **turn}]), GO)


def test_an_error_event_after_a_200() -> None:
    told = failing({"kind": "error_event", "after_events": 4})
    assert kinds(told) == ["message_start", "content_block_start", "ping", "text_delta", "error"]
    assert told[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    named = failing({"kind": "error_event", "code": "api_error", "message": "Oops"})[-1]
    assert named["error"] == {"type": "api_error", "message": "Oops"}
    patient = failing({"kind": "error_event", "after_events": 99})
    assert patient[-1]["type"] == "message_stop"


def test_failed_turns() -> None:
    told = failing({"kind": "slow"}, status="failed", error={"code": "server_error", "message": "Oops"})
    assert told[-1] == {"type": "error", "error": {"type": "api_error", "message": "Oops"}}
    assert "message_delta" not in kinds(told)
    answer = post(Emulator([{**say("x"), "status": "failed"}]), GO)
    assert isinstance(answer, Reply)
    assert answer.status == 500
    overloaded = post(Emulator([{**say("x"), "fault": {"kind": "error_event"}}]), GO)
    assert isinstance(overloaded, Reply)
    assert overloaded.status == 529


@pytest.mark.parametrize(("fault", "last"), [({"kind": "cut"}, Cut(False)), ({"kind": "hang"}, Hang())])
def test_a_broken_stream_remembers_nothing(fault: Json, last: object) -> None:
    emulator = Emulator([{**say("one two three"), "fault": fault}])
    answer = post(emulator, GO, stream=True)
    assert isinstance(answer, Answer)
    steps = list(deliver(answer, "event", 0, random.Random(0)))
    assert (len(steps), steps[-1]) == (3, last)
    answer.close()
    assert [entry.ended for entry in emulator.accepted] == ["aborted"]


# -- chunk boundaries --------------------------------------------------------------------------------------------


@given(st.one_of(st.integers(1, 200), st.sampled_from(["event", "whole", "random"])), st.integers(0, 2**16))
def test_any_chunking_gives_the_same_events(chunk: Any, seed: int) -> None:
    emulator = Emulator([GROUP])
    answer = post(emulator, GO, stream=True, **THINK, tools=[TOOL])
    assert isinstance(answer, Answer)
    chunks = [step for step in deliver(answer, chunk, 0, random.Random(seed)) if isinstance(step, bytes)]
    decoded = list(SSEDecoder().iter_bytes(iter(chunks)))
    assert [sse.event for sse in decoded] == [sse.json()["type"] for sse in decoded]
    assert [sse.json() for sse in decoded] == events(Emulator([GROUP]), GO, **THINK, tools=[TOOL])
