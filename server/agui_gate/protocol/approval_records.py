"""The record of a gated call, as people and pages are told it: one set of names wherever it is told.

Whole, it is what ``GET /approvals/{id}`` answers. In messages and result events it is the value of
``metadata["agui-gate"]``, without what stands around it there anyway. Both generations of clients keep metadata on a
call, on a tool message and on TOOL_CALL_RESULT. They send it back with their history, where it means nothing.
"""

from datetime import UTC, datetime
from typing import Any

from agui_gate.core.approvals import LOCAL, Approval, Decision, State
from agui_gate.core.events import METADATA
from agui_gate.core.json_text import parse_object
from agui_gate.protocol import cards
from agui_gate.protocol.cards import RESTORED, iso, people, shown

MAX_REASON = 1_000
"""Characters of a reason in metadata."""
MAX_ARGUMENTS = 20_000
"""Characters of arguments in metadata: issued and run."""

Json = dict[str, Any]

_WORDS = {
    State.PENDING: "This was asked before a backup was restored and is asked again. Answer the new question.",
    State.REJECTED: "Already rejected{by}{at}.",
    State.CANCELLED: "Already cancelled{by}{at}.",
    State.CLAIMED: "Already approved{by}{at}. It is running.",
    State.DONE: "Already approved{by}{at}. It ran.",
    State.FAILED: "Already approved{by}{at}. It ran and failed.",
    State.UNKNOWN: "Already approved{by}{at}. Whether it took effect is not known.",
    State.SUPERSEDED: "This was closed{at}, because the conversation continued without an answer.",
    State.EXPIRED: "This expired{at} before it was decided.",
}

_NOT_RUN = "Already approved{by}{at}. It was stopped before it ran, so it was not executed."
_BEGUN = "Already approved{by}{at}. The task was begun."
_REPLACED = "Already approved{by}{at}, in an answer that was replaced."


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


def already(approval: Approval, now: int) -> str:
    """Returns one sentence for an answer that comes too late: what is true. Times are in UTC, with the date if not
    today's.
    """
    made = approval.decision
    if made is None and approval.state is State.CANCELLED:
        return f"This was cancelled{_when(approval, now)} before it was decided."
    words = _NOT_RUN if _was_not_run(approval) else _WORDS[approval.state.public]
    if approval.is_begun:  # in what was replaced, it may never have come to that
        words = _REPLACED if approval.replaced else _BEGUN
    return words.format(by=_by(made), at=_when(approval, now))


def _was_not_run(approval: Approval) -> bool:
    """Returns whether it was approved, and its tool surely never began: then the result is a status of ours."""
    if approval.state is not State.FAILED or approval.output is None:
        return False
    result = parse_object(approval.output.content)
    return result is not None and result.get("status") == "cancelled"


def _by(made: Decision | None) -> str:
    """Returns who decided, as " by NAME".

    Nobody is named where there is one person alone, or one with a name that is no single word to show.
    """
    name = made.by if made else ""
    return f" by {name}" if name and name != LOCAL and name.isprintable() and len(name) <= 64 else ""


def _when(approval: Approval, now: int) -> str:
    if approval.decided_at is None:
        return ""
    then, today = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (approval.decided_at, now))
    day = "" if then.date() == today.date() else f" on {then:%Y-%m-%d}"
    return f"{day} at {then:%H:%M} UTC"


def _at(approval: Approval) -> str | None:
    return None if approval.decided_at is None else iso(approval.decided_at)
