"""Logs the begin and the end of each run, with the ids by which other lines about it are found.

A principal is called by its name, or by a pseudonym: the same in every process. A pseudonym can be found by whoever
tries all names.
"""

import asyncio
from functools import partial
from hashlib import blake2b
from time import perf_counter
from typing import Any

import structlog
from starlette.applications import Starlette

from agui_gate.core.approvals import SEPARATOR
from agui_gate.extension import Extension
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Store
from agui_gate.threads.leased_thread import LeasedThread

log = structlog.get_logger("agui_gate.runs")


class RunLog(Extension):
    """What stands in a meter's place (`turns/meter.py`) where there is none. ``called``: ``names`` or
    ``pseudonyms``.
    """

    def __init__(self, called: str) -> None:
        self._called = called

    @classmethod
    def around_meter(cls, meter: Any, called: str) -> Any:
        """Returns ``meter``, whose runs are logged as well; or one that does nothing else."""
        made = cls(called)
        if meter is None:
            return made
        begun = meter.run_begun

        def run_begun(agent: str, live: LiveRun, thread: LeasedThread) -> None:
            made.log_begin(agent, live, thread)
            begun(agent, live, thread)

        meter.run_begun = run_begun
        return meter

    def store(self, store: Store) -> Store:
        """Returns ``store`` as it is."""
        return store

    def around(self, app: Starlette) -> Starlette:
        """Returns ``app`` as it is."""
        return app

    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """Logs that a run begins. What it does besides costs nothing: its thread has no meter."""
        thread.meter = None
        self.log_begin(agent, live, thread)

    def log_begin(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """Logs that a run begins, and that it ends when its task is done."""
        assert live.task is not None
        about = {
            "run": live.key,
            "client_run": live.run_id,
            "thread": live.thread_id,
            "agent": agent,
            "principal": self._named(live.principal),
        }
        log.info("run_begun", **about)
        live.task.add_done_callback(partial(self._log_end, about, thread, perf_counter()))

    def _log_end(self, about: dict[str, str], thread: LeasedThread, begun: float, _: "asyncio.Task[None]") -> None:
        outcome = "lost" if thread.lease.lost else thread.ended_as or "unsaved"
        log.info("run_ended", **about, outcome=outcome, seconds=round(perf_counter() - begun, 3))

    def _named(self, principal: str) -> str:
        if self._called == "names":
            return principal.replace(SEPARATOR, "/")
        return f"p_{blake2b(principal.encode(), digest_size=8).hexdigest()}"
