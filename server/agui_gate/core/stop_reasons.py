"""Why a run was stopped before it was complete, though nothing failed (LIFE-4).

Clients of 1.x are told one thing: the outcome `cancelled`, and the code and sentence in RUN_FINISHED's metadata. Those
of 0.x have no such outcome, and get what they know:

| stopped by | 0.x |
|---|---|
| a person, or the application (`ASKED`) | RUN_ERROR `abort` |
| a limit of the agent or the server | RUN_ERROR `limit_reached` |
| a limit or filter of the provider (it has a ``reason``) | RUN_FINISHED, with the reason as its result |
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from agui_gate.core.events import METADATA
from agui_gate.errors import LimitReached


class Stop(msgspec.Struct, frozen=True):
    """What the client is told. ``reason`` is the provider's own word, where it was the provider.

    ``silent``: nothing was said before, so that a client that knows no stops has to be told an error.
    """

    code: str
    message: str
    reason: str | None = None
    silent: bool = False

    @property
    def metadata(self) -> dict[str, Any] | None:
        """What RUN_FINISHED says of it. Nothing where somebody wanted it."""
        if self == ASKED:
            return None
        said = {"code": self.code, "message": self.message}
        return {METADATA: said if self.reason is None else {**said, "reason": self.reason}}


ASKED = Stop("abort", "The run was stopped.")
"""Somebody asked for it, or nobody read it any more."""

_FILTERS = frozenset({"content_filter", "refusal"})
"""What providers call it when the reason is the meaning of what was said."""


def at_limit(error: LimitReached) -> Stop:
    """A limit of the agent, or of the server."""
    return Stop(error.code, error.message)


def cut_off(reason: str | None) -> Stop:
    """The provider ended the answer before it was complete, and says why."""
    why = "was cut off by a filter of the provider" if reason in _FILTERS else "reached a limit of the provider"
    message = f"The model's answer {why}. What it said is kept. Send a message to continue."
    return Stop(LimitReached.code, message, reason or "incomplete")


def said_nothing(why: Stop) -> Stop:
    """The same where there is no answer at all."""
    cause = why.message.partition(". ")[0]
    message = f"{cause} before the model said anything. Send a message to continue."
    return Stop(why.code, message, why.reason, silent=True)


def stopped(event: Mapping[str, Any]) -> Stop | None:
    """What a terminal event says of a stop, of whichever dialect; None if the run was not stopped.

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
