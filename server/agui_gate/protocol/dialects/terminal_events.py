"""The last event of a run, decoded, of whichever dialect and server; and what the dialects have in common there."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agui_gate.core import events as ev
from agui_gate.core.sequencer import RunName
from agui_gate.core.stop_reasons import ASKED, Stop, cut_off
from agui_gate.errors import LimitReached


def stopped(event: Mapping[str, Any]) -> Stop | None:
    """Returns why the run was stopped whose last event this is; None if it was not.

    It may be one of any server's: a ``result`` can be anything, and so can what stands under our name in the metadata.
    """
    match event:
        case {"type": "RUN_ERROR", "code": ASKED.code | LimitReached.code as code, "message": str(message)}:
            return Stop(code, message)
        case {"type": "RUN_ERROR"}:
            return None
        case {"result": {"reason": str(reason)}}:
            return cut_off(reason)
        case {
            "outcome": {"type": "cancelled"},
            "metadata": {"agui-gate": {"code": str(code), "message": str(message)} as said},
        }:
            reason = said.get("reason")
            return Stop(code, message, reason if isinstance(reason, str) else None)
        case {"outcome": {"type": "cancelled"}}:
            return ASKED
    return None


def renamed(event: dict[str, Any], run: RunName) -> dict[str, Any]:
    """Returns a decoded last event under the name of another run. RUN_ERROR has no name."""
    return event if event["type"] == "RUN_ERROR" else event | {"threadId": run.thread_id, "runId": run.run_id}


def without_deadlines(outcome: ev.Finished | None) -> ev.Finished | None:
    """Returns an outcome whose questions have no `expiresAt`, for clients that may choke on one that has passed."""
    if not isinstance(outcome, ev.InterruptOutcome) or all(one.expires_at is None for one in outcome.interrupts):
        return outcome
    return ev.InterruptOutcome(tuple(msgspec.structs.replace(one, expires_at=None) for one in outcome.interrupts))


def without_extras(event: dict[str, Any]) -> dict[str, Any]:
    """Returns a decoded last event without `expiresAt` and `pendingToolCallIds`. Changes ``event``."""
    outcome = event.get("outcome") or {}
    if outcome.get("type") == "success":
        return {name: value for name, value in event.items() if name != "outcome"}
    if outcome.get("type") == "interrupt":
        for interrupt in outcome["interrupts"]:
            interrupt.pop("expiresAt", None)
    return event
