"""An edit is judged as the call was (T1): it changes what may change, and the rest is what was shown."""

import json
import uuid
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from agui_gate import Gate, SchemaTool, tool
from agui_gate.approvals import edits
from agui_gate.core.answers import Answer
from agui_gate.core.approvals import Approval
from agui_gate.core.browser_numbers import for_browser
from agui_gate.core.json_text import canonical
from agui_gate.core.registry import ApprovalIndex
from agui_gate.errors import ApprovalRefused
from tests.requirements import shows
from tests.support.chance import examples

pytestmark = shows("T1", "B11")

Made = Annotated[str, Field(default_factory=lambda: uuid.uuid4().hex)]


class Options(BaseModel):
    force: bool = True
    key: Made


@tool(gate=Gate(editable=["amount", "options", "account"]))
def pay(to: str, amount: float = 1, account: int = 2**60, options: Options = Options(), key: Made = ...) -> None:  # noqa: B008
    """Pay."""


def asked(arguments: dict[str, Any], of: Any = pay, digest: str | None = "d") -> Approval:
    judged = of.judged(arguments) if digest else json.dumps(arguments)
    ids = dict.fromkeys(("id", "principal", "thread_id", "agent", "run_key", "turn_id", "call_id", "tool"), "x")
    return Approval(**ids, arguments=judged, editable=of.gate.editable, schema_digest=digest)


def after(approval: Approval, sent: dict[str, Any], of: Any = pay) -> Any:
    """The arguments that would run; an error message if the edit is refused."""
    try:
        answer = Answer(target="approval", id="x", choice="approve", edited=sent)
        text = edits.edited(approval, answer, of)
    except ApprovalRefused as error:
        return error.message
    return json.loads(approval.arguments if text is None else text)


junk = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.just("5")
sent = st.fixed_dictionaries(
    {},
    optional={
        "to": st.just("x") | junk,
        "amount": st.floats(-100, 100) | junk,
        "account": st.integers(-(2**70), 2**70).map(for_browser) | junk,
        "options": st.fixed_dictionaries({}, optional={"force": st.booleans() | junk, "key": junk}) | junk,
        "key": junk,
        "more": junk,
    },
)


@examples(75)
@given(sent)
def test_what_may_not_be_edited_never_is_and_what_runs_is_whole(edit) -> None:
    approval = asked({"to": "x"})
    shown = json.loads(approval.arguments)
    ran = after(approval, {**for_browser(shown), **edit})
    if isinstance(ran, str):
        return
    assert {n: ran[n] for n in ("to", "key")} == {n: shown[n] for n in ("to", "key")}
    assert pay.judged(ran) == canonical(ran), "whole, exact"
    pay.exactly(canonical(ran))
    if "options" in edit and "key" not in edit["options"]:
        assert ran["options"]["key"] == shown["options"]["key"], "nobody saw another one"


@given(st.sets(st.sampled_from(["to", "amount", "account", "options", "key"])))
def test_what_is_left_out_is_its_default_or_as_shown_or_missing(left_out) -> None:
    approval = asked({"to": "x", "options": {}})
    shown = json.loads(approval.arguments)
    ran = after(approval, {n: v for n, v in for_browser(shown).items() if n not in left_out})
    if "to" in left_out:
        assert ran == "The edit was refused: it gives all arguments, and to is missing."
    elif "options" not in left_out:
        assert ran == shown
    else:
        assert {**ran, "options": 0} == {**shown, "options": 0}


def test_a_default_that_was_overruled_is_not_the_default_again_by_being_left_out() -> None:
    approval = asked({"to": "x", "amount": 5, "key": "mine"})
    assert after(approval, {"to": "x", "key": "mine"})["amount"] == 1, "which may be edited"
    assert after(approval, {"to": "x", "amount": 5})["key"] == "mine", "which may not, and was shown"

    @tool(gate=Gate(editable=["to"]))
    def send(to: str, loud: bool = False) -> None:
        """Send."""

    said = after(asked({"to": "x", "loud": True}, send), {"to": "y"}, send)
    assert said == "The edit was refused: these arguments may not be edited: loud."


def test_a_tool_of_a_schema_and_one_that_the_provider_runs() -> None:
    schema = {
        "properties": {"id": {"type": "integer"}, "cc": {"type": "string"}, "n": {"default": 3}},
        "required": ["id"],
    }
    mail = SchemaTool(None, name="mail", description="", parameters=schema, gate=Gate(editable=["cc", "id"]))
    approval = asked({"id": 2**60, "cc": "a"}, mail)
    assert json.loads(approval.arguments) == {"id": 2**60, "cc": "a", "n": 3}
    assert after(approval, {"id": str(2**60)}, mail) == {"id": 2**60, "n": 3}, "what has no default can be taken away"
    assert after(approval, {"id": str(2**61), "cc": "a"}, mail) == {"id": 2**61, "cc": "a", "n": 3}
    assert after(approval, {"cc": "a"}, mail) == "The edit was refused: it gives all arguments, and id is missing."
    held = asked({"id": 2**60}, mail, digest=None)
    assert after(held, {"id": str(2**60)}, None) == {"id": 2**60}


def test_an_edit_makes_a_call_so_much_larger_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MAX_EDIT", 10)
    schema = {"properties": {"text": {"type": "string"}}}
    mail = SchemaTool(None, name="mail", description="", parameters=schema, gate=Gate(editable=["text"]))
    approval = asked({"text": "a"}, mail)
    assert after(approval, {"text": "a" * 11}, mail) == {"text": "a" * 11}
    assert "may have at most" in after(approval, {"text": "a" * 12}, mail)


@pytest.mark.parametrize(
    ("claimed", "is_it"),
    [
        ({"to": "x"}, True),
        ({"to": "x", "amount": 1.0}, True),
        ({"to": "x", "account": str(2**60)}, True),
        ({"to": "x", "account": 2**60}, True),
        ({"to": "x", "account": 2**60 - 1}, False),
        ({"to": "x", "amount": "1"}, False),
        ({"to": "x", "amount": 2}, False),
        ({"to": "x", "key": "another"}, False),
        ({"to": "y"}, False),
        ({}, False),
    ],
)
def test_arguments_that_an_answer_names_are_those_that_were_asked_about(claimed, is_it: bool) -> None:
    approval = asked({"to": "x"})
    status = ApprovalIndex([approval]).check(approval, None, edits.meant(approval, json.dumps(claimed), pay))
    assert status == ("ok" if is_it else "arguments_mismatch")


@tool(gate=Gate(editable=["amount"]))
def pay_with_default(to: str, amount: float = 1) -> None:
    """Pay."""


def test_what_was_asked_before_arguments_were_judged_runs_as_it_was_shown_and_edited() -> None:
    old = asked({"to": "x"}, pay_with_default, digest=None)
    assert after(old, {"to": "x", "amount": 5}, pay_with_default) == {"to": "x", "amount": 5}
    assert after(old, {"to": "x"}, pay_with_default) == {"to": "x"}, "no default is put in that nobody saw"
    assert "missing" in after(old, {"amount": 5}, pay_with_default)
