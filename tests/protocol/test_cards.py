"""How a gated call is shown, and what its answer must look like."""

import jsonschema
import pytest
from referencing import Registry

from agui_gate.agents.tool import Gate, Tool
from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import parse_object
from agui_gate.protocol.cards import NotAllowed, card_arguments, checked_edit, interrupt, iso
from tests.requirements import shows


def approval(**more):
    fields = {
        "id": "apr_1", "principal": "p", "thread_id": "t", "agent": "a", "run_key": "r", "turn_id": "turn",
        "call_id": "call_1", "tool": "refund", "arguments": '{"amount":20,"order_id":"A1"}', "style": "card",
    }  # fmt: skip
    return Approval(**{**fields, **more})


def test_a_card_has_what_the_contract_says() -> None:
    shown = parse_object(card_arguments(approval(), {"type": "object"}))
    assert shown == {
        "function_name": "refund",
        "function_call_id": "call_1",
        "function_arguments": {"order_id": "A1", "amount": 20},
        "steps": [{"description": "Execute refund", "status": "enabled"}],
    }
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    more = parse_object(card_arguments(approval(editable=("amount",), message="Sure?", expires_at=1_000), schema))
    assert more["editable"] == ["amount"]
    assert more["function_parameters"] == schema, "an edit form needs to know the types"
    assert more["steps"][0]["description"] == "Sure?"
    assert more["expires_at"] == "1970-01-01T00:00:01.000Z"
    again = parse_object(card_arguments(approval(message="Sure?"), schema, "The edit was refused."))
    assert again["refused"] == "The edit was refused."
    assert again["steps"][0]["description"] == "The edit was refused. Sure?", (
        "told by clients that show no more than this"
    )


@shows("B11")
def test_an_interrupt_advertises_edits_only_where_they_are_possible() -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    plain = interrupt(approval(), schema)
    assert (plain.id, plain.reason, plain.tool_call_id, plain.expires_at) == ("apr_1", "tool_call", "call_1", None)
    assert plain.metadata["arguments"] == {"order_id": "A1", "amount": 20}
    assert "editedArgs" not in plain.response_schema["properties"]
    editable = interrupt(approval(editable=("amount",), expires_at=0), schema)
    assert editable.response_schema["properties"]["editedArgs"]["properties"] == schema["properties"]
    assert editable.metadata["editable"] == ["amount"]
    assert editable.metadata["expires_at"] == iso(0)


def test_references_in_a_tools_schema_still_resolve() -> None:
    import pydantic

    class Address(pydantic.BaseModel):
        street: str

    def ship(to: Address) -> str:
        """Ship."""
        return to.street

    tool = Tool(ship, gate=Gate(editable=["to"]))
    schema = interrupt(approval(editable=("to",)), tool.parameters).response_schema
    check = jsonschema.Draft202012Validator(schema, registry=Registry())
    assert not list(check.iter_errors({"approved": True, "editedArgs": {"to": {"street": "x"}}}))
    assert list(check.iter_errors({"approved": True, "editedArgs": {"to": {"street": 5}}}))
    assert list(check.iter_errors({"approved": "yes"}))


@shows("B11", "B28")
@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ({"order_id": "A1", "amount": 20}, None),
        ({"order_id": "A1", "amount": 20.0}, None),
        ({"amount": 5, "order_id": "A1"}, '{"amount":5,"order_id":"A1"}'),
        ({"order_id": "A1"}, '{"order_id":"A1"}'),
        ({"order_id": "A2", "amount": 20}, NotAllowed),
        ({"amount": 20}, NotAllowed),
        ({"order_id": "A1", "amount": 20, "extra": 1}, NotAllowed),
        ({}, NotAllowed),
        ({"order_id": ["A1"], "amount": 20}, NotAllowed),
    ],
)
def test_edits_change_only_what_may_be_changed(edited, expected) -> None:
    asked = approval(editable=("amount",))
    if expected is NotAllowed:
        with pytest.raises(NotAllowed, match="may not be edited"):
            checked_edit(asked, edited)
    else:
        assert checked_edit(asked, edited) == expected


def test_booleans_and_numbers_are_not_the_same() -> None:
    with pytest.raises(NotAllowed):
        checked_edit(approval(arguments='{"flag":true}'), {"flag": 1})
    with pytest.raises(NotAllowed):
        checked_edit(approval(arguments='{"flag":null}'), {})


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_795_324_011_000, "2026-11-22T05:06:51.000Z"),
        (1_795_324_010_926, "2026-11-22T05:06:50.926Z"),
        (1_795_324_010_001, "2026-11-22T05:06:50.001Z"),
    ],
)
def test_times_are_what_javascript_writes(ms: int, text: str) -> None:
    assert iso(ms) == text
