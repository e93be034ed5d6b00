"""The table of moves, and the one function that reads it."""

import msgspec
import pytest

from agui_gate.core.approvals import DECISIONS, MOVES, Approval, Decision, State, check_move, sources
from agui_gate.errors import IllegalMove
from tests.requirements import shows

ARROWS = """
    pending -> claimed rejected superseded cancelled expired
    claimed -> passed done failed unknown
    passed -> given_back done failed unknown
    given_back -> passed failed unknown
"""
"""The drawing at the top of the module, once more."""


def approval(state: State = State.PENDING, expires_at: int | None = None) -> Approval:
    return Approval(
        id="a1",
        principal="alice",
        thread_id="t",
        agent="support",
        run_key="r",
        turn_id="turn",
        call_id="c",
        tool="refund",
        arguments='{"amount":50}',
        state=state,
        expires_at=expires_at,
        runner="provider",
    )


def test_the_table_is_the_drawing() -> None:
    drawn = {line.split()[0]: set(line.split()[2:]) for line in ARROWS.strip().splitlines()}
    assert {state.value: {to.value for to in MOVES[state]} for state in State} == {
        state.value: drawn.get(state, set()) for state in State
    }


BACK = (State.GIVEN_BACK, State.PASSED)
"""The one move that leads back: a provider that did not act is told again."""


def test_every_state_can_be_reached_and_none_leads_back_but_what_was_given_back() -> None:
    reached = {State.PENDING}
    for state in State:  # declared in an order in which every arrow points forward
        assert state in reached
        forward = [to for to in MOVES[state] if (state, to) != BACK]
        assert all(list(State).index(to) > list(State).index(state) for to in forward)
        reached |= MOVES[state]


def test_a_call_runs_at_most_once() -> None:
    """The only way to a result leads through claimed, which is entered from pending alone."""
    assert sources(State.DONE) == (State.CLAIMED, State.PASSED)
    assert sources(State.UNKNOWN) == (State.CLAIMED, State.PASSED, State.GIVEN_BACK)
    assert sources(State.PASSED) == (State.CLAIMED, State.GIVEN_BACK)
    assert sources(State.GIVEN_BACK) == (State.PASSED,)
    assert sources(State.CLAIMED) == (State.PENDING,)
    assert sources(State.PENDING) == ()


@shows("B1")
def test_only_a_held_call_is_passed_on() -> None:
    with pytest.raises(IllegalMove, match="runs here"):
        check_move(msgspec.structs.replace(approval(State.CLAIMED), runner="here"), State.PASSED, 0)


def test_clients_are_told_the_states_that_they_know() -> None:
    """docs/http-api.md has the list. Whether a provider was told is no matter of theirs."""
    known = ["pending", "claimed", "done", "failed", "unknown", "rejected", "superseded", "cancelled", "expired"]
    assert {str(state.public) for state in State} == set(known)
    assert {state for state in State if state.public is not state} == {State.PASSED, State.GIVEN_BACK}


@pytest.mark.parametrize("source", State)
@pytest.mark.parametrize("to", State)
def test_sources_is_the_table_read_backwards(source: State, to: State) -> None:
    assert (source in sources(to)) == (to in MOVES[source])


@pytest.mark.parametrize("source", State)
@pytest.mark.parametrize("to", State)
@pytest.mark.parametrize(("expires_at", "now"), [(None, 10), (11, 10), (10, 10), (9, 10)])
def test_check_move_follows_the_table_and_the_clock(source: State, to: State, expires_at: int | None, now: int) -> None:
    overdue = expires_at is not None and expires_at <= now
    legal = to in MOVES[source]
    if to in DECISIONS:
        legal = legal and not overdue
    if to is State.EXPIRED:
        legal = legal and overdue
    given = approval(source, expires_at)
    assert given.expired_at(now) == overdue
    if legal:
        check_move(given, to, now)
    else:
        with pytest.raises(IllegalMove, match="approval a1"):
            check_move(given, to, now)


def test_only_what_a_person_says_is_bound_by_the_expiry() -> None:
    assert {State.CLAIMED, State.REJECTED} == DECISIONS


def test_what_runs_are_the_edited_arguments() -> None:
    asked = approval()
    assert asked.effective_arguments == '{"amount":50}'
    approved = msgspec.structs.replace(asked, decision=Decision(True))
    assert approved.effective_arguments == '{"amount":50}'
    edited = msgspec.structs.replace(asked, decision=Decision(True, edited_arguments='{"amount":40}'))
    assert edited.effective_arguments == '{"amount":40}'


def test_an_approval_survives_json() -> None:
    full = msgspec.structs.replace(approval(), decision=Decision(True, by="alice"), editable=("amount",))
    assert msgspec.json.decode(msgspec.json.encode(full), type=Approval) == full
