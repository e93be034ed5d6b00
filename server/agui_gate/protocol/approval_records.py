"""The record of a gated call, as people and pages are told it: one set of names wherever it is told.

Whole, it is what ``GET /approvals/{id}`` answers. In messages and result events it is the value of
``metadata["agui-gate"]``, without what stands around it there anyway. Both generations of clients keep metadata on a
call, on a tool message and on TOOL_CALL_RESULT. They send it back with their history, where it means nothing.
"""

from typing import Any

from agui_gate.core.approvals import Approval
from agui_gate.core.events import METADATA
from agui_gate.protocol import cards
from agui_gate.protocol.cards import RESTORED, iso, people, shown

MAX_REASON = 1_000
"""Characters of a reason in metadata."""
MAX_ARGUMENTS = 20_000
"""Characters of arguments in metadata: issued and run."""

Json = dict[str, Any]


def record(approval: Approval, parameters: Json | None = None) -> Json:
    """Returns the whole record. ``parameters`` is the tool's JSON Schema: people read the arguments in its order."""
    return {
        **question(approval, parameters),
        "state": str(approval.state.public),
        "effective_arguments": shown(approval.effective_arguments, parameters),
        "decision": decision(approval),
        "result": approval.output.content if approval.output else None,
        "replaced": approval.replaced,
    }


def question(approval: Approval, parameters: Json | None = None) -> Json:
    """Returns the part of a record that never changes: what is asked."""
    return {
        "id": approval.id,
        "thread_id": approval.thread_id,
        "agent": approval.agent,
        "call_id": approval.call_id,
        "tool": approval.tool,
        "arguments": shown(approval.arguments, parameters),
        "editable": list(approval.editable),
        "message": _message(approval),
        "asked_at": iso(approval.asked_at),
        "expires_at": None if approval.expires_at is None else iso(approval.expires_at),
        **({} if approval.asker is None else {"asker": approval.asker.id}),
        **people(approval),
        **({"restored": True} if approval.is_asked_again else {}),
        **({"task": True} if approval.opens_task else {}),
    }


def _message(approval: Approval) -> str | None:
    """Returns the question that people are asked; of a restored backup, with a sentence that says so."""
    if not approval.is_asked_again:
        return cards.question(approval)
    return f"{cards.question(approval) or f'Run {approval.tool}?'} {RESTORED}"


def decision(approval: Approval) -> Json | None:
    """Returns who decided, when, which way, and why; None where nobody did."""
    made = approval.decision
    if made is None:
        return None
    told: Json = {"approved": made.approved, "by": made.by, "at": _at(approval), "way": made.way}
    told |= {"grant": made.grant} if made.grant else {}
    if made.absent or made.break_glass:
        from agui_gate.protocol.people import rights

        told |= rights(made)
    return told | {"reason": made.reason} if made.reason else told


def metadata(approval: Approval, parameters: Json | None = None) -> Json:
    """Returns what a call, its card and their results say of the record. ``parameters``: as in `record`.

    The arguments are here only where a person changed them: as they were issued, and as they ran. What is very long is
    only in the record: this is in a conversation several times.
    """
    told: Json = {"id": approval.id, "state": str(approval.state.public), "decision": decision(approval)}
    if told["decision"] and len(told["decision"].get("reason", "")) > MAX_REASON:
        told["decision"]["reason"] = f"{told['decision']['reason'][:MAX_REASON]}…"
    size = len(approval.effective_arguments) + len(approval.arguments)
    if approval.effective_arguments != approval.arguments and size <= MAX_ARGUMENTS:
        told["arguments"] = shown(approval.arguments, parameters)
        told["effective_arguments"] = shown(approval.effective_arguments, parameters)
    if approval.replaced:
        told["replaced"] = True
    if approval.opens_task:
        told["task"] = True
    return {METADATA: told}


def _at(approval: Approval) -> str | None:
    return None if approval.decided_at is None else iso(approval.decided_at)
