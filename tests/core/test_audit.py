"""The audit trail's events and chains: what each move amounts to, and that nothing can be changed unnoticed."""

import json
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core import audit
from agui_gate.core.approvals import MOVES, Approval, Decision, State
from agui_gate.core.audit import Event, Happened, Head, chained
from agui_gate.core.audit_verification import KINDS, Break, Chains
from agui_gate.core.json_text import canonical
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused
from agui_gate.stores.sql.deletions import deleted
from agui_gate.stores.sql.epochs import restored

ASKED = Approval(
    id="ap_1",
    principal="alice",
    thread_id="t",
    agent="support",
    run_key="run_1",
    turn_id="turn",
    call_id="call_1",
    tool="refund",
    arguments='{"amount":10,"note":"s3cret"}',
    schema_digest="d",
)
YES = Decision(True, "bob", "because of s3cret", '{"a/b":1,"amount":20,"note":"s3cret"}', "card")
NO = Decision(False, "bob", "because of s3cret", None, "http")

texts = st.text(st.characters(codec="utf-8"), max_size=3)
bodies = st.dictionaries(texts, texts | st.integers(-(2**53), 2**53) | st.booleans() | st.none(), max_size=3)
happenings = st.builds(
    Happened,
    kind=st.sampled_from(sorted(KINDS)),
    principal=texts,
    thread_id=texts,
    approval_id=texts,
    run_key=texts,
    by=texts,
    way=texts,
    body=bodies.map(canonical),
)
chains = st.lists(happenings, min_size=2, max_size=4).map(lambda happened: chained(Head("7"), 1_000, happened))


def breaks(events: list[Event], heads: list[Head] = []) -> list[Break]:  # noqa: B006 only read
    checked = Chains(heads)
    return [found for event in events for found in checked.check(event)] + checked.missing()


def kinds(happened: tuple[Happened, ...]) -> list[str]:
    return [one.kind for one in happened]


# --- what happened


@pytest.mark.parametrize("to", sorted({to for reached in MOVES.values() for to in reached}))
def test_every_move_is_an_event_of_its_state(to: State) -> None:
    (event,) = audit.moved(ASKED, to, output=Output("s3cret"), run_key="run_2")
    assert event.kind == to
    assert (event.approval_id, event.principal, event.thread_id, event.run_key) == ("ap_1", "alice", "t", "run_2")
    assert (event.by, event.way) == ("", "")
    assert json.loads(event.body) == {"output": sha256(b"s3cret").hexdigest()}


def test_an_approval_says_who_agreed_to_what_and_which_way() -> None:
    approved, claimed = audit.moved(ASKED, State.CLAIMED, YES, run_key="run_2")
    assert (approved.kind, approved.by, approved.way, approved.run_key) == ("approved", "bob", "card", "run_2")
    effective = sha256(b'{"a/b":1,"amount":20,"note":"s3cret"}').hexdigest()
    assert json.loads(approved.body) == {"arguments": effective, "edited": ["/a~1b", "/amount"]}
    assert (claimed.kind, claimed.by, claimed.run_key, claimed.body) == ("claimed", "", "run_2", "{}")


@pytest.mark.parametrize("to", [State.REJECTED, State.CANCELLED])
def test_a_no_is_one_event_with_who_said_it(to: State) -> None:
    (event,) = audit.moved(ASKED, to, NO)
    assert (event.kind, event.by, event.way, event.body) == (to, "bob", "http", "{}")


def test_nothing_is_moved_to_pending() -> None:
    with pytest.raises(ValueError, match="asked"):
        audit.moved(ASKED, State.PENDING)


def test_no_event_holds_what_was_said() -> None:
    error = ApprovalRefused("The edit was refused: 's3cret' is not a number.")
    happened = [
        audit.asked(ASKED),
        audit.shown(ASKED, "bob", "card", "run_1"),
        audit.refused(ASKED, "bob", "card", error, "run_2"),
        *audit.moved(ASKED, State.CLAIMED, YES),
        *audit.moved(ASKED, State.DONE, output=Output("s3cret")),
        *audit.moved(ASKED, State.REJECTED, NO),
        audit.replaced(ASKED, "run_3"),
        deleted(ASKED, "run_4"),
        restored(ASKED, 2),
    ]
    events = chained(Head("7"), 1, happened)
    assert "s3cret" not in msgspec.json.encode(events).decode()
    assert json.loads(happened[2].body) == {"code": error.code, "why": "The edit was refused"}
    assert {event.kind for event in happened} <= KINDS


# --- the chain


@given(chains)
def test_a_chain_as_it_was_made_is_whole(events: list[Event]) -> None:
    assert breaks(events, [event.head for event in events]) == []
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


@given(chains, happenings)
def test_a_chain_goes_on_from_its_head(events: list[Event], happened: Happened) -> None:
    assert breaks([*events, *chained(events[-1].head, 2_000, [happened])]) == []


@given(chains)
def test_anybody_can_check_an_event_by_its_json(events: list[Event]) -> None:
    for event in events:
        said: dict[str, Any] = msgspec.to_builtins(event)
        prev, stated = said.pop("prev"), said.pop("hash")
        said["body"] = json.loads(said["body"])
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert sha256((prev + text).encode()).hexdigest() == stated


@given(chains, st.data())
def test_a_change_of_one_character_is_found(events: list[Event], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(events) - 1))
    name = data.draw(st.sampled_from(Event.__struct_fields__))
    value = getattr(events[place], name)
    if isinstance(value, int):
        changed: Any = value + data.draw(st.sampled_from([-1, 1]))
    else:
        at = data.draw(st.integers(0, len(value)))
        changed = value[:at] + data.draw(st.sampled_from("x0é")) + value[at + data.draw(st.integers(0, 1)) :]
    spoilt = [*events]
    spoilt[place] = msgspec.structs.replace(events[place], **{name: changed})
    assert bool(breaks(spoilt)) is (spoilt != events)


@given(chains, st.data())
def test_a_dropped_event_is_found(events: list[Event], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(events) - 1))
    rest = events[:place] + events[place + 1 :]
    if place < len(events) - 1:
        assert Break("7", place + 2, "missing") in breaks(rest)
    assert breaks(rest, [events[-1].head])


@given(chains, st.data())
def test_swapped_events_are_found(events: list[Event], data: st.DataObject) -> None:
    one, other = data.draw(st.permutations(range(len(events))))[:2]
    swapped = [*events]
    swapped[one], swapped[other] = events[other], events[one]
    assert breaks(swapped)


@given(chains, happenings, st.data())
def test_an_added_event_is_found(events: list[Event], happened: Happened, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(events) - 1))
    before = events[place - 1].head if place else Head("7")
    (forged,) = chained(before, 1_000, [happened])
    if forged != events[place]:
        assert breaks([*events[:place], forged, *events[place:]])


@given(chains, st.lists(happenings, min_size=1, max_size=6))
def test_a_chain_that_was_made_anew_is_found_by_its_head(events: list[Event], others: list[Happened]) -> None:
    anew = chained(Head("7"), 1_000, others)
    if anew[: len(events)] != events:
        assert any(found.why == "not_the_head" for found in breaks(anew, [events[-1].head]))


def test_each_chain_is_checked_by_itself() -> None:
    first, second = (chained(Head(thread), 1, [audit.asked(ASKED)] * 2) for thread in "12")
    assert breaks([*first, *second]) == []
    assert breaks([*first, second[1]]) == [Break("2", 2, "missing")]
    assert breaks([*first, second[0]], [Head("2", 2, second[1].hash)]) == [Break("2", 2, "not_the_head")]
    assert breaks([], [Head("9", 1, "x"), Head("10")]) == [Break("9", 1, "not_the_head")]
