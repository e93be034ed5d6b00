"""Has the store forget old usage and the budgets of days that are over, a little at a time."""

import time
from collections.abc import Callable

import structlog

from agui_gate.errors import AguiGateError
from agui_gate.stores.sql.usage import UsageLedger
from agui_gate.stores.sql.usage_retention import Place

STEP_SECONDS = 10.0
"""Seconds from one step to the next."""

log = structlog.get_logger("agui_gate.engine")


class UsageRetention:
    """Goes through the usage again and again. ``days``: see `AGUI_GATE_RETENTION_USAGE_DAYS`."""

    def __init__(self, ledger: UsageLedger, days: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._ledger, self._days, self._clock = ledger, days, clock
        self._place = Place()
        self._due = 0.0

    async def tick(self) -> None:
        """Makes a step, if it is time. If the store is away, the next step does what this one left."""
        if self._clock() < self._due:
            return
        self._due = self._clock() + STEP_SECONDS
        try:
            gone, self._place = await self._ledger.forget(self._days, self._place)
        except AguiGateError:
            return
        if gone:
            log.info("usage_forgotten", rows=gone)
