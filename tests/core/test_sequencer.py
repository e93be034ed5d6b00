"""Whatever is said to the sequencer in whatever order, the stream is one that clients accept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core import events as ev
from agui_gate.core.sequencer import UNFINISHED, Sequencer
from agui_gate.core.stop_reasons import ASKED, Stop, cut_off
from agui_gate.protocol.dialects.base import Shapes, stopped
from tests.conforming import conforms
from tests.core.client_rules import decoded, verify
from tests.interop.validate import assert_valid
from tests.protocol.dialects.kinds import ALL, V0, V1, V1_FULL
from tests.requirements import shows
from tests.support.chance import examples

IDS = st.sampled_from(["", "a", "b", "a-result", "b-result", "c"])
SAID = st.sampled_from(["", "x", "yz"])
INTERRUPT = ev.InterruptOutcome((ev.Interrupt("i", "tool_call", "a"),))
OUTCOMES = st.sampled_from([None, INTERRUPT, ev.SuccessOutcome()])
LIMIT = Stop("limit_reached", "Enough.")
CUT = cut_off("max_tokens")
STEPS = st.one_of(
    st.tuples(st.just("started")),
    st.tuples(st.just("text"), IDS, SAID),
    st.tuples(st.just("text_end"), IDS),
    st.tuples(st.just("reasoning"), IDS, SAID),
    st.tuples(st.just("reasoning_end"), IDS, st.sampled_from([None, "", "sealed"])),
    st.tuples(st.just("call"), IDS, st.sampled_from(["", "search"]), IDS),
    st.tuples(st.just("call_args"), IDS, SAID),
    st.tuples(st.just("call_end"), IDS),
    st.tuples(st.just("result"), IDS, IDS, SAID),
    st.tuples(st.just("leave_open"), st.lists(IDS, max_size=2)),
    st.tuples(st.just("other"), st.just(ev.Custom("agui-gate:x", 1))),
    st.tuples(st.just("finish"), OUTCOMES),
    st.tuples(st.just("stop"), st.sampled_from([ASKED, LIMIT, CUT])),
    st.tuples(st.just("fail"), st.just("internal"), st.just("m")),
)


def made(shapes=V0):
    events = []
    return Sequencer("t", "r", events.append, shapes), events


@shows("B14")
@examples(200)
@given(st.lists(STEPS, max_size=30), st.sampled_from(list(ALL.values())))
def test_any_calls_in_any_order_make_a_legal_stream(steps, shapes) -> None:
    sequencer, events = made(shapes)
    sequencer.started()
    left = set()
    for name, *arguments in steps:
        if name == "leave_open":
            left.update(arguments[0])
        getattr(sequencer, name)(*arguments)
    sequencer.finish()
    verify(decoded(events), left_open=left)


@given(st.lists(STEPS, max_size=10))
def test_nothing_comes_before_the_start_or_without_it(steps) -> None:
    sequencer, events = made()
    for name, *arguments in steps:
        if name == "started":
            break
        getattr(sequencer, name)(*arguments)
    assert events == []


@shows("B14", "S12")
def test_an_ordinary_run() -> None:
    sequencer, events = made()
    sequencer.started()
    sequencer.started()
    sequencer.reasoning("think", "hm")
    sequencer.reasoning_end("think", "sealed")
    sequencer.text("m", "")
    sequencer.text("m", "hi")
    sequencer.text_end("m")
    sequencer.call("c", "search", "m")
    sequencer.call_args("c", "{}")
    sequencer.call_end("c")
    sequencer.result("c", "c-result", "found")
    sequencer.finish(usage=({"inputTokens": 1},))
    wire = decoded(events)
    assert [event["type"] for event in wire] == [
        "RUN_STARTED",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_ENCRYPTED_VALUE",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "RUN_FINISHED",
    ]
    assert wire[0] == {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    assert wire[-1]["usage"] == [{"inputTokens": 1}]
    assert "outcome" not in wire[-1]
    assert_valid(wire)


@shows("B14")
@pytest.mark.parametrize("nothing", [None, ""])
def test_the_end_of_reasoning_that_never_began_shows_nothing(nothing: str | None) -> None:
    """Only a sealed value is worth a span without words."""
    sequencer, events = made()
    sequencer.started()
    sequencer.reasoning_end("never", nothing)
    assert [event["type"] for event in decoded(events)] == ["RUN_STARTED"]
    sequencer.reasoning_end("never", "sealed")
    assert "REASONING_ENCRYPTED_VALUE" in [event["type"] for event in decoded(events)]


@shows("S29", "B14")
@pytest.mark.parametrize("end", ["finish", "fail", "cancel"])
def test_everything_open_is_closed_before_the_end(end: str) -> None:
    sequencer, events = made(V1)
    sequencer.started()
    sequencer.text("m", "hal")
    sequencer.reasoning("think", "hm")
    sequencer.call("c", "search", "m")
    sequencer.call_args("c", "{}")
    sequencer.call("gated", "refund", "m")
    sequencer.leave_open(["gated"])
    match end:
        case "finish":
            sequencer.finish()
        case "fail":
            sequencer.fail("internal", "x")
        case "cancel":
            sequencer.stop(ASKED)
    verifier = verify(decoded(events), left_open=["gated"])
    assert verifier.results == ["c"]
    assert next(e for e in decoded(events) if e["type"] == "TOOL_CALL_RESULT")["content"] == UNFINISHED


@conforms("TOOL-6")
@pytest.mark.parametrize("shapes", ALL.values(), ids=ALL)
def test_what_a_run_left_without_a_result_is_named_where_extras_are_sent(shapes: Shapes) -> None:
    sequencer, events = made(shapes)
    sequencer.started()
    for call_id in ("paint", "search", "card"):
        sequencer.call(call_id, call_id, "m")
    sequencer.leave_open(["card", "paint", "of an earlier run"])
    sequencer.result("search", "m2", "found")
    sequencer.finish()
    expected = {"type": "success", "pendingToolCallIds": ["paint", "card"]} if shapes is V1_FULL else None
    assert decoded(events)[-1].get("outcome") == expected


@shows("S33")
@pytest.mark.parametrize(
    ("why", "old", "metadata"),
    [
        (ASKED, {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "abort"}, None),
        (
            LIMIT,
            {"type": "RUN_ERROR", "message": "Enough.", "code": "limit_reached"},
            {"code": "limit_reached", "message": "Enough."},
        ),
        (
            CUT,
            {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"reason": "max_tokens"}},
            {"code": "limit_reached", "message": CUT.message, "reason": "max_tokens"},
        ),
    ],
)
def test_stopped_is_an_outcome_in_1_x_and_what_0_x_knows_it_as(
    why: Stop, old: dict[str, Any], metadata: dict[str, Any] | None
) -> None:
    ends = {}
    for name, shapes in ALL.items():
        sequencer, events = made(shapes)
        sequencer.started()
        sequencer.stop(why)
        ends[name] = decoded(events)[-1]
    new = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "cancelled"}}
    if metadata is not None:
        new["metadata"] = {"agui-gate": metadata}
    assert ends == {"0.x": old, "1.x": new, "1.x with extras": new}
    assert (stopped(new), stopped(old)) == (why, why)


@pytest.mark.parametrize("reason", ["content_filter", "refusal"])
def test_a_filter_is_not_called_a_limit(reason: str) -> None:
    assert "a filter of the provider" in cut_off(reason).message
    assert "a limit of the provider" in cut_off("max_output_tokens").message
    assert cut_off(None).reason == "incomplete"


def test_a_call_named_like_another_ones_result_still_lets_both_end() -> None:
    sequencer, events = made()
    sequencer.started()
    sequencer.text("a-result", "taken by a text")
    for call_id in ("a", "a-result"):
        sequencer.call(call_id, "search", "p")
        sequencer.result(call_id, f"{call_id}-result", "found")
    sequencer.finish()
    assert verify(decoded(events)).results == ["a", "a-result"]


def test_the_first_result_of_a_call_counts() -> None:
    sequencer, events = made()
    sequencer.started()
    sequencer.result("earlier", "earlier-result", "first")
    sequencer.result("earlier", "another-id", "second")
    sequencer.finish()
    assert [e["content"] for e in decoded(events) if e["type"] == "TOOL_CALL_RESULT"] == ["first"]
