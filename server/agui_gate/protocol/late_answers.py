"""Says in one sentence what is true of a call, to whoever answers it too late."""

from datetime import UTC, datetime

from agui_gate.core.approvals import LOCAL, Approval, Decision, State
from agui_gate.core.json_text import parse_object

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
