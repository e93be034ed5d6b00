"""Answers fail closed: only a strict yes to the call as it was issued is a yes."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core import answers as an
from tests.requirements import shows
from tests.support.chance import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["approved", "accepted", "steps", "status", "reason", "editedArgs", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


def is_yes(payload):
    """The rule, written a second time."""
    if not isinstance(payload, dict):
        return False
    said = [payload[k] for k in ("approved", "accepted") if k in payload]
    if not said or any(value is not True for value in said):
        return False
    steps = payload.get("steps")
    if steps is not None and not isinstance(steps, list):
        return False
    return all(isinstance(s, dict) and s.get("status", "enabled") == "enabled" for s in steps or ())


@shows("B1", "B28")
@examples(100)
@given(JSON)
def test_only_a_strict_yes_is_a_yes(payload) -> None:
    answer = an.from_payload("approval", "a", payload)
    if answer.problem is None:
        assert (answer.choice == "approve") == is_yes(payload)
    else:
        assert answer.choice == "reject"
        assert answer.edited is None
    in_text = an.from_text("approval", "a", json.dumps(payload))
    assert in_text == answer or not isinstance(payload, dict)
    resumed = msgspec.structs.replace(answer, way="resume", given=payload)
    assert an.from_resume("a", "resolved", payload) == resumed


@shows("B1")
@pytest.mark.parametrize("key", ["approved", "accepted"])
def test_every_way_in_means_the_same(key: str) -> None:
    payload = {key: True, "reason": "fine", "editedArgs": {"a": 1}}
    expected = an.Answer(target="call", id="c", choice="approve", reason="fine", edited={"a": 1})
    assert an.from_payload("call", "c", payload) == expected
    assert an.from_text("call", "c", json.dumps(payload)) == expected
    resumed = msgspec.structs.replace(expected, way="resume")
    assert an.from_command({"resume": payload, "interruptEvent": {"toolCallId": "c"}}) == resumed
    assert an.from_command({"resume": json.dumps(payload), "interruptEvent": {"toolCallId": "c"}}) == resumed
    listed = msgspec.structs.replace(expected, sent={**payload, "call_id": "c"})
    assert an.from_function_approval({**payload, "call_id": "c"}) == listed
    assert an.from_payload("call", "c", {key: True, "reason": "fine", "edited_arguments": {"a": 1}}) == expected


@pytest.mark.parametrize(
    "content", ["yes", "true", "", "{", '"approved"', "[true]", '{"approved":true}x', '{"approved":"true"}']
)
def test_text_that_is_no_answer(content: str) -> None:
    answer = an.from_text("card", "c", content)
    assert answer.problem is not None
    assert answer.choice == "reject"


def test_what_goes_with_a_no_is_dropped() -> None:
    answer = an.from_payload("call", "c", {"approved": False, "reason": "  ", "editedArgs": {"a": 1}})
    assert (answer.choice, answer.reason, answer.edited, answer.problem) == ("reject", None, None, None)
    assert an.from_payload("call", "c", {"approved": True, "reason": 5}).reason is None
    assert an.from_payload("call", "c", {"approved": True, "editedArgs": None}).edited is None
    assert an.from_payload("call", "c", {"approved": True, "editedArgs": []}).problem


def test_a_cancelled_interrupt_is_nobodys_no() -> None:
    assert an.from_resume("i", "cancelled", {"approved": True}) == an.Answer(
        target="approval", id="i", choice="cancel", way="resume"
    )
    assert an.from_resume("i", "resolved", None).problem


@pytest.mark.parametrize(
    "command",
    [
        None, 5, "x", [], {}, {"resume": {"approved": True}}, {"resume": {"approved": True}, "interruptEvent": "apr_1"},
        {"resume": {"approved": True}, "interruptEvent": {"id": 5}}, {"interruptEvent": {"id": "a"}},
    ],
)  # fmt: skip
def test_a_command_that_names_nothing_answers_nothing(command) -> None:
    assert an.from_command(command) is None


def test_a_command_may_name_the_interrupt() -> None:
    for key in ("id", "interruptId"):
        answer = an.from_command({"resume": {"approved": True}, "interruptEvent": {key: "apr"}})
        assert (answer.target, answer.id, answer.choice) == ("approval", "apr", "approve")


@shows("B28")
@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"call_id": "c", "approved": True}, None),
        ({"id": "a", "approved": True}, None),
        ({"call_id": "c", "approved": True, "name": 5}, "name"),
        ({"call_id": "c", "approved": True, "arguments": 5}, "arguments"),
        ({"call_id": "c", "approved": True, "arguments": '{"a":'}, "arguments"),
        ({"call_id": "c", "approved": "true"}, "approved"),
        ({"call_id": "c"}, "approved"),
    ],
)
def test_function_approvals(item, problem: str | None) -> None:
    answer = an.from_function_approval(item)
    assert (answer.problem is None) == (problem is None)
    assert problem is None or problem in answer.problem


def test_function_approvals_claim_what_they_are_about() -> None:
    for arguments in ({"b": 1.0, "a": 2}, '{"a":2,"b":1}'):
        answer = an.from_function_approval({"call_id": "c", "approved": True, "name": "refund", "arguments": arguments})
        assert (answer.name, answer.arguments) == ("refund", '{"a":2,"b":1}')
    for item in (None, 5, [], {}, {"call_id": 5}, {"call_id": "", "id": ""}, {"approved": True}):
        assert an.from_function_approval(item) is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"accepted":true}', True),
        ('{"approved":"maybe"}', True),
        ('{"x":1,"accepted":null}', True),
        ('{"x":"accepted"}', False),
        ('["accepted"]', False),
        ("accepted", False),
        ('{"accepted":', False),
        ("", False),
    ],
)
def test_what_looks_like_an_answer(content: str, expected: bool) -> None:
    assert an.looks_like_answer(content) is expected
