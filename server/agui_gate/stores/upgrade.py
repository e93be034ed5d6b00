"""Tells of an upgrade of a store's schema in the log, while it goes on. The making of a new store isn't told of."""

import time
from collections.abc import Iterator, Sequence

import structlog

log = structlog.get_logger("agui_gate.stores")

UPGRADE_SECONDS = 3_600.0
"""Seconds that one statement of an upgrade may take, and for which a process waits for another one's upgrade."""

SHOWN = 80
"""Characters of a statement that are shown."""


class Upgrade:
    """An upgrade of the schema from version ``old`` to ``new``, in one transaction. It may be tried several times."""

    def __init__(self, old: int, new: int) -> None:
        self.old, self.new = old, new
        self._began_at = time.monotonic()
        self._waiting_for = ""
        self.step = ""
        """Which statement it is at, for people; "" before the first one."""

    def steps(self, statements: Sequence[str]) -> Iterator[str]:
        """Yields them, and says which one is next."""
        for number, statement in enumerate(statements, 1):
            if not self.step:
                self._began_at = time.monotonic()
                log.info("upgrade_begun", old=self.old, new=self.new, steps=len(statements))
            said = _first_line(statement)
            self.step = f"step {number} of {len(statements)} ({said})"
            log.info("upgrade_step", step=number, of=len(statements), statement=said)
            yield statement

    def waits(self, what_for: str) -> None:
        """Says that it waits, once for each thing that it waits for."""
        if self.old and what_for != self._waiting_for:
            log.warning("upgrade_waits", old=self.old, new=self.new, waits_for=what_for)
        self._waiting_for = what_for

    def end(self) -> None:
        """Says that it is done, and how long it took, unless there was nothing to do."""
        if self.step:
            log.info("upgrade_ended", old=self.old, new=self.new, seconds=round(time.monotonic() - self._began_at, 1))


def _first_line(statement: str) -> str:
    lines = (line for line in statement.splitlines() if line and not line.startswith("--"))
    return next(lines, "").rstrip(" (;")[:SHOWN]
