"""Whatever an adapter says, the client gets a legal stream, and the record is what was shown."""

import json
import tracemalloc
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate import adapter as ad
from agui_gate.core.journal import Journal
from agui_gate.core.json_text import parse_object
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.transcript import ReportedEntry
from agui_gate.protocol.dialects.v0 import V0Shapes
from agui_gate.turns.turn_recorder import TurnRecorder
from tests.conforming import conforms
from tests.core.client_rules import decoded, verify
from tests.interop.validate import assert_valid
from tests.requirements import shows
from tests.support.chance import examples

KEYS = st.sampled_from(["0", "1", "2"])
TEXTS = st.sampled_from(["", "a", "{", '{"q":"tr', '"}', "}", "\\", "\\u12", '{"n":1', "nope"])
WIRE_IDS = st.sampled_from(["", "call_1", "call_1", "call_2", "functions.search:0", "id-1", "x" * 200])
EVENTS = st.one_of(
    st.builds(ad.TextStart, KEYS),
    st.builds(ad.TextDelta, KEYS, TEXTS),
    st.builds(ad.TextEnd, KEYS),
    st.builds(ad.ReasoningStart, KEYS),
    st.builds(ad.ReasoningDelta, KEYS, TEXTS, st.integers(0, 2)),
    st.builds(ad.ReasoningEnd, KEYS, st.sampled_from([None, "sealed"])),
    st.builds(ad.CallStart, KEYS, WIRE_IDS, st.sampled_from(["search", "refund", ""]), st.booleans()),
    st.builds(ad.CallDelta, KEYS, TEXTS),
    st.builds(ad.CallEnd, KEYS, st.sampled_from(["", "{}", '{"q":"tr"}', '{"q":"tr', "[1]", "nope"])),
    st.builds(ad.CallResult, KEYS, TEXTS, st.booleans()),
    st.builds(ad.CallHeld, KEYS),
    st.builds(ad.Notice, st.just("agui-gate:note"), st.just(1)),
)
BATCHES = st.lists(st.lists(EVENTS, max_size=6), max_size=8)


def made(call_ids=(), theirs=(), holds_back=None):
    events, ids = [], count(1)
    sequencer = Sequencer("t", "r", events.append, V0Shapes())
    sequencer.started()
    take = Journal([ReportedEntry(one) for one in call_ids]).reserve_id
    new = TurnRecorder(sequencer, lambda: f"id-{next(ids)}", take, "test/model", theirs=theirs, holds_back=holds_back)
    return new, sequencer, events


def streamed_arguments(wire):
    found = {e["toolCallId"]: "" for e in wire if e["type"] == "TOOL_CALL_START"}
    for event in wire:
        if event["type"] == "TOOL_CALL_ARGS":
            found[event["toolCallId"]] += event["delta"]
    return found


@conforms("TOOL-6", "STR-1")
@examples(50)
@given(BATCHES)
def test_what_is_held_back_is_recorded_and_not_shown(batches) -> None:
    recorder, sequencer, events = made(holds_back=lambda call: True)
    for batch in batches:
        recorder.feed(batch)
    recorder.close_calls()
    turn = recorder.entry()
    told = [call.id for call in turn.calls if call.shown == "at_once"]
    assert set(streamed_arguments(decoded(events))) == set(told) == set(recorder.results)
    assert len({call.parent_id for call in turn.calls}) == len(turn.calls), "each has a message of its own"
    sequencer.finish()
    verify(decoded(events))
    open_recorder, _, _ = made()
    for batch in batches:
        open_recorder.feed(batch)
    open_recorder.close_calls()
    assert [(c.name, c.arguments) for c in turn.calls] == [(c.name, c.arguments) for c in open_recorder.entry().calls]


@conforms("TOOL-4")
def test_calls_of_the_clients_tools_are_the_clients() -> None:
    recorder, _, _ = made(theirs=["paint"])
    for name in ("paint", "refund"):
        recorder.feed([ad.CallStart(name, name, name), ad.CallEnd(name, "{}")])
    assert [call.kind for call in recorder.entry().calls] == ["client", "server"]


@shows("B14", "S24", "B25")
@examples(125)
@given(BATCHES, st.booleans())
def test_any_adapter_output_makes_a_legal_stream(batches, done) -> None:
    recorder, sequencer, events = made(["call_2"])
    for batch in batches:
        recorder.feed(batch)
    if done:
        recorder.feed([ad.TurnDone()])
    recorder.close_calls()
    turn = recorder.entry()
    sequencer.finish()
    wire = decoded(events)
    verify(wire)
    assert turn.cut is not done
    ids = [call.id for call in turn.calls]
    assert len(ids) == len(set(ids))
    assert "call_2" not in ids
    named = {call.id: call.kind for call in turn.calls}  # those that were given a name
    assert {named[call_id] for call_id in recorder.results if call_id in named} <= {"hosted"}, "nobody else's"
    assert {call_id for call_id, kind in named.items() if kind == "held"} == named.keys() & recorder.held.keys()
    for call in turn.calls:
        assert call.malformed or parse_object(call.arguments) is not None
    shown = "".join(e["delta"] for e in wire if e["type"] == "TEXT_MESSAGE_CONTENT")
    assert sorted(shown) == sorted("".join(p.text for p in turn.parts if isinstance(p, ad.TextPart)))


@shows("B14", "B25")
@examples(100)
@given(st.text('{}[]":,a1\\u', max_size=10), st.integers(0, 30), st.booleans())
def test_a_stream_that_breaks_off_anywhere_is_valid_for_validators(value, length, done) -> None:
    arguments = json.dumps({"q": value, "n": [1.5, None, {"deep": True}]})[:length]
    recorder, sequencer, events = made()
    recorder.feed([ad.CallStart("0", "call_1", "search"), *(ad.CallDelta("0", c) for c in arguments)])
    if done:
        recorder.feed([ad.TurnDone("incomplete", "max_output_tokens")])
    recorder.close_calls()
    sequencer.fail("provider_unavailable", "cut")
    wire = decoded(events)
    assert parse_object(streamed_arguments(wire)["call_1"]) is not None
    assert_valid(wire)
    (call,) = recorder.entry().calls
    assert call.malformed
    assert call.arguments == arguments


@shows("S24")
def test_a_repeated_call_id_is_reminted_for_the_client_and_kept_for_the_provider() -> None:
    recorder, _, events = made(["call_1"])
    for key in ("0", "1"):
        recorder.feed([ad.CallStart(key, "call_1", "search"), ad.CallDelta(key, "{}"), ad.CallEnd(key, "{}")])
    recorder.feed([ad.TurnDone()])
    calls = recorder.entry().calls
    assert [call.wire_id for call in calls] == ["call_1", "call_1"]
    assert len({"call_1", *(call.id for call in calls)}) == 3
    assert streamed_arguments(decoded(events)) == {call.id: "{}" for call in calls}


@shows("B13")
@pytest.mark.parametrize(
    ("deltas", "end", "shown"),
    [
        (['{"q":', '"x"}'], '{"q":"x"}', '{"q":"x"}'),
        ([], '{"q":"x"}', '{"q":"x"}'),
        (['{"q":'], '{"q":"x"}', '{"q":"x"}'),
        ([], "", "{}"),
        ([], "  ", "{}"),
        (['{"q":"tr'], '{"other":1}', '{"q":"tr"}'),  # what was shown can't be taken back
    ],
)
def test_arguments_are_shown_once_and_end_as_json(deltas, end: str, shown: str) -> None:
    recorder, _, events = made()
    recorder.feed([ad.CallStart("0", "c", "search"), *(ad.CallDelta("0", d) for d in deltas), ad.CallEnd("0", end)])
    recorder.feed([ad.TurnDone()])
    assert streamed_arguments(decoded(events)) == {"c": shown}
    (call,) = recorder.entry().calls
    assert not call.malformed
    assert call.arguments == (end.strip() or "{}")


@pytest.mark.parametrize("written", ["ada", "<p>Oh no</p>", '"text"', "[1]", "  nope"])
@pytest.mark.parametrize("ends", [True, False])
def test_words_in_the_place_of_arguments_are_recorded_and_not_shown(written: str, ends: bool) -> None:
    recorder, sequencer, events = made()
    recorder.feed([ad.CallStart("0", "c", "search"), *(ad.CallDelta("0", letter) for letter in written)])
    recorder.feed([ad.CallEnd("0", written), ad.TurnDone()] if ends else [ad.TurnDone("incomplete", "limit")])
    recorder.close_calls()
    sequencer.finish()
    assert streamed_arguments(decoded(events)) == {"c": "{}"}
    (call,) = recorder.entry().calls
    assert (call.malformed, call.arguments) == (True, written)


def test_late_events_of_an_ended_item_change_nothing() -> None:
    recorder, _, events = made()
    recorder.feed([ad.CallStart("0", "c", "search"), ad.CallEnd("0", "{}")])
    before = len(events)
    recorder.feed([ad.CallDelta("0", "x"), ad.CallEnd("0", '{"a":1}'), ad.CallDelta("9", "x"), ad.CallEnd("9", "{}")])
    assert len(events) == before
    assert [call.arguments for call in recorder.entry().calls] == ["{}"]


@shows("S20")
def test_paragraphs_of_reasoning_and_its_sealed_form() -> None:
    recorder, _, events = made()
    recorder.feed([ad.ReasoningStart("0"), ad.ReasoningDelta("0", "o"), ad.ReasoningDelta("0", "ne")])
    recorder.feed([ad.ReasoningDelta("0", "", 1), ad.ReasoningDelta("0", "two", 1)])
    recorder.feed(
        [ad.ReasoningEnd("0", "sealed"), ad.ReasoningStart("1"), ad.ReasoningEnd("1", "hidden"), ad.TurnDone()]
    )
    first, second = recorder.entry().parts
    assert (first.summary, first.encrypted) == (("one", "two"), "sealed")
    assert (second.summary, second.encrypted) == ((), "hidden")
    wire = decoded(events)
    assert [e["delta"] for e in wire if e["type"] == "REASONING_MESSAGE_CONTENT"] == ["o", "ne", "\n\ntwo"]
    sealed = [e for e in wire if e["type"] == "REASONING_ENCRYPTED_VALUE"]
    assert [(e["entityId"], e["encryptedValue"]) for e in sealed] == [(first.id, "sealed"), (second.id, "hidden")]


@shows("B14")
def test_one_more_paragraph_costs_as_little_after_thousands() -> None:
    recorder, _, _ = made()
    recorder.feed([ad.ReasoningDelta("0", "x", number) for number in range(20_000)])
    peaks = []
    tracemalloc.start()
    for number in range(20_000, 20_010):
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        recorder.feed([ad.ReasoningDelta("0", "x", number)])
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    assert min(peaks) < 10_000
    (part,) = recorder.entry().parts
    assert isinstance(part, ad.ReasoningPart)
    assert part.summary == ("x",) * 20_010
