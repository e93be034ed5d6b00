"""Reading what came back: how a call went, with which arguments it really ran, and what it returned."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from agui_gate_adapters.testkit.brain.plan import Call
from agui_gate_adapters.testkit.brain.sentences import stem, stems_of_name
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Outcome", "Result", "parse_output"]

Outcome = Literal["done", "rejected", "superseded", "cancelled", "expired", "failed", "unknown"]

_OUTCOMES: Final[dict[str, Outcome]] = {
    "rejected": "rejected",
    "denied": "rejected",
    "declined": "rejected",
    "superseded": "superseded",
    "cancelled": "cancelled",
    "expired": "expired",
    "unknown": "unknown",
    "error": "failed",
    "failed": "failed",
}

_SIGNS: Final[tuple[tuple[Outcome, re.Pattern[str]], ...]] = (
    ("superseded", re.compile(r"supersed|moved on|no longer needed|not answered|unanswered", re.IGNORECASE)),
    ("expired", re.compile(r"\bexpired?\b|timed? ?out waiting", re.IGNORECASE)),
    ("cancelled", re.compile(r"\bcancel|\babort", re.IGNORECASE)),
    ("rejected", re.compile(r"\breject|\bdenied\b|\bdeclin|\brefus|not approved|\bdisapprov", re.IGNORECASE)),
    ("failed", re.compile(r"\berror\b|\bfail|exception|not found|could not|unknown outcome", re.IGNORECASE)),
)


class Result(msgspec.Struct, frozen=True):
    """One call with its output. ``call`` is what ran; ``issued`` is the call as it was made, if a person changed it."""

    call: Call
    value: Any
    outcome: Outcome
    issued: Call | None = None


def parse_output(call: Call, text: str) -> Result:
    """Read an output: JSON where it is JSON, how the call went, and what ran where a person changed the arguments."""
    value = _decoded(text)
    changed = _changed(value)
    if changed is None:
        return Result(call, value, _outcome(call, value))
    ran = msgspec.structs.replace(call, arguments=changed)
    inner = value["result"]
    inner = _decoded(inner) if isinstance(inner, str) else inner
    return Result(ran, inner, _outcome(ran, inner), call)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _changed(value: Any) -> Json | None:
    """The arguments that ran, of an output that says that they were changed: `{note, arguments, result}`."""
    if not isinstance(value, dict) or set(value) != {"note", "arguments", "result"}:
        return None
    arguments = value["arguments"]
    return arguments if isinstance(arguments, dict) else None


def _outcome(call: Call, value: Any) -> Outcome:
    if isinstance(value, str) and len(value) < 600:
        return _sign(value, set(stems_of_name(call.name))) or "done"
    if not isinstance(value, dict):
        return "done"
    if value.get("approved") is False or value.get("accepted") is False:
        return "rejected"
    error = value.get("error")
    told = error.get("code") if isinstance(error, dict) else value.get("status")
    # A record that happens to have a status is no report of a failure: those come with words.
    if str(told) in _OUTCOMES and (error or "message" in value):
        return _OUTCOMES[str(told)]
    return "failed" if error or value.get("is_error") else "done"


def _sign(text: str, expected: set[str]) -> Outcome | None:
    """Return what the words say; a tool that cancels things may well report "cancelled" as its success."""
    for outcome, pattern in _SIGNS:
        found = pattern.search(text)
        if found and not any(word.startswith(stem(found[0])) for word in expected):
            return outcome
    return None
