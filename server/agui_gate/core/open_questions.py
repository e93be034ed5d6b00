"""A question that wants more than a yes or a no, as a call that its provider holds back.

Its arguments are what is asked (``asked``), the JSON Schema of the answer where the provider gave one (``schema``), and
the place of the answer, which is empty (``answer``). A person answers by filling it in: an edit of that one argument,
as any other edit. So cards, interrupts, records and the shell need nothing new for it.

Who answers an interrupt may also send the answer by itself, as the schema says. That is how a page answers that was
written for the provider.

A plain yes stands for ``{"approved": true}``. Whatever the answer is, it has to fit the schema. One that doesn't is
refused, and the question stays.
"""

from typing import Any

import msgspec

from agui_gate.core.answers import Answer
from agui_gate.core.approvals import Approval
from agui_gate.core.json_text import parse_object

ASKED, SCHEMA, ANSWER = "asked", "schema", "answer"
YES = {"approved": True}

Json = dict[str, Any]


def open_question(asked: Json, schema: Json | None) -> Json:
    """Returns the arguments of a call that puts such a question."""
    return {ASKED: asked, **({} if schema is None else {SCHEMA: schema}), ANSWER: None}


def of(approval: Approval) -> Json | None:
    """Returns the arguments of the question that ``approval`` is about; None where it asks for a yes or a no."""
    if not approval.is_held or approval.editable != (ANSWER,):
        return None
    arguments = parse_object(approval.arguments) or {}
    return arguments if {ASKED, ANSWER} <= arguments.keys() <= {ASKED, SCHEMA, ANSWER} else None


def schema(approval: Approval) -> Json | None:
    """Returns the schema of the answer, where the provider gave one."""
    found = (of(approval) or {}).get(SCHEMA)
    return found if isinstance(found, dict) else None


def parameters(approval: Approval) -> Json | None:
    """Returns the schema of the question's arguments; None where it asks for a yes or a no."""
    asked = of(approval)
    return None if asked is None else {"type": "object", "properties": {ANSWER: asked.get(SCHEMA, {})}}


def read(approval: Approval, answer: Answer) -> Answer:
    """Returns ``answer``, as it is meant where ``approval`` wants more than a yes or a no. Pure, and it fails
    closed.
    """
    asked = of(approval)
    if asked is None or _is_no(answer):
        return answer
    value, problem = _value(answer, asked.get(SCHEMA, {}))
    if problem is not None:
        return msgspec.structs.replace(answer, problem=f"the question wants another answer: {problem}")
    edited = None if value == YES else asked | (answer.edited or {}) | {ANSWER: value}
    return msgspec.structs.replace(answer, choice="approve", edited=edited, problem=None)


def _is_no(answer: Answer) -> bool:
    """Also one that can't be understood: it is no answer to anything."""
    given = answer.given
    if answer.problem is None:
        return answer.choice != "approve"
    denies = isinstance(given, dict) and any(given.get(word) is False for word in ("approved", "accepted"))
    return denies or given is None


def _value(answer: Answer, wanted: Any) -> tuple[Any, str | None]:
    """Returns what is to be told, and what is wrong with it. A page may send an answer that is no object as an
    object.
    """
    from agui_gate.core.schema_match import misfit

    value = YES if answer.given is None else answer.given
    if answer.edited is not None:
        value = answer.edited.get(ANSWER)
    problem = misfit(value, wanted)
    if problem is not None and isinstance(value, dict) and value.keys() == {ANSWER}:
        value = value[ANSWER]
        problem = misfit(value, wanted)
    if value is None and problem is None:  # the place of the answer stays empty, which is a plain yes
        problem = misfit(YES, wanted)
    return value, problem
