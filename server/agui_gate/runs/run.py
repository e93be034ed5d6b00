"""Runs one run: streams from RUN_STARTED to the terminal event, and ends it, however it comes to that.

What happens in between is its `RunSteps` (docs/design.md#one-run). Whatever that raises, the stream gets its terminal
event, every open call its result, and the thread its lease back.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import structlog

from agui_gate import log_events
from agui_gate.adapter import Usage
from agui_gate.agents.team import Team
from agui_gate.concurrency import to_the_end
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.stop_reasons import ASKED, DRAINED, Stop, at_limit
from agui_gate.errors import AguiGateError, Internal, LeaseLost, LimitReached, ProviderError
from agui_gate.log_events import Downgrades
from agui_gate.protocol.dialects.base import Shapes
from agui_gate.protocol.run_input import RunInput
from agui_gate.runs.agent_loop import AgentLoop
from agui_gate.runs.cast import cast_of
from agui_gate.runs.live_run import LiveRun
from agui_gate.runs.run_context import Clock, RunContext
from agui_gate.runs.run_steps import RunSteps
from agui_gate.stores.base import RunStatus, Store
from agui_gate.threads.durable_save import END_SECONDS
from agui_gate.threads.leased_thread import LeasedThread
from agui_gate.threads.message_import import NewId

CLEANUP_TIMEOUT = 10.0
"""Seconds that closing the records of a failed or cancelled run may take."""

log = structlog.get_logger("agui_gate.run")


class Run:
    """One run in all its parts. `execute` is its task's body and never raises."""

    def __init__(
        self,
        team: Team,
        run: RunInput,
        thread: LeasedThread,
        store: Store,
        live: LiveRun,
        shapes: Shapes,
        new_id: NewId,
        clock: Clock,
        downgrades: Downgrades,
    ) -> None:
        self._team, self._store, self._live = team, store, live
        self._thread = thread
        self._seq = Sequencer(run.thread_id, run.run_id, live.publish, shapes)
        self._scope = RunContext(team, run, shapes, thread, self._seq, live, new_id, clock, downgrades)
        self._conversing: AgentLoop | None = None

    async def execute(self) -> None:
        """Runs all of it. Whatever happens, the stream gets its terminal event and the lease goes back."""
        self._seq.started()
        try:
            await asyncio.sleep(0)  # RUN_STARTED leaves before the work begins
            cast = cast_of(self._team, self._thread.journal)
            await cast.get_ready(self._thread.journal)
            self._conversing = AgentLoop(cast, self._scope)
            await RunSteps(self._conversing, self._scope, self._store, self._team.tool_names).go()
        except asyncio.CancelledError:
            await (self._failed(LeaseLost()) if self._thread.lease.lost else self._cancelled())
        except Exception as caught:
            await self._failed(caught)

    async def _cancelled(self) -> None:
        """Ends the run that somebody stopped, or that ends with the process."""
        await self._stopped("cancelled", ASKED)
        self._at_rest()
        self._scope.stop(DRAINED if self._live.is_drained else ASKED, self._usage)

    async def _failed(self, caught: Exception) -> None:
        error = _first(caught)
        status: RunStatus = "cancelled" if isinstance(error, LimitReached) else "failed"
        told = error if isinstance(error, AguiGateError) else Internal()
        with suppress(asyncio.CancelledError):  # a stop that comes now is too late; the stream says why it failed
            await to_the_end(self._stopped(status, Stop(told.code, told.message), error))
        self._at_rest()
        if isinstance(error, LimitReached):
            self._scope.stop(at_limit(error), self._usage)
            return
        if isinstance(error, AguiGateError):
            self._tell(error)
        else:
            log.error("run_failed", run=self._scope.key, exc_info=caught)
        self._seq.fail(told.code, told.message, self._usage)

    @property
    def _usage(self) -> tuple[Usage, ...]:
        return () if self._conversing is None else self._conversing.usage

    def _at_rest(self) -> None:
        """Marks the run as at rest: nothing is owed any more, so what is restated from here on is not followed by
        results.
        """
        self._thread.parts.calls_ended(self._seq.other)
        self._seq.settle()
        self._scope.at_rest()
        if self._conversing is not None:
            self._conversing.showing.at_end()

    def _tell(self, error: AguiGateError) -> None:
        """Logs why the run failed, if it was not for what its client sent."""
        thread_id = self._thread.thread.id
        if isinstance(error, ProviderError):
            speaker = self._conversing.speaker if self._conversing else self._team.entry.name
            log_events.provider_failed(error, speaker, thread_id, self._scope.key)
        elif error.status >= 500:
            log_events.failed(error, thread_id, self._scope.key)

    def lose(self) -> None:
        """Stops as the thread's lease is lost, but cuts off nothing that a person approved. After it, the run stops."""
        if not self._thread.ended:
            self._thread.lease.lost = True
            self._live.cancel(gently=True)

    def deciding(self) -> bool:
        """Returns whether something that a person approved is at work: its tool, or a request that says yes to the
        provider.
        """
        return self._conversing is not None and self._conversing.deciding

    async def tell_expired(self) -> None:
        """Tells its client what has expired meanwhile: not in tasks, which go on together. The run goes on by
        itself.
        """
        if self._conversing is not None and self._conversing.listens:
            with suppress(AguiGateError):  # the store is away: the next time, then
                await self._conversing.tell_expired(of_tasks=False)

    async def _stopped(self, status: RunStatus, why: Stop, error: BaseException | None = None) -> None:
        """Closes every open call before anything else (S29), then saves. Bounded, should the store be away: then saving
        goes on in the background, until the thread is free again.
        """
        if self._conversing is not None:
            self._conversing.listens = False
            await self._closing(self._conversing.stopped(error))
        if error is None:  # the stop came while they were saved
            for result in list(self._scope.untold.values()):
                self._scope.tell(result)
        for call in self._thread.journal.open_calls():
            if call.kind != "client" or error is None:
                self._scope.stopped(call)
        if self._conversing is not None:
            self._conversing.close_calls(error)
            await self._closing(self._conversing.consents.ended())
        self._seq.leave_open([call.id for call in self._thread.journal.open_calls()])
        self._seq.leave_open([call.id for call in self._thread.journal.all_open_tasks()])
        self._seq.leave_open([approval.call_id for approval in self._thread.journal.pending()])
        self._thread.note_end(why)
        await self._thread.end(status, END_SECONDS)

    async def _closing(self, records: Awaitable[None]) -> None:
        """Awaits what closes ``records``, for so long as the end of a run may take."""
        try:
            async with asyncio.timeout(CLEANUP_TIMEOUT):
                await records
        except Exception:
            log.exception("records_not_closed", run=self._scope.key)


def _first(error: BaseException) -> BaseException:
    """Returns the error inside the groups that parallel work wraps around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
