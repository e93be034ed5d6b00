"""What the shapes of 0.x can't say is told to developers, since their clients can't be told (VER-7)."""

from enum import StrEnum

import structlog

from agui_gate.core.dialect import declares_v1
from agui_gate.protocol import message_shapes

REMEMBERED = 10_000
"""Of so many threads it is known what was told of them."""

log = structlog.get_logger("agui_gate.dialects")


class Lost(StrEnum):
    """What a client of 0.x is not told."""

    CANCELLED = "that the run was stopped before its end, and did not fail (the outcome cancelled)"
    FILES = message_shapes.FILES
    RESULTS = message_shapes.RESULTS


class Downgrades:
    """Tells each loss once a thread. For how long that is remembered has a bound; then it is told again."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, Lost], None] = {}

    def lost(self, what: Lost, principal: str, thread_id: str, asked: str | None, *, reads_stops: bool = False) -> None:
        """A client whose input has ``asked`` as its version was not told ``what`` of this thread.

        ``reads_stops``: it takes the code of a stop for what it means, so that nothing is lost of that.
        """
        key = (principal, thread_id, what)
        if key in self._told or (reads_stops and what is Lost.CANCELLED):
            return
        if len(self._told) >= REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        log.warning("told_less", thread=thread_id, lost=what.value, upgrade=_remedy(asked))


def _remedy(asked: str | None) -> str:
    if declares_v1(asked):
        return "the client can read it: set AGUI_GATE_DIALECT to auto"
    return "the client declares no version: use one of AG-UI 1.0 or newer"
