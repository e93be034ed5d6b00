"""The provider's events become model events: every shape that matters here, and any nonsense."""

from typing import Any

import msgspec
import pytest

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallResult,
    CallStart,
    ModelEvent,
    Notice,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    TurnDone,
    Usage,
)
from agui_gate.errors import ContextLength, ProviderAuth, ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate_adapters.anthropic_messages.machine import MessageMachine
from tests.adapters.support import Json
from tests.conforming import conforms

from .support import RESULT, block, ended, searched, started, text, thinking, tool_use

USAGE = Usage("anthropic", "claude-x", 10, 5, 15)


def read(*events: Json, machine: MessageMachine | None = None) -> list[ModelEvent]:
    payloads = [msgspec.json.encode(event) for event in events]
    fed = machine or MessageMachine("m")
    out = [event for payload in payloads for event in fed.feed([payload])]
    assert fed.failure is None
    if machine is None:
        assert MessageMachine("m").feed(payloads) == out, "batching must not matter"
    return out


def message(*blocks: list[Json], reason: str | None = "end_turn", **usage: int) -> list[ModelEvent]:
    return read(started(), *(event for one in blocks for event in one), *ended(reason, **usage))


# --- text ---------------------------------------------------------------------------------------------------------


def test_text() -> None:
    assert message(text(0, "Hel", "", "lo")) == [
        TextStart("block-0"),
        TextDelta("block-0", "Hel"),
        TextDelta("block-0", "lo"),
        TextEnd("block-0", {"index": 0}),
        TurnDone(usage=USAGE),
    ]


def test_empty_text_is_no_block() -> None:
    """It could not be sent back (A11), so it leaves no gap either."""
    events = message(text(0), text(1, "Hi"))
    assert events[0] == TextStart("block-1")
    assert TextEnd("block-1", {"index": 0}) in events


def test_text_that_comes_with_the_start() -> None:
    events = message(block(0, {"type": "text", "text": "Hi"}))
    assert events[:3] == [TextStart("block-0"), TextDelta("block-0", "Hi"), TextEnd("block-0", {"index": 0})]


def test_citations_are_noticed_and_kept() -> None:
    citation = {"type": "page_location", "cited_text": "x"}
    words: Json = {"type": "text_delta", "text": "As said."}
    events = message(block(0, {"type": "text", "text": ""}, words, {"type": "citations_delta", "citation": citation}))
    assert Notice("anthropic.citation", {"key": "block-0", "citation": citation}) in events
    assert TextEnd("block-0", {"index": 0, "citations": [citation]}) in events


# --- thinking -----------------------------------------------------------------------------------------------------


def test_thinking_is_shown_and_its_signature_kept() -> None:
    assert message(thinking(0, "Hm", "m"), text(1, "Hi"))[:4] == [
        ReasoningStart("block-0"),
        ReasoningDelta("block-0", "Hm"),
        ReasoningDelta("block-0", "m"),
        ReasoningEnd("block-0", "sig", {"index": 0}),
    ]


def test_thinking_without_its_text() -> None:
    assert message(thinking(0))[:2] == [ReasoningStart("block-0"), ReasoningEnd("block-0", "sig", {"index": 0})]


def test_redacted_thinking_survives() -> None:
    end = ReasoningEnd("block-0", "sealed", {"index": 0, "redacted": True})
    assert message(block(0, {"type": "redacted_thinking", "data": "sealed"}))[:2] == [ReasoningStart("block-0"), end]


def test_thinking_that_was_cut_has_no_seal() -> None:
    events = message(thinking(0, "Hm", signature=""), reason="max_tokens")
    assert ReasoningEnd("block-0", None, {"index": 0}) in events


# --- calls --------------------------------------------------------------------------------------------------------


def calls(events: list[ModelEvent]) -> dict[str, str]:
    return {event.key: event.arguments for event in events if isinstance(event, CallEnd)}


def test_a_call() -> None:
    events = message(tool_use(0, "", '{"city":', '"Paris"}'), reason="tool_use")
    assert events[:4] == [
        CallStart("block-0", "toolu_1", "weather"),
        CallDelta("block-0", '{"city":'),
        CallDelta("block-0", '"Paris"}'),
        CallEnd("block-0", '{"city":"Paris"}', {"index": 0, "blocks": 1}),
    ]


@pytest.mark.parametrize(("given", "arguments"), [({}, "{}"), ({"city": "Rome"}, '{"city":"Rome"}')])
def test_a_call_without_deltas(given: Json, arguments: str) -> None:
    events = message(tool_use(0, given=given), reason="tool_use")
    assert calls(events) == {"block-0": arguments}
    assert CallDelta("block-0", arguments) in events


@pytest.mark.parametrize(
    ("reason", "runnable"),
    [
        ("tool_use", {"block-0", "block-1"}),
        ("end_turn", {"block-0", "block-1"}),
        ("brand_new", {"block-0", "block-1"}),
        ("pause_turn", {"block-0", "block-1"}),
        ("max_tokens", {"block-0"}),
        ("model_context_window_exceeded", {"block-0"}),
        ("refusal", set()),
        (None, set()),
    ],
)
def test_b25_which_calls_may_run(reason: str | None, runnable: set[str]) -> None:
    """B25: the block that a limit cut is stopped like any other, and without deltas it even looks whole."""
    events = message(tool_use(0, '{"a":1}'), tool_use(1, call_id="toolu_2"), reason=reason)
    assert set(calls(events)) == runnable


def test_b25_a_call_before_cut_text_may_run() -> None:
    assert calls(message(tool_use(0, "{}"), text(1, "And"), reason="max_tokens")) == {"block-0": "{}"}


@pytest.mark.parametrize("piece", ['{"city":', "[1]", "null", '"x"'])
def test_b25_arguments_that_are_no_object(piece: str) -> None:
    assert calls(message(tool_use(0, piece), reason="tool_use")) == {}


def test_b25_a_call_whose_block_never_stopped() -> None:
    assert calls(message(tool_use(0, "{}", stop=False), reason="tool_use")) == {}


# --- server tools -------------------------------------------------------------------------------------------------


def test_a_server_tool_is_a_finished_call() -> None:
    body = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    assert message(searched('{"query":"x"}'), text(2, "Hi"))[:5] == [
        CallStart("block-0", "srvtoolu_1", "web_search", hosted=True),
        CallDelta("block-0", '{"query":"x"}'),
        CallEnd("block-0", '{"query":"x"}', {"index": 0, "block": body}),
        CallResult("block-0", "A: https://a.example", private={"result": RESULT, "result_index": 1}),
        TextStart("block-2"),
    ]


@pytest.mark.parametrize(
    ("content", "said", "is_error"),
    [
        ({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}, "max_uses_exceeded", True),
        ({"type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0}, "1", False),
        ([{"type": "text", "text": "a"}, "b", None], "a\nb", False),
        ({"type": "x", "n": 1, "encrypted_content": "secret"}, '{"n":1}', False),
        ([], "", False),
    ],
)
def test_what_a_server_tool_s_result_says(content: Any, said: str, is_error: bool) -> None:
    events = message(searched("{}", result={**RESULT, "content": content}))
    (result,) = [event for event in events if isinstance(event, CallResult)]
    assert (result.content, result.is_error) == (said, is_error)


def test_a_result_before_its_call_stopped_and_one_of_no_call() -> None:
    use = tool_use(0, "{}", call_id="srvtoolu_1", kind="server_tool_use", stop=False)
    events = message(use, block(1, RESULT), block(2, {**RESULT, "tool_use_id": "srvtoolu_9"}))
    assert [type(event) for event in events[2:5]] == [CallEnd, CallResult, Notice]


def test_names_of_server_tools_are_names() -> None:
    events = message(tool_use(0, kind="mcp_tool_use", name="a.b/c"))
    assert events[0] == CallStart("block-0", "toolu_1", "a_b_c", hosted=True)


# --- the end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "model_context_window_exceeded", "pause_turn"])
def test_an_incomplete_turn(reason: str) -> None:
    done = message(text(0, "Well"), reason=reason)[-1]
    assert done == TurnDone("incomplete", reason, USAGE)


def test_usage_counts_what_was_cached_as_input() -> None:
    end = ended(output_tokens=7, output_tokens_details={"thinking_tokens": 3})  # type: ignore[arg-type]
    events = read(started(cache_read_input_tokens=100, cache_creation_input_tokens=20), *end)
    assert events == [TurnDone(usage=Usage("anthropic", "claude-x", 130, 7, 137, 100, 3, 20))]


def test_later_counts_win_and_null_says_nothing() -> None:
    counts: Any = {"input_tokens": 12, "cache_read_input_tokens": None}
    (done,) = read(started(cache_read_input_tokens=3), *ended(**counts))
    assert isinstance(done, TurnDone)
    assert done.usage == Usage("anthropic", "claude-x", 15, 5, 20, 3)


@conforms("USE-1", "USE-3")
@pytest.mark.parametrize(
    ("said", "usage"),
    [
        ({}, Usage("anthropic", "claude-x", 10, 5)),
        ({"input_tokens": 0, "output_tokens": 0}, Usage("anthropic", "claude-x", 0, 0)),
        ({"cache_read_input_tokens": 0}, Usage("anthropic", "claude-x", 10, 5, None, 0)),
        ({"cache_creation_input_tokens": 7}, Usage("anthropic", "claude-x", 17, 5, cache_write_input_tokens=7)),
        ({"output_tokens_details": {"thinking_tokens": 0}}, Usage("anthropic", "claude-x", 10, 5, None, None, 0)),
        ({"output_tokens_details": None, "cache_read_input_tokens": "3"}, Usage("anthropic", "claude-x", 10, 5)),
        ({"output_tokens_details": {"thinking_tokens": -3}}, Usage("anthropic", "claude-x", 10, 5)),
        ({"output_tokens": "5", "input_tokens": -1}, Usage("anthropic", "claude-x", 10, 1)),  # those of the start
        ({"output_tokens": 5.5, "input_tokens": 2**60}, Usage("anthropic", "claude-x", 10, 1)),
        ({"output_tokens": 10**30}, Usage("anthropic", "claude-x", 10, 1)),
    ],
)
def test_odd_counts(said: Any, usage: Usage) -> None:
    (done,) = read(started(), *ended(**said))
    assert isinstance(done, TurnDone)
    assert done.usage == usage


@pytest.mark.parametrize(("cut", "finished"), [(1, True), (2, False), (3, False)])
def test_a_body_that_ends_early(cut: int, finished: bool) -> None:
    """Without `message_stop` it is complete if it said why it ended."""
    machine = MessageMachine("m")
    events = [started(), *text(0, "Hi"), *ended()]
    read(*events[:-cut], machine=machine)
    assert not machine.done
    assert [type(event) for event in machine.end()] == ([TurnDone] if finished else [])
    assert machine.done == finished


def test_what_was_left_open_ends() -> None:
    events = message(text(0, "a", stop=False), thinking(1, "b", stop=False))
    assert events[-3:-1] == [TextEnd("block-0"), ReasoningEnd("block-1")]


# --- a pause ------------------------------------------------------------------------------------------------------


def test_a_pause_is_no_end() -> None:
    """What was said is there to be sent back, unchanged, and the next response goes on with keys and counts."""
    machine = MessageMachine("m", may_pause=True)
    use = tool_use(2, '{"q":1}', call_id="srvtoolu_1", kind="server_tool_use", name="web_search")
    events = read(started(), *thinking(0, "Hm"), *text(1, " "), *use, *ended("pause_turn"), machine=machine)
    assert machine.done
    assert machine.paused is not None
    assert TurnDone not in map(type, events)
    assert machine.paused.content == (
        {"type": "thinking", "thinking": "Hm", "signature": "sig"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": 1}},
    )
    again = MessageMachine("m", machine.paused, may_pause=True)
    result, start, *_, done = read(started(), *block(0, RESULT), *text(1, "Hi"), *ended(), machine=again)
    assert isinstance(result, CallResult)
    assert (result.key, result.private and result.private["result_index"]) == ("block-2", 3)
    assert start == TextStart("block-4")
    assert done == TurnDone(usage=Usage("anthropic", "claude-x", 20, 10, 30))


@pytest.mark.parametrize(("said", "fits"), [("Let me see.", True), (" ", False)])
def test_thinking_behind_a_blank_text_does_not_fit_a_request(said: str, fits: bool) -> None:
    """The API takes no blank text, and no thinking from where something is left out."""
    machine = MessageMachine("m", may_pause=True)
    use = tool_use(2, '{"q":1}', call_id="srvtoolu_1", kind="server_tool_use", name="web_search")
    read(started(), *text(0, said), *thinking(1, "Hm"), *use, *ended("pause_turn"), machine=machine)
    assert machine.paused is not None
    assert machine.paused.thinking_fits is fits


@pytest.mark.parametrize("blocks", [[], tool_use(0, "{}")], ids=["nothing", "a call of ours"])
def test_what_can_t_go_on_ends(blocks: list[Json]) -> None:
    machine = MessageMachine("m", may_pause=True)
    assert TurnDone in map(type, read(started(), *blocks, *ended("pause_turn"), machine=machine))
    assert machine.paused is None


# --- failures and nonsense ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ProviderUnavailable),
        ({"type": "api_error", "message": "x"}, ProviderUnavailable),
        ({"type": "rate_limit_error", "message": "x"}, RateLimited),
        ({"type": "authentication_error", "message": "x"}, ProviderAuth),
        ({"type": "permission_error", "message": "x"}, ProviderAuth),
        ({"type": "invalid_request_error", "message": "prompt is too long: 3 > 2"}, ContextLength),
        ({"type": "request_too_large", "message": "x"}, ProviderRejected),
        ("nonsense", ProviderUnavailable),
    ],
)
def test_an_error_event(error: Any, kind: type[Exception]) -> None:
    machine = MessageMachine("m")
    payloads = [msgspec.json.encode(event) for event in (started(), {"type": "error", "error": error})]
    assert machine.feed(payloads) == []
    assert machine.failure is not None
    assert type(machine.failure.error) is kind
    assert machine.feed(payloads) == []


def test_a_flat_error_event() -> None:
    machine = MessageMachine("m")
    machine.feed([b'{"type":"error","message":"prompt is too long"}'])
    assert machine.failure is not None
    assert isinstance(machine.failure.error, ContextLength)


def test_what_is_unknown_is_harmless() -> None:
    odd: list[Json] = [
        {"type": "ping"},
        {"type": "brand_new", "index": 0},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "input_json_delta", "partial_json": "{"}},
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_stop", "index": 9},
        {"nothing": 1},
    ]
    events = read(
        started(), *odd, *block(0, {"type": "brand_new"}, {"type": "new_delta", "text": "x"}), *text(1, "Hi"), *ended()
    )
    assert [type(event) for event in events] == [Notice, TextStart, TextDelta, TextEnd, TurnDone]
    assert TextEnd("block-1", {"index": 0}) in events


def test_members_of_a_wrong_type_are_absent() -> None:
    events = read(
        {"type": "message_start", "message": {"model": 1, "usage": []}},
        {"type": "content_block_start", "index": "0", "content_block": {"type": "text", "text": None}},
        {"type": "content_block_delta", "index": None, "delta": {"type": "text_delta", "text": "Hi"}, "usage": 1},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta", "index": 0, "delta": "x"},
        {"type": "content_block_stop"},
        *ended(output_tokens="many"),  # type: ignore[arg-type]
    )
    assert events == [
        TextStart("block-0"),
        TextDelta("block-0", "Hi"),
        TextEnd("block-0", {"index": 0}),
        TurnDone(),
    ]


def test_blocks_that_begin_with_a_delta() -> None:
    said = [event for event in (*thinking(0, "Hm"), *text(1, "Hi")) if event["type"] == "content_block_delta"]
    events = read(started(), *said, *ended())
    assert [type(event) for event in events[:4]] == [ReasoningStart, ReasoningDelta, TextStart, TextDelta]


def test_what_is_no_json_is_a_failure() -> None:
    machine = MessageMachine("m")
    assert machine.feed([b"<html>"]) == []
    assert machine.failure is not None
