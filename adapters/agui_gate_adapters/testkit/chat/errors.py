"""Error bodies: the same refusal in the shape that each server wraps it in."""

from __future__ import annotations

from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["error_body"]


def error_body(profile: ChatProfile, violation: Violation) -> Json:
    """Return the HTTP body for a refusal or a fault."""
    told = violation
    match profile.errors:
        case "bare":
            return {"object": "error", "message": _details(told), **_tail(told, hidden=told.status == 422)}
        case "short":
            return {"error": {"message": told.message, "type": told.type}}
        case "numbered":
            return {"error": {"code": told.status, "message": told.message, "type": told.type}}
        case "vllm":
            kind = "BadRequestError" if told.status == 400 else told.type
            return {"error": {"message": told.message, "type": kind, "param": told.param, "code": told.status}}
        case _:
            return violation.body


def _tail(told: Violation, *, hidden: bool) -> Json:
    return {"type": told.type, "param": None, "code": None if hidden else told.code}


def _details(told: Violation) -> str | Json:
    """Return the message; one that came from schema validation is a list of places instead of words."""
    if told.code != "extra_forbidden" or told.param is None:
        return told.message
    path = told.param.replace("[", ".").replace("]", "").split(".")
    where = ["body", *(int(part) if part.isdigit() else part for part in path)]
    return {"detail": [{"type": told.code, "loc": where, "msg": told.message}]}
