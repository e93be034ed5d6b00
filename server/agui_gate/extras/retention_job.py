"""Has the store forget what is old enough, a little at a time (`stores/retention.py`)."""

import time
from collections.abc import Callable

import structlog

from agui_gate.errors import AguiGateError
from agui_gate.extension import Extension
from agui_gate.stores.retention import BEGINNING, FORGET, Ages, RetentionStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite.write_ahead_log import emptied

STEP_SECONDS = 10.0
"""Seconds from one step to the next."""
MAX_BROKEN = 100
"""Chains of the trail that were changed by somebody else, and are named in the log, each once."""

log = structlog.get_logger("agui_gate.engine")


class RetentionJob(Extension):
    """Goes through the store again and again. An engine has it where the settings name an age."""

    def __init__(self, store: RetentionStore, ages: Ages, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._ages, self._clock = store, ages, clock
        self._place = BEGINNING
        self._most = FORGET
        self._due = 0.0
        self._failing = self._log_is_old = False
        self._broken: set[str] = set()

    async def tick(self) -> None:
        """Makes a step, if it is time. A store that is away is tried again later; that is told once, not every time.
        What went of the trail is nowhere in the file of a store that has one, as soon as nobody else reads its log.
        """
        now = self._clock()
        if now < self._due:
            return
        self._due = now + STEP_SECONDS
        most, self._most = self._most, max(1, self._most // 2)  # where this takes too long, the next one does less
        try:
            swept = await self._store.sweep(self._ages, self._place, most)
            self._log_is_old |= bool(swept.records)
            if self._log_is_old and isinstance(self._store, SQLiteStore):
                self._log_is_old = not await self._store._run(emptied)
        except AguiGateError as error:
            if not self._failing:
                log.warning("nothing_forgotten", error=error.message)
            self._failing = True
            return
        for thread in sorted({*swept.broken} - self._broken)[: MAX_BROKEN - len(self._broken)]:
            self._broken.add(thread)
            log.error("trail_not_pruned", thread=thread, fix="agui-gate audit verify")
        self._place, self._failing, self._most = swept.place, False, min(FORGET, 2 * most)
        if swept.threads or swept.records:
            log.info("forgotten", threads=swept.threads, records=swept.records)
