"""The index by which an answer finds its approval: every key leads to one record, which an answer uses up."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.answers import Target
from agui_gate.core.approvals import Approval, State
from agui_gate.core.registry import ApprovalIndex
from tests.requirements import shows

KEYS: list[tuple[str, Target]] = [("apr_1", "approval"), ("c1", "call"), ("card_1", "card"), ("card_2", "card")]
CARDS = {"card_1": "apr_1", "card_2": "apr_1", "card_3": "apr_2"}


def asked(number: int = 1, **more: Any) -> Approval:
    approval = Approval(
        id=f"apr_{number}", principal="p", thread_id="t", agent="a", run_key="r", turn_id="turn", call_id=f"c{number}",
        tool="refund", arguments='{"amount":50}',
    )  # fmt: skip
    return msgspec.structs.replace(approval, **more)


@shows("S4", "B1")
@pytest.mark.parametrize("key", KEYS)
def test_every_key_leads_to_one_record_which_an_answer_uses_up_under_all_of_them(key: tuple[str, Target]) -> None:
    first, second = asked(1), asked(2)
    index = ApprovalIndex([first, second], CARDS)
    found = index.find(*key)
    assert found is first
    assert index.consume(found) == "ok"
    assert [index.find(*other) for other in KEYS] == [None] * len(KEYS)
    assert index.consume(first) == index.check(first) == "missing"
    assert index.find("c2", "call") is index.find("card_3", "card") is second


@shows("S5", "B28")
@pytest.mark.parametrize(
    ("name", "arguments", "status"),
    [
        (None, None, "ok"),
        ("refund", '{ "amount": 50.0 }', "ok"),
        ("delete", None, "name_mismatch"),
        ("", None, "name_mismatch"),
        (None, '{"amount":51}', "arguments_mismatch"),
        (None, "{}", "arguments_mismatch"),
        (None, "", "arguments_mismatch"),
        (None, '{"amount":', "arguments_mismatch"),
        ("delete", "{}", "name_mismatch"),
    ],
)
def test_what_an_answer_says_that_it_is_about_has_to_be_what_was_asked(
    name: str | None, arguments: str | None, status: str
) -> None:
    approval = asked()
    index = ApprovalIndex([approval])
    assert index.check(approval, name, arguments) == status
    assert index.find("c1", "call") is approval, "looking uses nothing up"
    assert index.consume(approval, name, arguments) == status
    assert index.find("c1", "call") is (None if status == "ok" else approval)


@shows("B1")
@pytest.mark.parametrize("state", [state for state in State if state is not State.PENDING])
def test_what_was_decided_before_is_found_and_takes_no_answer(state: State) -> None:
    decided = asked(state=state)
    index = ApprovalIndex([decided], CARDS)
    assert [index.find(*key) for key in KEYS] == [decided] * len(KEYS)
    assert index.check(decided) == index.consume(decided) == "missing"
    assert index.find("apr_1", "call") is None


@shows("B28")
def test_a_call_whose_id_looks_like_another_ones_key_takes_nothing_from_it() -> None:
    first, sly = asked(1), asked(2, call_id="apr_1")
    index = ApprovalIndex([first, sly], {"card_1": "apr_1", "c1": "apr_2"})
    assert index.find("apr_1", "approval", "call") is first
    assert index.find("apr_1", "call") is index.find("c1", "card") is sly
    assert index.find("c1", "call") is index.find("card_1", "card") is first
    assert index.find("card_9", "card", "call", "approval") is None


IDS = st.sampled_from(["1", "2", "3"])


@given(st.dictionaries(IDS, st.sampled_from(State)), st.dictionaries(st.sampled_from("xyz"), IDS))
def test_an_index_is_as_a_search_through_all_records(states: dict[str, State], cards: dict[str, str]) -> None:
    records = [asked(int(number), state=state) for number, state in states.items()]
    index = ApprovalIndex(iter(records), {card: f"apr_{number}" for card, number in cards.items()})
    for record in records:
        assert index.find(record.id, "approval") is index.find(record.call_id, "call") is record
        assert (index.check(record) == "ok") is (record.state is State.PENDING)
    for card, number in cards.items():
        assert index.find(card, "card") is next((r for r in records if r.id == f"apr_{number}"), None)
