"""Logs the begin and the end of each run, with the ids by which other lines about it are found.

A principal is called by its name, or by a pseudonym (`log_events.name_of`).
"""

from functools import partial
from time import perf_counter
from typing import Any

import structlog

from agui_gate.core.transcript import Output
from agui_gate.extension import Extension
from agui_gate.http.sse import StreamingApplication
from agui_gate.log_events import name_of
from agui_gate.runs.failure_log import trace_of
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import Store
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.turns import tool_execution

log = structlog.get_logger("agui_gate.runs")


class RunLog(Extension):
    """What stands in a meter's place (`turns/meter.py`) where there is none."""

    @classmethod
    def around_meter(cls, meter: Any) -> Any:
        """Returns ``meter``, whose runs are logged as well; or one that does nothing else."""
        made = cls()
        if meter is None:
            return made
        begun = meter.run_begun

        def run_begun(agent: str, live: LiveRun, thread: LeasedThread) -> None:
            begun(agent, live, thread)
            made.log_begin(agent, live, thread)

        meter.run_begun = run_begun
        return meter

    def store(self, store: Store) -> Store:
        """Returns ``store`` as it is."""
        return store

    def application(self, **options: Any) -> StreamingApplication:
        """Makes the application, as if there were no meter."""
        return StreamingApplication(**options)

    def run_begun(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """Logs that a run begins. What it does besides costs nothing: its thread has no meter."""
        thread.meter = None
        self.log_begin(agent, live, thread)

    async def run_tool(self, *args: Any, **more: Any) -> Output:
        """Runs a call that was approved beside a run."""
        return await tool_execution.run_tool(*args, **more)

    def log_begin(self, agent: str, live: LiveRun, thread: LeasedThread) -> None:
        """Logs that a run begins, and that it ends when its task is done."""
        about = {
            "run": live.key,
            "client_run": live.run_id,
            "thread": live.thread_id,
            "agent": agent,
            "principal": name_of(live.principal),
            **trace_of(thread.meter),
        }
        log.info("run_begun", **about)
        live.at_end += (partial(self._log_end, about, thread, perf_counter()),)

    def _log_end(self, about: dict[str, str], thread: LeasedThread, begun: float) -> None:
        outcome = "lost" if thread.lease.lost else thread.ended_as or "unsaved"
        log.info("run_ended", **about, outcome=outcome, seconds=round(perf_counter() - begun, 3))
