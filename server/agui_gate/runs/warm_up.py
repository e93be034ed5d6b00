"""Loads providers' packages before a server says that it is ready, and keeps what lives long from being collected.

A package takes a second or more to import, ten on a busy machine, and the first run would wait for it. It has a hundred
thousand objects, for the garbage collector to walk through each time.
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


async def warm_up(agents: Iterable[Agent]) -> None:
    """Has models' packages loaded, logs what is missing (a package, a key), then has all
    of it `frozen`. Asks nobody, never raises.

    An import is never cut off: what takes too long goes on beside the server.
    """
    adapters = {id(agent.adapter): agent.adapter for agent in agents}.values()
    checks = [asyncio.create_task(_setup_of(adapter)) for adapter in adapters if isinstance(adapter, ChecksSetup)]
    if checks:
        _, late = await asyncio.wait(checks, timeout=WARM_UP_SECONDS)
        if late:
            log.warning("warm_up_takes_long", seconds=WARM_UP_SECONDS, models=len(late))
        told = {finding: None for check in checks if check not in late for finding in check.result()}
        for finding in told:
            if not finding.ok:
                log.warning("model_not_set_up", what=finding.what, detail=finding.detail, fix=finding.fix or None)
        for check in late:
            check.cancel()
    frozen.enter()


class Frozen:
    """Takes what is in memory out of the garbage collector's sight while there are engines: a full collection that
    walks through it holds up every stream for 50 ms.

    It is done once, however many engines there are: what has become garbage by a second time would stay. An application
    that has done so by itself is left alone.
    """

    def __init__(self) -> None:
        self._engines = 0
        self._ours = False

    def enter(self) -> None:
        """Counts an engine that has started."""
        self._engines += 1
        if self._engines == 1 and not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
            self._ours = True

    def leave(self) -> None:
        """Counts an engine that was closed; gives back what was taken when it is the last one."""
        self._engines -= 1
        if not self._engines and self._ours:
            gc.unfreeze()
            self._ours = False


frozen = Frozen()


async def _setup_of(adapter: ChecksSetup) -> Sequence[Finding]:
    try:
        return await adapter.check_setup()
    except Exception as error:
        log.warning("warm_up_failed", adapter=type(adapter).__name__, error=type(error).__name__)
        return ()
