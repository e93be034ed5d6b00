"""What answers amount to: one verdict a call, and what can't be taken leaves the call waiting."""

import msgspec
import pytest

from agui_gate.approvals.answer_validation import validate_answers
from agui_gate.approvals.edits import agrees
from agui_gate.core.answers import Answer, Way
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.registry import ApprovalIndex
from tests.requirements import shows

ASKED = Approval(
    id="apr_1", principal="p", thread_id="t", agent="a", run_key="r", turn_id="turn", call_id="c1", tool="refund",
    arguments='{"amount":50}',
)  # fmt: skip
YES = Answer(target="approval", id="apr_1", choice="approve")
NO = msgspec.structs.replace(YES, choice="reject")


def about(**claimed):
    return msgspec.structs.replace(YES, **claimed)


def judged(index, *answers):
    """The moves that were decided on, and why answers were refused."""
    judgement = validate_answers(answers, index, lambda approval: None, "ada", lambda approval: None)
    return [verdict.to for verdict in judgement.verdicts], [refused.error.message for refused in judgement.refused]


@shows("B1", "B6")
def test_a_call_that_was_answered_takes_no_second_answer() -> None:
    index = ApprovalIndex([ASKED])
    assert judged(index, YES) == ([State.CLAIMED], [])
    assert judged(index, YES) == judged(index, NO) == ([], [])


@shows("B1", "B2")
@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([YES, NO], "contradict"),
        ([about(name="delete")], "a different tool"),
        ([about(arguments='{"amount":51}')], "different arguments"),
        ([about(problem="no")], "not understood"),
        ([about(name="delete"), about(arguments="{}")], "different arguments"),
    ],
)
def test_what_can_not_be_taken_leaves_the_call_waiting(answers, why: str) -> None:
    index = ApprovalIndex([ASKED])
    moves, (message,) = judged(index, *answers)
    assert moves == []
    assert why in message
    assert judged(index, YES) == ([State.CLAIMED], []), "and a proper answer counts"


@shows("B2")
def test_a_proper_answer_counts_beside_one_that_can_not_be_taken() -> None:
    right = about(name="refund", arguments='{"amount":50}')
    for answers in ([about(name="delete"), right], [right, about(name="delete")], [right, YES]):
        assert judged(ApprovalIndex([ASKED]), *answers) == ([State.CLAIMED], [])


def test_an_answer_to_nothing_and_one_that_comes_too_late_decide_nothing() -> None:
    assert judged(ApprovalIndex(), YES) == ([], [])
    moves, (message,) = judged(ApprovalIndex([msgspec.structs.replace(ASKED, state=State.DONE)]), YES)
    assert (moves, message) == ([], "This call is no longer pending.")


ANSWERED = msgspec.structs.replace(
    ASKED, arguments='{"amount":50,"id":"12345678901234567890"}', editable=("amount",), state=State.DONE
)


def decided(approved: bool, edited: str | None = None, way: Way = "message") -> Approval:
    return msgspec.structs.replace(ANSWERED, decision=Decision(approved, "ada", edited_arguments=edited, way=way))


@shows("B6")
def test_an_answer_that_was_sent_twice_agrees_and_one_that_says_something_else_does_not() -> None:
    assert agrees(YES, decided(True))
    assert agrees(NO, decided(False))
    assert not agrees(NO, decided(True))
    assert not agrees(YES, decided(False))
    assert not agrees(YES, ANSWERED), "nobody decided"
    assert not agrees(YES, decided(True, way="http")), "somebody else did"
    assert agrees(msgspec.structs.replace(YES, problem="It is no JSON."), decided(False)), "it says nothing"


@shows("B6", "B11")
def test_an_edit_that_was_sent_twice_agrees_only_if_it_is_what_ran() -> None:
    ran = decided(True, '{"amount":7,"id":"12345678901234567890"}')
    same: dict[str, object] = {"amount": 7, "id": "12345678901234567890"}
    assert agrees(about(edited=same), ran)
    assert not agrees(about(edited=same | {"amount": 8}), ran)
    assert not agrees(about(edited=same | {"amount": float("nan")}), ran), "no JSON"
    assert not agrees(YES, ran), "it approves what was asked, and that did not run"
    assert agrees(msgspec.structs.replace(NO, edited=same), decided(False)), "what goes with a no is dropped"
