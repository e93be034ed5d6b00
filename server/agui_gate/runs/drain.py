"""Waits for what is in flight when the process is told to end, so that a deployment cuts nothing off."""

import asyncio
from collections.abc import Collection

import structlog

from agui_gate.approvals.decisions_in_progress import DecisionsInProgress
from agui_gate.runs.live_run import LiveRun
from agui_gate.threads.durable_save import SaveRetrier

log = structlog.get_logger("agui_gate.engine")


async def let_end(runs: Collection[LiveRun], working: DecisionsInProgress, keeper: SaveRetrier, seconds: float) -> None:
    """Waits until these runs and decisions have ended and what came of them is saved, ``seconds`` at most.

    Nothing new may begin meanwhile. A reader who leaves a run now was most likely made to, so that no longer ends what
    a person approved.
    """
    if seconds <= 0 or not (runs or working.keys or keeper.leases):
        return
    log.info(
        "draining",
        runs=len(runs),
        decisions=len(working.keys),
        seconds=seconds,
        means="They may finish within this time. A second signal, or Ctrl-C again, stops them at once.",
    )
    for run in runs:
        run.is_draining = True
    try:
        async with asyncio.timeout(seconds):
            if tasks := [run.task for run in runs if run.task is not None]:
                await asyncio.wait(tasks)
            await working.all_over()
            await keeper.all_saved()
    except TimeoutError:
        log.warning("drain_over", runs=len(runs), decisions=len(working.keys), means="The rest is stopped now.")
