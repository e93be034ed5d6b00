"""The results of calls that no tool has returned: one text for the model, the user and the record.

All are JSON objects with a ``status``, so that a page can tell them apart. A result of a tool that ran is what the
tool returned, as it is.
"""

import msgspec

from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.errors import NotSaved

_MESSAGES = {
    State.REJECTED: "The user rejected this call. It was not executed.",
    State.SUPERSEDED: "Not executed: the user went on without answering. Nobody denied it; ask again if still wanted.",
    State.CANCELLED: "Not executed: it was cancelled before it ran. Nobody denied it.",
    State.EXPIRED: "Not executed: nobody answered before it expired.",
    State.UNKNOWN: "It was interrupted while it ran. Whether it took effect is not known; check before trying again.",
}


def closed(state: State, reason: str | None = None) -> Output:
    """Returns the output of a gated call that ended in ``state`` without a result."""
    return status(str(state), _MESSAGES[state], reason)


def status(word: str, message: str, reason: str | None = None) -> Output:
    """Returns an output that reports a status other than success."""
    body = {"status": word, "message": message}
    if reason:
        body["reason"] = reason
    return Output(msgspec.json.encode(body).decode(), True)


def failed(message: str) -> Output:
    """Returns the output of a tool that failed."""
    return Output(msgspec.json.encode({"status": "error", "error": message}).decode(), True)


UNANSWERED_CLIENT = status("cancelled", "Not executed: the client gave no result.")
INTERRUPTED = closed(State.UNKNOWN)
CANCELLED_RUNNING = status("cancelled", "It was cancelled while it ran. Whether it took effect is not known.")
CANCELLED_BEFORE = status("cancelled", "Not executed: the run ended before this call began.")
NOT_STARTED = status("cancelled", "Not executed: it was approved, and stopped before it began. Ask again if wanted.")
CUT_OFF = status("cancelled", "Not executed: the answer was cut off before the call was complete.")
CUT_OFF_HOSTED = status(
    "unknown", "The provider's answer was cut off while it ran this. Whether it took effect is not known."
)
NO_RESULT = status("unknown", "The provider gave no result. Whether it took effect is not known.")
BEGUN = Output('{"status":"approved","message":"Approved. The task begins."}')
APPROVED = Output('{"status":"approved","message":"Approved. The provider was told to run this call."}')
CONSENT_LOST = status(
    "cancelled",
    "Approved, but the provider no longer knows this call, or would run it elsewhere. So it was not executed. "
    "Ask again if wanted.",
)


def not_saved(error: NotSaved) -> Output:
    """Returns what is told of a call while what came of it could not be saved."""
    if not error.ran:
        return NOT_STARTED
    return status("unknown", "It ran, but its result could not be saved yet. It does not run again.")


def on_cards(approval: Approval) -> Output | None:
    """Returns what cards say that ask about ``approval``, once it is decided."""
    return BEGUN if approval.is_begun else approval.output
