"""The reasons for which a run was stopped before it was complete, though nothing failed (LIFE-4).

How a stream says it is its dialect's: see `protocol/dialects/`.
"""

import msgspec

from agui_gate.errors import LimitReached, ShuttingDown


class Stop(msgspec.Struct, frozen=True):
    """The reason as the client is told it. ``reason`` is the provider's own word, where it was the provider.

    ``silent``: nothing was said before, so that a client that knows no stops has to be told an error.
    """

    code: str
    message: str
    reason: str | None = None
    silent: bool = False


ASKED = Stop("abort", "The run was stopped.")
"""Somebody asked for it, or nobody read it any more."""
DRAINED = Stop(ShuttingDown.code, ShuttingDown().message)
"""The process ends."""

_FILTERS = frozenset({"content_filter", "refusal"})
"""Stop reasons of providers that are about the meaning of what was said."""


def at_limit(error: LimitReached) -> Stop:
    """Returns the stop by a limit of the agent, or of the server."""
    return Stop(error.code, error.message)


def cut_off(reason: str | None) -> Stop:
    """Returns the stop by a provider that ended the answer before it was complete, and says why."""
    why = "was cut off by a filter of the provider" if reason in _FILTERS else "reached a limit of the provider"
    message = f"The model's answer {why}. What it said is kept. Send a message to continue."
    return Stop(LimitReached.code, message, reason or "incomplete")


def said_nothing(why: Stop) -> Stop:
    """Returns the same stop where there is no answer at all."""
    cause = why.message.partition(". ")[0]
    message = f"{cause} before the model said anything. Send a message to continue."
    return Stop(why.code, message, why.reason, silent=True)
