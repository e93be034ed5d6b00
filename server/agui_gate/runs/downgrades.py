"""Logs for developers what a dialect has no shape for, since their clients can't be told (VER-7)."""

import structlog

REMEMBERED = 10_000
"""Threads of which it is known what was told of them."""

log = structlog.get_logger("agui_gate.dialects")


class Downgrades:
    """Logs each loss once a thread. For how long that is remembered has a bound; then it is logged again."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], None] = {}

    def lost(self, what: str, principal: str, thread_id: str, remedy: str) -> None:
        """Logs that a client was not told ``what`` of this thread. ``remedy``: what can be done about that."""
        key = (principal, thread_id, what)
        if key in self._told:
            return
        if len(self._told) >= REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        log.warning("told_less", thread=thread_id, lost=what, upgrade=remedy)
