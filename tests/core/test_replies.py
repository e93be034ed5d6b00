"""The schema of an answer that clients are shown, and the model that reads answers, are one."""

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry

from agui_gate.core.answers import NotUnderstood, Reply, read_reply, reply_schema
from tests.requirements import shows
from tests.support.chance import examples

AMOUNT = {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}
VALUES = st.none() | st.booleans() | st.integers(0, 1) | st.text(max_size=3) | st.just({"amount": 5}) | st.just([])
PAYLOADS = st.dictionaries(st.sampled_from(["approved", "reason", "editedArgs", "more"]), VALUES) | VALUES


def fits(payload, made):
    return jsonschema.Draft202012Validator(made, registry=Registry()).is_valid(payload)


def is_read(payload):
    try:
        read_reply(payload)
    except NotUnderstood:
        return False
    return True


def test_what_clients_are_shown() -> None:
    shown = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the call may run."},
            "reason": {"type": "string", "description": "Why, for the model and the record."},
        },
        "required": ["approved"],
    }
    assert reply_schema(None) == shown
    edited = {**AMOUNT, "description": "Replaces all arguments."}
    assert reply_schema(AMOUNT) == {**shown, "properties": {**shown["properties"], "editedArgs": edited}}
    assert reply_schema({**AMOUNT, "$defs": {"X": {"type": "null"}}}) == {
        **reply_schema(AMOUNT),
        "$defs": {"X": {"type": "null"}},
    }
    assert reply_schema(None) == shown, "making one leaves the next as it is"


@shows("B1", "B28")
@examples(100)
@given(PAYLOADS)
def test_what_fits_the_advertised_schema_is_read_and_nothing_else_but_nulls(payload) -> None:
    if isinstance(payload, dict):
        given_nulls = {name for name in ("reason", "editedArgs") if name in payload and payload[name] is None}
        plain = {name: value for name, value in payload.items() if name not in given_nulls}
        assert is_read(payload) == is_read(plain), "null stands for absent"
    else:
        plain = payload
    assert is_read(plain) == fits(plain, reply_schema({"type": "object"}))


def test_a_member_that_is_added_to_the_model_is_advertised() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(Reply)}
    assert set(reply_schema({})["properties"]) == names
    assert set(reply_schema({})["required"]) == {f.encode_name for f in msgspec.structs.fields(Reply) if f.required}


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        (None, "the answer is not an object with a boolean 'approved'"),
        ([True], "the answer is not an object with a boolean 'approved'"),
        ({}, "'approved' must be true or false"),
        ({"approved": 1}, "'approved' must be true or false"),
        ({"accepted": "true"}, "'approved' must be true or false"),
        ({"approved": True, "accepted": False}, "'approved' and 'accepted' contradict each other"),
        ({"approved": True, "accepted": 1}, "'approved' and 'accepted' contradict each other"),
        ({"approved": True, "accepted": None}, "'approved' and 'accepted' contradict each other"),
        ({"approved": "yes", "accepted": "".join(["y", "es"])}, "'approved' must be true or false"),
        ({"approved": None, "accepted": None}, "'approved' must be true or false"),
        ({"approved": True, "reason": 5}, "'reason' must be text"),
        ({"approved": True, "editedArgs": "{}"}, "the edited arguments must be one object"),
        ({"approved": True, "editedArgs": {}, "edited_arguments": {}}, "the edited arguments must be one object"),
    ],
)
def test_what_is_wrong_is_said(payload, problem: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        read_reply(payload)
    assert str(caught.value) == problem


def test_an_edit_to_nothing_is_an_edit() -> None:
    assert read_reply({"approved": True, "editedArgs": {}}).edited == {}
    assert read_reply({"approved": True, "edited_arguments": None}).edited is msgspec.UNSET
