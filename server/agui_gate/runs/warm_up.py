"""Loads providers' packages before a server says that it is ready, and keeps what lives long from being collected.

A package takes a second to import, ten on a busy machine, and has a hundred thousand objects to be walked through.
"""

import asyncio
import gc
from collections.abc import Iterable, Sequence

import structlog

from agui_gate.adapter import ChecksSetup, Finding
from agui_gate.agents.agent import Agent

log = structlog.get_logger("agui_gate.engine")

WARM_UP_SECONDS = 30.0
"""Seconds that all of it may take. What isn't ready then gets ready with its first run."""
YOUNG = 2_500
"""New objects until they are looked through. Python's 700 are of a few runs: kept threads, and spans that wait."""


async def warm_up(agents: Iterable[Agent]) -> None:
    """Has models' packages loaded, logs what is missing (a package, a key), has it `frozen`. Asks nobody, never raises.

    An import is never cut off: what takes too long goes on beside the server.
    """
    adapters = {id(agent.adapter): agent.adapter for agent in agents}.values()
    checks = [asyncio.create_task(_setup_of(adapter)) for adapter in adapters if isinstance(adapter, ChecksSetup)]
    if checks:
        _, late = await asyncio.wait(checks, timeout=WARM_UP_SECONDS)
        if late:
            log.warning("warm_up_takes_long", seconds=WARM_UP_SECONDS, models=len(late))
        told = [finding for check in checks if check not in late for finding in check.result() if not finding.ok]
        for finding in dict.fromkeys(told):
            log.warning("model_not_set_up", what=finding.what, detail=finding.detail, fix=finding.fix or None)
        for check in late:
            check.cancel()
    frozen.enter()


class Frozen:
    """Takes what is in memory out of the garbage collector's sight while there are engines: a full collection that
    walks through it holds up every stream for 50 ms. New objects are looked through less often: see `YOUNG`.

    It is done once: what is garbage by a second time would stay. An application that has done so is left alone.
    """

    _engines = 0
    _before: tuple[int, int, int] | None = None

    def enter(self) -> None:
        """Counts an engine that has started."""
        self._engines += 1
        if self._engines == 1 and not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
            self._before = gc.get_threshold()
            gc.set_threshold(self._before[0] and max(self._before[0], YOUNG), *self._before[1:])

    def leave(self) -> None:
        """Counts an engine that was closed; gives back what was taken when it is the last one."""
        self._engines -= 1
        if not self._engines and self._before:
            gc.unfreeze()
            gc.set_threshold(*self._before)
            self._before = None


frozen = Frozen()


async def _setup_of(adapter: ChecksSetup) -> Sequence[Finding]:
    try:
        return await adapter.check_setup()
    except Exception as error:
        log.warning("warm_up_failed", adapter=type(adapter).__name__, error=type(error).__name__)
        return ()
