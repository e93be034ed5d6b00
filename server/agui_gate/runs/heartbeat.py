"""Keeps the leases of a process's runs while they run, and hears who wants them stopped.

It looks every `STOP_MS` whether anybody does, and at once where another replica says so (`Heartbeat.hurry`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog

from agui_gate.errors import AguiGateError
from agui_gate.stores.base import LEASE_MS, STOP_MS, StopRequest, Store

if TYPE_CHECKING:
    from agui_gate.stores.capabilities import SharedStore

RENEW_SECONDS = LEASE_MS / 6000
"""Seconds between two renewals of leases: while a store can't be written for up to five times as long, no run loses
its lease.
"""

log = structlog.get_logger("agui_gate.engine")


class Heartbeat:
    """Beats every `STOP_MS`. ``shared`` says what other processes ask for. ``leases`` gives the keys of those that
    are held now; ``stop`` is told what was asked of one of them; ``lost`` is told which of them the store says is not
    held.
    """

    def __init__(
        self,
        store: Store,
        shared: "SharedStore",
        leases: Callable[[], Collection[str]],
        stop: Callable[[str, StopRequest], None],
        lost: Callable[[str], None],
    ) -> None:
        self._store, self._shared, self._leases, self._stop, self._lost = store, shared, leases, stop, lost
        self._renew_at = 0.0
        self._failing = False
        self._hurry = asyncio.Event()

    def hurry(self) -> None:
        """Beats now: somebody has asked for a stop."""
        self._hurry.set()

    async def rest(self, until: float) -> None:
        """Waits for the next beat: ``until`` that moment of the loop's clock, or until there is a hurry."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._hurry.wait()
        self._hurry.clear()

    async def beat(self) -> None:
        """Beats once. A store that is away is tried again with the next beat; that is logged once, not every time."""
        try:
            await self._renew()
            for run_key, request in (await self._shared.take_stops(set(self._leases()))).items():
                self._stop(run_key, request)
            self._failing = False
        except AguiGateError as error:
            if not self._failing:
                log.warning("leases_not_renewed", error=error.message)
            self._failing = True
        except Exception:
            log.exception("heartbeat_failed")

    async def _renew(self) -> None:
        leases, now = self._leases(), asyncio.get_running_loop().time()
        if leases and now >= self._renew_at:
            lost = await self._store.renew(leases)
            self._renew_at = now + RENEW_SECONDS
            for run_key in lost:
                self._lost(run_key)


async def beating(heart: Heartbeat, also: Callable[[], Awaitable[None]]) -> None:
    """Beats for ever; ``also`` is done every `STOP_MS`. Whatever comes of that, and if nothing does, leases are kept.

    If it takes longer than that it is left, which is told once, not every time.
    """
    loop = asyncio.get_running_loop()
    due = loop.time() + STOP_MS / 1000
    late = False
    while True:
        await heart.rest(due)
        await heart.beat()
        if loop.time() < due:
            continue
        bound = asyncio.timeout(STOP_MS / 1000)
        try:
            async with bound:
                await also()
            late = False
        except Exception:
            if not bound.expired():
                log.exception("heartbeat_failed")
            elif not late:
                log.warning("tidying_takes_long")
            late = bound.expired()
        due = loop.time() + STOP_MS / 1000
