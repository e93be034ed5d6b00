"""Loads providers' packages before a server says that it is ready, and keeps what lives long from being collected.

A package takes a second or more to import, ten on a busy machine, and the first run would wait for it. It has a hundred
thousand objects, for the garbage collector to walk through each time.
"""

import asyncio
import gc
from collections.abc import Iterable, Sequence
from functools import cache

import structlog

from agui_gate.adapter import ChecksSetup, Finding
from agui_gate.agents.agent import Agent

log = structlog.get_logger("agui_gate.engine")

WARM_UP_SECONDS = 30.0
"""Seconds that all of it may take. What isn't ready then gets ready with its first run."""


async def warm_up(agents: Iterable[Agent]) -> None:
    """Has models' packages loaded, logs what is missing (a package, a key), then calls `freeze`. Asks nobody, never
    raises.

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
    freeze()


@cache
def freeze() -> None:
    """Takes all that is in memory out of the garbage collector's sight. Once a process, however many servers it has."""
    gc.collect()
    gc.freeze()


async def _setup_of(adapter: ChecksSetup) -> Sequence[Finding]:
    try:
        return await adapter.check_setup()
    except Exception as error:
        log.warning("warm_up_failed", adapter=type(adapter).__name__, error=type(error).__name__)
        return ()
