"""Agreement: what is no yes to a call that waits for people, and who is taken for who asked."""

import pytest

from agui_gate.core.agreement import agree, is_asker
from agui_gate.core.approvals import Asker, Decision, People
from agui_gate.core.principals import owner_key
from agui_gate.errors import MayNotDecide
from tests.stores.support import gated

YES, NO = Decision(True, "bob", way="http"), Decision(False, "bob", way="http")


@pytest.mark.parametrize(("people", "decision"), [(None, YES), (People(), None), (People(), NO)])
def test_what_is_no_yes_of_somebody_claims_nothing(people: People | None, decision: Decision | None) -> None:
    with pytest.raises(MayNotDecide, match="Nobody in particular agreed"):
        agree(gated(people=people), decision, 0)


@pytest.mark.parametrize(
    ("asker", "by", "person", "is_who_asked"),
    [
        (None, "alice", "", True),
        (None, "bob", "", False),
        (None, "bob", "alice", False),
        (Asker("ada", "person-1"), "ada", "", True),
        (Asker("ada", "person-1"), "ada2", "person-1", True),
        (Asker("ada", "person-1"), "alice", "", False),
    ],
)
def test_where_nobody_wrote_down_who_asked_it_was_the_owner(
    asker: Asker | None, by: str, person: str, is_who_asked: bool
) -> None:
    record = gated(principal=owner_key("acme", "alice"), asker=asker)
    assert is_asker(record, Decision(True, by, person=person)) is is_who_asked
