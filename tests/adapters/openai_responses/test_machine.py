"""The provider's events become model events: every shape that matters here, and any nonsense."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallResult,
    CallStart,
    ConversationRef,
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
from agui_gate.errors import (
    ContentRefused,
    ContextLength,
    ProviderAuth,
    ProviderUnavailable,
    RateLimited,
)
from agui_gate_adapters.openai_responses.machine import ResponseMachine
from agui_gate_adapters.openai_responses.states import MessageState
from tests.conforming import conforms

MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": ""}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "early"}


def machine() -> ResponseMachine:
    return ResponseMachine("gpt", lambda response_id: ConversationRef("", "o", previous_response_id=response_id))


def e(kind: str, **members: Any) -> bytes:
    return msgspec.json.encode({"type": kind if kind == "error" else f"response.{kind}", **members})


def feed(*payloads: bytes) -> list[ModelEvent]:
    fed = machine()
    events = [event for payload in payloads for event in fed.feed([payload])]
    assert fed.failure is None
    again = machine()
    assert again.feed(list(payloads)) == events, "batching must not matter"
    return events


def added(item: dict[str, Any], index: int = 0) -> bytes:
    return e("output_item.added", output_index=index, item=item)


def done(item: dict[str, Any], index: int = 0) -> bytes:
    return e("output_item.done", output_index=index, item={"status": "completed", **item})


def text(delta: str, index: int = 0, part: int = 0, item_id: str = "msg_1") -> bytes:
    return e("output_text.delta", item_id=item_id, output_index=index, content_index=part, delta=delta)


def completed(*output: dict[str, Any], **more: Any) -> bytes:
    return e("completed", response={"id": "resp_1", "status": "completed", "output": list(output), **more})


def whole(words: str, **more: Any) -> dict[str, Any]:
    return {**MESSAGE, "status": "completed", "content": [{"type": "output_text", "text": words}], **more}


END = {"id": "msg_1", "index": 0}
REF = ConversationRef("", "o", previous_response_id="resp_1")


# --- text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deltas", [["Hello world"], ["Hello", " ", "world"], ["", "Hello world", ""], []])
def test_text_is_shown_once(deltas: list[str]) -> None:
    """B13: one delta, many, or none at all; what `.done` events repeat is not shown again."""
    events = feed(
        added(MESSAGE),
        e("content_part.added", output_index=0, content_index=0, item_id="msg_1", part={"type": "output_text"}),
        *(text(delta) for delta in deltas),
        e("output_text.done", output_index=0, content_index=0, item_id="msg_1", text="Hello world"),
        e("content_part.done", output_index=0, content_index=0, item_id="msg_1", part={"type": "output_text"}),
        done(whole("Hello world")),
        completed(whole("Hello world")),
    )
    shown = [piece for piece in deltas if piece] or ["Hello world"]
    assert events[:-1] == [TextStart("msg_1"), *(TextDelta("msg_1", piece) for piece in shown), TextEnd("msg_1", END)]
    assert events[-1] == TurnDone(ref=REF)


def test_text_only_in_the_complete_item() -> None:
    assert feed(done(whole("Hi")))[1] == TextDelta("msg_1", "Hi")


def test_text_only_in_the_terminal_event() -> None:
    events = feed(completed(whole("Hi")))
    assert [type(event) for event in events] == [TextStart, TextDelta, TextEnd, TurnDone]


def test_several_messages_and_parts() -> None:
    two = {**MESSAGE, "id": "msg_2"}
    events = feed(
        added(MESSAGE), added(two, 1), text("a"), text("b", 1, item_id="msg_2"), text("c", part=1),
        e("output_text.done", output_index=0, content_index=1, item_id="msg_1", text="c"),
        e("output_text.done", output_index=0, content_index=2, item_id="msg_1", text="d"),
        done(MESSAGE), done(two, 1),
    )  # fmt: skip
    mine = [event for event in events if event.key == "msg_1"]  # type: ignore[union-attr]
    assert [event.text for event in mine if isinstance(event, TextDelta)] == ["a", "c", "d"]
    assert TextDelta("msg_2", "b") in events
    assert TextEnd("msg_2", {"id": "msg_2", "index": 1}) in events


class Part(int):
    """The number of a part. It counts how often one is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        type(self).compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_a_part_is_compared_with_few_others() -> None:
    message, out = MessageState("0", 0), list[ModelEvent]()
    for number in range(1_000):
        message.rest(Part(number), "x", out)
        message.rest(Part(number), "x", out)
    assert len(out) == 1_000
    assert Part.compared < 5_000


def test_a_refusal_is_text() -> None:
    item = {**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]}
    events = feed(
        added(MESSAGE),
        e("refusal.delta", item_id="msg_1", output_index=0, content_index=0, delta="No."),
        e("refusal.done", item_id="msg_1", output_index=0, content_index=0, refusal="No."),
        done(item),
    )
    assert events == [TextStart("msg_1"), TextDelta("msg_1", "No."), TextEnd("msg_1", {**END, "refusal": True})]
    assert feed(done(item))[1] == TextDelta("msg_1", "No.")


def test_phase_is_kept() -> None:
    assert feed(done(whole("x", phase="commentary")))[-1] == TextEnd("msg_1", {**END, "phase": "commentary"})


def test_annotations_are_notices() -> None:
    note = {"type": "url_citation", "url": "https://example.org"}
    events = feed(added(MESSAGE), e("output_text.annotation.added", item_id="msg_1", output_index=0, annotation=note))
    assert events[1] == Notice("openai.annotation", {"key": "msg_1", "annotation": note})


@pytest.mark.parametrize("delta", [{"item_id": "msg_1"}, {"output_index": 0}, {"item_id": "other", "output_index": 0}])
def test_items_are_found_by_id_or_index(delta: dict[str, Any]) -> None:
    events = feed(added(MESSAGE), e("output_text.delta", delta="x", **delta), done(whole("x", id="other")))
    assert [type(event) for event in events] == [TextStart, TextDelta, TextEnd]


def test_deltas_without_an_item_make_one() -> None:
    events = feed(text("a"), text("b"), done(whole("ab")))
    assert [type(event) for event in events] == [TextStart, TextDelta, TextDelta, TextEnd]


def test_open_items_are_closed_at_the_end() -> None:
    events = feed(added(MESSAGE), added(REASONING, 1), text("a"), completed())
    assert events[3:5] == [TextEnd("msg_1"), ReasoningEnd("rs_1")]


# --- reasoning ----------------------------------------------------------------------------------------------------


def test_hidden_reasoning_is_still_an_item() -> None:
    """S20; and the sealed form is the one of the complete item."""
    assert feed(added(REASONING), done({**REASONING, "encrypted_content": "final"})) == [
        ReasoningStart("rs_1"),
        ReasoningEnd("rs_1", "final", {"id": "rs_1", "index": 0}),
    ]


def test_summary_paragraphs() -> None:
    summary = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
    events = feed(
        added(REASONING),
        e("reasoning_summary_part.added", item_id="rs_1", output_index=0, summary_index=0),
        e("reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0, delta="o"),
        e("reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0, delta="ne"),
        e("reasoning_summary_text.done", item_id="rs_1", output_index=0, summary_index=0, text="one"),
        e("reasoning_summary_text.done", item_id="rs_1", output_index=0, summary_index=1, text="two"),
        done({**REASONING, "summary": summary}),
    )
    shown = [(event.text, event.paragraph) for event in events if isinstance(event, ReasoningDelta)]
    assert shown == [("o", 0), ("ne", 0), ("two", 1)]


def test_raw_reasoning_is_marked() -> None:
    events = feed(
        e("reasoning_text.delta", item_id="rs_1", output_index=0, content_index=0, delta="hm"),
        e("reasoning_text.done", item_id="rs_1", output_index=0, content_index=0, text="hm"),
        done({**REASONING, "summary": [{"type": "summary_text", "text": "thought"}]}),
    )
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == ["hm", "thought"]
    assert events[-1] == ReasoningEnd("rs_1", "early", {"id": "rs_1", "index": 0, "raw": [0]})


# --- calls --------------------------------------------------------------------------------------------------------

ARGS = '{"city":"Paris"}'


def arguments(delta: str, kind: str = "delta") -> bytes:
    member = {"delta": delta} if kind == "delta" else {"arguments": delta}
    return e(f"function_call_arguments.{kind}", item_id="fc_1", output_index=0, **member)


@pytest.mark.parametrize("deltas", [[ARGS], [ARGS[:5], ARGS[5:]], [ARGS[:5]], []])
@pytest.mark.parametrize("with_done", [True, False])
def test_a_call_and_what_its_deltas_left_out(deltas: list[str], with_done: bool) -> None:
    events = feed(
        added(CALL),
        *(arguments(delta) for delta in deltas),
        *([arguments(ARGS, "done")] if with_done else []),
        done({**CALL, "arguments": ARGS}),
        completed({**CALL, "arguments": ARGS}),
    )
    assert events[0] == CallStart("fc_1", "call_1", "weather")
    assert "".join(event.text for event in events if isinstance(event, CallDelta)) == ARGS
    assert events[-2] == CallEnd("fc_1", ARGS, {"id": "fc_1", "index": 0})
    assert events[-1].ref == REF  # type: ignore[union-attr]


@pytest.mark.parametrize(("sent", "meant"), [("", "{}"), ({"a": 1}, '{"a":1}'), (None, "{}")])
def test_odd_arguments(sent: Any, meant: str) -> None:
    assert feed(added(CALL), done({**CALL, "arguments": sent}))[1:] == [
        CallDelta("fc_1", meant),
        CallEnd("fc_1", meant, {"id": "fc_1", "index": 0}),
    ]


def test_the_complete_item_has_the_last_word() -> None:
    events = feed(added(CALL), arguments('{"x"'), done({**CALL, "arguments": ARGS}))
    assert events[-1] == CallEnd("fc_1", ARGS, {"id": "fc_1", "index": 0})


def test_a_call_that_is_named_late_starts_late() -> None:
    events = feed(added({**CALL, "name": "", "call_id": ""}), arguments(ARGS), done({**CALL, "arguments": ARGS}))
    assert events == [
        CallStart("fc_1", "call_1", "weather"),
        CallDelta("fc_1", ARGS),
        CallEnd("fc_1", ARGS, {"id": "fc_1", "index": 0}),
    ]


@pytest.mark.parametrize("last", [[], [done({**CALL, "arguments": ARGS[:5], "status": "incomplete"})]])
def test_a_cut_call_never_ends_and_is_not_continued(last: list[bytes]) -> None:
    """B25; a ref would make the next turn fail with "No tool output found"."""
    response = {"id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    events = feed(added(CALL), arguments(ARGS[:5]), *last, e("incomplete", response=response))
    assert not [event for event in events if isinstance(event, CallEnd)]
    assert events[-1] == TurnDone("incomplete", "max_output_tokens")


def test_a_call_ends_once() -> None:
    """S23."""
    item = {**CALL, "arguments": ARGS}
    events = feed(added(CALL), done(item), done(item), completed(item, item))
    assert len([event for event in events if isinstance(event, CallEnd)]) == 1


# --- everything else ----------------------------------------------------------------------------------------------


def test_an_item_of_an_unknown_kind_is_mentioned_once() -> None:
    """It comes three times: as it begins, as it is done, and in the list at the end."""
    item = {"type": "brand_new", "id": "bn_1"}
    events = feed(added(item), done(item), completed({**item, "status": "completed"}))
    assert [type(event) for event in events] == [Notice, TurnDone]


def test_hosted_tools_and_unknown_types_are_tolerated() -> None:
    events = feed(
        added({"type": "web_search_call", "id": "ws_1", "status": "in_progress", "content": 7}),
        e("web_search_call.searching", item_id="ws_1", output_index=0),
        e("brand_new.thing", delta={"not": "a string"}, output_index="zero", item=None),
        b'{"type":7}', b"[1]", b'"x"', b"null", b"[DONE]",
        done({"type": "web_search_call", "id": "ws_1"}),
        e("audio.delta", delta="AAAA"),
        completed(),
    )  # fmt: skip
    *call, last = events
    assert call == [
        CallStart("ws_1", "ws_1", "web_search", hosted=True),
        CallEnd("ws_1", "{}", {"index": 0, "id": "ws_1"}),
        CallResult("ws_1", '{"status":"completed"}'),
    ]
    assert last == TurnDone(ref=REF)


@pytest.mark.parametrize("kind", ["mcp_approval_request", "custom_tool_call", "shell_call"])
def test_what_nobody_here_can_answer_is_not_continued(kind: str) -> None:
    assert feed(done({"type": kind, "id": "x_1"}), completed())[-1] == TurnDone()


def test_usage() -> None:
    usage = {
        "input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
        "input_tokens_details": {"cached_tokens": 4}, "output_tokens_details": {"reasoning_tokens": 3},
    }  # fmt: skip
    (event,) = feed(completed(usage=usage, model="gpt-2026"))
    assert event == TurnDone(usage=Usage("openai", "gpt-2026", 10, 5, 15, 4, 3), ref=REF)
    assert feed(completed(usage={"input_tokens": "many"}))[0] == TurnDone(ref=REF)


@conforms("USE-1", "USE-2", "USE-3")
@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}, (0, 0)),
        ({"input_tokens": 10, "output_tokens": 5, "total_tokens": 999}, (10, 5, 15)),
        ({"input_tokens": 10, "output_tokens": None}, (10, None)),
        ({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 0}}, (10, 5, 15, 0)),
        ({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": None}}, (10, 5)),
        ({"input_tokens": 10, "output_tokens": 5, "input_tokens_details": 4}, (10, 5)),
        ({"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cache_write_tokens": 4}},
         (9, 5, 14, None, None, 4)),
        ({"input_tokens": 10, "output_tokens": 5, "total_tokens": 18,
          "output_tokens_details": {"reasoning_tokens": 3}}, (10, 8, 18, None, 3)),
        ({"input_tokens": 10, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 40}},
         (10, 45, 55, None, 40)),
        ({"input_tokens": "10", "output_tokens": 5.0, "total_tokens": 15}, (None, 5)),
        ({"input_tokens": -10, "output_tokens": 5.5}, None),
        ({"input_tokens": 2**60, "output_tokens": 10**30}, None),
        ({}, None), (None, None), ([10, 5], None), ("many", None),
    ],
)  # fmt: skip
def test_odd_counts(said: Any, counts: tuple[Any, ...] | None) -> None:
    (event,) = feed(completed(usage=said, model="m"))
    assert isinstance(event, TurnDone)
    assert event.usage == (None if counts is None else Usage("openai", "m", *counts))


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        (e("failed", response={"error": {"code": "server_error", "message": "x"}}), ProviderUnavailable),
        (e("failed", response={"error": {"code": "rate_limit_exceeded", "message": "x"}}), RateLimited),
        (e("failed", response={"error": {"code": "invalid_prompt", "message": "x"}}), ContentRefused),
        (e("failed", response=None), ProviderUnavailable),
        (e("error", code="context_length_exceeded", message="x", param=None), ContextLength),
        (e("error", error={"type": "x", "code": "invalid_api_key", "message": "secret"}), ProviderAuth),
        (e("error", error={"type": "server_error", "code": None}), ProviderUnavailable),
        (e("error", code=None, message=None), ProviderUnavailable),
        (b"<html>", ProviderUnavailable),
        (b'{"type":"\xff"}', ProviderUnavailable),
    ],
)
def test_failures(payload: bytes, error: type[Exception]) -> None:
    fed = machine()
    assert fed.feed([added(MESSAGE), text("before"), payload, text("after")])[-1] == TextDelta("msg_1", "before")
    assert fed.failure is not None
    assert type(fed.failure.error) is error
    assert "secret" not in fed.failure.error.message
    assert not fed.done


def test_nothing_counts_after_the_end() -> None:
    assert [type(event) for event in feed(completed(), added(MESSAGE), text("x"), e("error", code="x"))] == [TurnDone]


_SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_KINDS = st.sampled_from(
    [
        *("output_item.added", "output_item.done", "output_text.delta", "output_text.done", "refusal.delta"),
        *("function_call_arguments.delta", "function_call_arguments.done", "reasoning_text.delta"),
        *("created", "completed", "incomplete", "nonsense"),
    ]
)
_ITEMS = _SHAPES | st.builds(
    lambda kind, more: {"type": kind, **more},
    st.sampled_from(["message", "reasoning", "function_call", "odd"]),
    st.dictionaries(st.sampled_from(["id", "name", "call_id", "arguments", "content", "summary", "status"]), _SHAPES),
)
_MEMBERS = st.fixed_dictionaries(
    {}, optional={"item": _ITEMS, "response": _SHAPES, "delta": _SHAPES, "output_index": _SHAPES, "item_id": _SHAPES}
)


@given(st.lists(st.tuples(_KINDS, _MEMBERS), max_size=12))
def test_any_stream_gives_balanced_events(stream: list[tuple[str, dict[str, Any]]]) -> None:
    events = machine().feed([e(kind, **members) for kind, members in stream])
    seen: set[str] = set()
    opened: set[str] = set()
    for event in events:
        if isinstance(event, TextStart | ReasoningStart | CallStart):
            assert event.key not in seen
            seen.add(event.key)
            opened.add(event.key)
        elif not isinstance(event, Notice | TurnDone):
            assert event.key in opened
        if isinstance(event, TextEnd | ReasoningEnd | CallEnd):
            opened.discard(event.key)
    assert not any(isinstance(event, TurnDone) for event in events[:-1])
