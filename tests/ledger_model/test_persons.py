"""Never a run without the needed number of different persons."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from agui_gate.core import agreement
from agui_gate.core.approvals import Approval, Decision, People
from tests.ledger_model.persons import search

SPARE = [pytest.param(*case, marks=pytest.mark.spare) for case in ((1, 7), (2, 5), (3, 5))]


@pytest.mark.parametrize(("needs", "depth"), [(1, 6), (2, 4), (3, 4), *SPARE])
def test_the_promise_holds_in_every_order(needs: int, depth: int) -> None:
    moments, why, history = search(needs, depth)
    assert why == "", history
    assert moments > 10, moments


def everybody(approval: Approval, people: People) -> set[str]:
    return {agreement.person_of(yes.decision) for yes in people.said if yes.of == approval.id}


def of_any_question(approval: Approval, people: People) -> set[str]:
    return {agreement.person_of(yes.decision) for yes in people.said} - {people.editor}


def principals(approval: Approval, people: People) -> set[str]:
    return {yes.decision.by for yes in people.said if yes.of == approval.id} - {people.editor}


def keeping(agree: Callable[..., Approval]) -> Callable[..., Approval]:
    """An edit that takes nothing back."""

    def then(approval: Approval, decision: Decision, now: int) -> Approval:
        after = agree(approval, decision, now)
        if approval.people is None or after.people is None or len(after.people.said) > len(approval.people.said):
            return after
        said = (*approval.people.said, *after.people.said)
        return msgspec.structs.replace(after, people=msgspec.structs.replace(after.people, said=said))

    return then


MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], Any]] = {
    "who edited counts": lambda patch: patch.setattr(agreement, "counted", everybody),
    "a yes of before a restore counts": lambda patch: patch.setattr(agreement, "counted", of_any_question),
    "principals are persons": lambda patch: patch.setattr(agreement, "counted", principals),
    "who asked may agree": lambda patch: patch.setattr(agreement, "is_asker", lambda *_: False),
    "anybody may agree": lambda patch: patch.setattr(agreement, "is_approver", lambda *_: True),
    "an edit takes nothing back": lambda patch: patch.setattr(agreement, "agree", keeping(agreement.agree)),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_rule_is_needed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)
    _, why, history = search(2, 4)
    assert why, history
