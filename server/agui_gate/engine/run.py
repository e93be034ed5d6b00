"""One run, from the open thread to the terminal event (docs/design.md#one-run).

The order is what makes it safe: what a dead process left is recovered first, then answers are settled, then what nobody
answered is dealt with by the agent's policy, and only then is a model asked. Everything that can't be repeated
is saved before it is shown.
"""

import asyncio
from contextlib import suppress

import structlog

from agui_gate.agent import Agent
from agui_gate.core import events as ev
from agui_gate.core.approvals import Approval, State
from agui_gate.core.dialect import Dialect
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.transcript import LeftOutEntry, Output, ReportedEntry, TurnEntry
from agui_gate.engine import belonging, outcomes, telling
from agui_gate.engine.consents import Consents
from agui_gate.engine.intake import Intake, NewId, take
from agui_gate.engine.keeping import END_SECONDS
from agui_gate.engine.live import LiveRun
from agui_gate.engine.open_thread import OpenThread
from agui_gate.engine.refusals import left_out
from agui_gate.engine.runner import ToolRunner
from agui_gate.engine.settlement import Settlement
from agui_gate.engine.shield import to_the_end
from agui_gate.engine.turn import Clock, Turns
from agui_gate.engine.usage import totals
from agui_gate.engine.verdicts import judge
from agui_gate.engine.waiting import Asker, success
from agui_gate.errors import (
    AguiGateError,
    ApprovalPending,
    ApprovalRefused,
    Internal,
    LeaseLost,
    LimitReached,
    NotSaved,
    ProviderError,
)
from agui_gate.off_loop import if_large
from agui_gate.protocol import records
from agui_gate.protocol.inbound import MAX_ANSWERS, RunInput
from agui_gate.protocol.messages import result_id
from agui_gate.stores.base import RunStatus, Store

CLEANUP_TIMEOUT = 10.0
"""Seconds that closing the records of a failed or cancelled run may take."""

BREATH = 200
"""Calls that are closed at once before others get their turn."""

log = structlog.get_logger("agui_gate.run")


class Run:
    """Everything one run does. `execute` is its task's body and never raises."""

    def __init__(
        self,
        agent: Agent,
        run: RunInput,
        thread: OpenThread,
        store: Store,
        live: LiveRun,
        dialect: Dialect,
        new_id: NewId,
        clock: Clock,
    ) -> None:
        self._input, self._thread, self._dialect = run, thread, dialect
        self._key, self._new_id, self._store, self._clock = live.key, new_id, store, clock
        self._live = live
        self._seq = Sequencer(run.thread_id, run.run_id, live.publish, dialect)
        is_held = thread.journal.is_held
        self._settlement = Settlement(thread.lease, self._run_approved, self._closed, is_held, self._keep)
        self._equip(agent)
        self._snapshot_due = False

    def _equip(self, agent: Agent) -> None:
        run, thread, seq = self._input, self._thread, self._seq
        self._agent = agent
        self._asker = Asker(agent, run, thread, seq, self._new_id, self._key)
        self._consents = Consents(thread, self._settlement, agent, self._snapshot)
        self._tools = ToolRunner(agent, thread, seq.other)
        self._turns = Turns(
            agent, run, thread, seq, self._asker, self._consents, self._tools, self._new_id, self._clock
        )

    async def execute(self) -> None:
        """The whole run. Whatever happens, the stream gets its terminal event and the lease goes back."""
        self._seq.started()
        try:
            await self._go()
        except asyncio.CancelledError:
            await (self._failed(LeaseLost()) if self._thread.lease.lost else self._cancelled())
        except Exception as caught:
            await self._failed(caught)

    async def _cancelled(self) -> None:
        await self._stopped("cancelled")
        self._settled()
        self._seq.finish(ev.CancelledOutcome())

    async def _failed(self, caught: Exception) -> None:
        error = _first(caught)
        with suppress(asyncio.CancelledError):  # a stop that comes now is too late; the stream says why it failed
            await to_the_end(self._stopped("failed", error))
        self._settled()
        if isinstance(error, AguiGateError):
            self._tell(error)
        else:
            log.error("run_failed", run=self._key, exc_info=caught)
            error = Internal()
        self._seq.fail(error.code, error.message)

    def _tell(self, error: AguiGateError) -> None:
        """In the log, why the run failed, if it was not for what its client sent."""
        thread_id = self._thread.thread.id
        if isinstance(error, ProviderError):
            telling.provider_failed(error, self._agent.name, thread_id, self._key)
        elif error.status >= 500:
            telling.failed(error, thread_id, self._key)

    def lose(self) -> None:
        """The thread's lease is lost: stop, but cut off nothing that a person approved. After it, the run stops."""
        if not self._thread.ended:
            self._thread.lease.lost = True
            self._live.cancel(gently=True)

    def deciding(self) -> bool:
        """Whether something that a person approved is at work: its tool, or a request that says yes to the provider."""
        return self._settlement.working or self._consents.passing

    # --- the order of things ------------------------------------------------------------------------------------
    async def _go(self) -> None:
        if self._agent.sources:  # the run keeps the tools that it finds now, so that a gate can't change under a call
            self._equip(await self._agent.ready())
        self._snapshot_due = self._left_early()
        await self._recover()
        intake = await self._take()
        self._thread.capacity.check_new(
            intake.entries, () if intake.keep is None else self._thread.entries[intake.keep :]
        )
        self._check_refusal(intake)
        await self._apply(intake)
        await self._settle(intake)
        if intake.said and self._agent.on_unanswered == "supersede":
            await self._settlement.close(self._thread.journal.pending(), State.SUPERSEDED)
        self._report(intake)
        if intake.said:
            self._give_up_on_client()
        if self._snapshot_due:
            await self._thread.prepare_messages()
            self._snapshot()
        if self._thread.journal.waits:
            await self._wait()
            return
        await self._converse(intake)

    async def _take(self) -> Intake:
        """What the request brings, compared with the thread."""
        size = len(self._input.messages) + len(self._thread.entries)
        intake = await if_large(
            size, take, self._input, self._thread.journal, self._new_id, self._live.way, self._agent.by_name
        )
        if len(intake.answers) > MAX_ANSWERS:
            raise LimitReached(f"A run takes at most {MAX_ANSWERS:,} answers. Send each answer once.")
        return intake

    def _left_early(self) -> bool:
        """Whether the client shows calls without the results that an earlier stream told: nobody read its end.

        Leaving is how some clients stop a run. Their calls would look as if they still ran (S10).
        """
        told = {message.tool_call_id for message in self._input.messages if message.role == "tool"}
        shown = (call.id for message in self._input.messages for call in message.tool_calls or ())
        return any(call_id not in told and self._thread.journal.has_told(call_id) for call_id in shown)

    def _snapshot(self) -> None:
        """The whole conversation, where the client may show another result than the call's own.

        See docs/clients.md#answers-as-tool-messages.
        """
        if self._snapshot_due:
            self._snapshot_due = False
            self._seq.other(ev.MessagesSnapshot(self._thread.messages()))

    async def _recover(self) -> None:
        """Close what was running when a process died (B9): nobody will ever say what came of it."""
        await self._consents.recover()
        claimed = [a for a in self._thread.journal.claimed() if not self._thread.journal.is_held(a)]
        await self._settlement.recover(claimed, lambda approval: belonging.may_repeat(self._agent, approval))
        for call in self._thread.journal.open_calls():
            if call.kind != "client":
                self._turns.result(call, outcomes.INTERRUPTED)

    def _check_refusal(self, intake: Intake) -> None:
        """`on_unanswered="refuse"`: everything that waits must be answered by this run (AG-UI's strict rule)."""
        pending = {approval.id for approval in self._thread.journal.pending()}
        answered = {answer.id for answer in intake.answers}
        if self._agent.on_unanswered == "refuse" and pending - answered:
            raise ApprovalPending(f"{len(pending - answered)} call(s) wait for an answer; answer them all in one run.")

    async def _apply(self, intake: Intake) -> None:
        """Take over what is new. A branch is saved at once, with what was pending in the dropped part superseded."""
        if self._input.state:
            self._thread.state = self._input.state
        imported = not self._thread.entries
        if intake.keep is not None:
            claimed = self._consents.claimed()
            size = len(self._thread.entries)  # all that stays is read again, and nothing else works on it then
            dropped = await to_the_end(if_large(size, self._thread.branch, intake.keep, intake.entries))
            await self._settlement.close(dropped, State.SUPERSEDED)
            await self._consents.branched(claimed)
            await self._thread.commit()
            self._snapshot_due |= self._thread.shows_replaced  # the page can't know what it is to show of them now
        else:
            self._thread.append(intake.entries)
        self._live.opened(*self._thread.snapshot())
        for entry in intake.entries:
            if isinstance(entry, LeftOutEntry):
                self._seq.other(left_out(entry))
        if imported:
            await self._close_imported(intake)

    async def _close_imported(self, intake: Intake) -> None:
        """Calls in an unknown thread's history that have no result: nobody will ever give them one (B5)."""
        calls = [call for entry in intake.entries if isinstance(entry, TurnEntry) for call in entry.calls]
        for number, call in enumerate(calls, 1):
            if not self._thread.journal.has_result(call.id):
                self._turns.result(call, outcomes.UNANSWERED_CLIENT)
            if not number % BREATH:
                await asyncio.sleep(0)

    async def _settle(self, intake: Intake) -> None:
        principal = self._thread.thread.principal
        judgement = judge(intake.answers, intake.index, self._agent.by_name, principal, self._why_not)
        for approval, error in judgement.refused:
            self._asker.refused[approval.id] = error.message
            value = {"approvalId": approval.id, "message": error.message}
            self._seq.other(ev.Custom("agui-gate:answer_refused", value))
            telling.refused(approval, principal, error.message)
        for approval in {a.id: a for a in intake.late}.values():
            self._answered_late(approval)
        await self._settlement.carry_out(judgement.verdicts)

    def _answered_late(self, approval: Approval) -> None:
        """Say what is true of a call that was decided before: the page may show what was clicked."""
        told = records.record(approval, self._asker.parameters(approval))
        message = records.already(approval, self._clock())
        telling.late(approval, self._thread.thread.principal)
        value = {"approvalId": approval.id, "message": message, "record": told}
        self._seq.other(ev.Custom("agui-gate:answer_refused", value))

    def _why_not(self, approval: Approval) -> AguiGateError | None:
        return belonging.why_not(self._agent, approval, held=self._thread.journal.is_held(approval))

    def _report(self, intake: Intake) -> None:
        """Outcomes the client has not seen: decided elsewhere, expired, recovered, or answered again."""
        for approval in self._thread.journal.unreported():
            self._closed(approval)
        for approval in {a.id: a for a in intake.repeated}.values():
            if approval.output is not None:
                told = records.metadata(approval, self._asker.parameters(approval))
                self._seq.result(approval.call_id, result_id(approval.call_id), approval.output.content, told)
                self._snapshot_due = True

    def _give_up_on_client(self) -> None:
        """The user went on: client tools that gave no result are closed."""
        for call in self._thread.journal.open_calls():
            self._turns.result(call, outcomes.UNANSWERED_CLIENT)

    async def _converse(self, intake: Intake) -> None:
        """Turns of the model, until it is done, waits for somebody, or reaches the limit."""
        await self._thread.prepare()
        if not self._has_work(intake):
            if intake.unknown and not intake.entries and not intake.repeated:
                telling.unknown_answer(self._input.thread_id, self._thread.thread.principal)
                raise ApprovalRefused("This answer is to nothing that was asked here, so nothing was run.")
            await self._finish("finished")
            return
        for _ in range(self._agent.max_turns):
            self._thread.lease.check()
            self._settled()
            turn = await self._turns.one()
            incomplete = self._turns.done[-1].status == "incomplete"
            if not turn.awaited or (incomplete and not self._thread.journal.waits):
                await self._finish("finished")
                return
            if self._thread.journal.waits:
                await self._wait()
                return
        raise LimitReached(f"The agent stopped after {self._agent.max_turns} turns. Send a message to let it go on.")

    def _has_work(self, intake: Intake) -> bool:
        journal = self._thread.journal
        retry = journal.newest_turn is not None and journal.newest_turn.cut
        return intake.keep is not None or retry or journal.awaits_model(self._thread.transcript())

    # --- ending -------------------------------------------------------------------------------------------------
    async def _wait(self) -> None:
        """End the run, saying what it waits for."""
        pending = [await self._fresh(approval) for approval in self._thread.journal.pending()]
        client = [call.id for call in self._thread.journal.open_calls()]
        self._seq.leave_open([*client, *(approval.call_id for approval in pending)])
        cards = self._asker.show_cards(pending) if self._asker.style == "card" else []
        interrupting = bool(pending) and not cards and not client
        if interrupting:
            await self._thread.prepare_messages()
            self._seq.other(ev.StateSnapshot(self._thread.shown_state()))
            self._seq.other(ev.MessagesSnapshot(self._thread.messages()))
        outcome = self._asker.interrupts(pending) if interrupting else success(self._dialect, [*client, *cards])
        await self._end("waiting")
        self._seq.finish(outcome, totals(self._turns.done))

    async def _fresh(self, approval: Approval) -> Approval:
        """The record with its absolute times, if it has any to show."""
        if approval.expires_at is None:
            return approval
        stored = await self._store.approval(approval.principal, approval.id)
        return stored or approval

    async def _finish(self, status: RunStatus) -> None:
        """End the run. A turn that a limit or filter of the provider ended says so in the result."""
        await self._end(status)
        last = self._turns.done[-1] if self._turns.done else None
        result = {"reason": last.reason or "incomplete"} if last and last.status == "incomplete" else None
        self._seq.finish(None, totals(self._turns.done), result)

    async def _end(self, status: RunStatus) -> None:
        """Save that the run is over. A stop that comes while that is saved is too late."""
        try:
            await self._thread.commit(status=status, patient=True)
        except asyncio.CancelledError:
            if not self._thread.ended:
                raise
        self._settled()

    async def _stopped(self, status: RunStatus, error: BaseException | None = None) -> None:
        """Close every open call before anything else (S29), then save. Bounded, should the store be away: then saving
        goes on in the background, until the thread is free again.
        """
        try:
            async with asyncio.timeout(CLEANUP_TIMEOUT):
                await self._close_records(status, error)
        except Exception:
            log.exception("records_not_closed", run=self._key)
        for call in self._thread.journal.open_calls():
            if call.kind != "client" or status == "cancelled":
                self._turns.stopped(call)
        self._seq.leave_open([call.id for call in self._thread.journal.open_calls()])
        self._seq.leave_open([approval.call_id for approval in self._thread.journal.pending()])
        await self._thread.end(status, END_SECONDS)

    async def _close_records(self, status: RunStatus, error: BaseException | None) -> None:
        await self._consents.failed(error)
        if status == "cancelled":
            mine = [a for a in self._thread.journal.pending() if a.run_key == self._key]
            await self._settlement.close(mine, State.CANCELLED)

    def _settled(self) -> None:
        """Nothing is half said: clients that connect from now on begin here."""
        self._seq.end_open()
        self._live.opened(*self._thread.snapshot())

    # --- small things -------------------------------------------------------------------------------------------
    async def _run_approved(self, approval: Approval) -> Output:
        return await self._tools.approved(approval)

    async def _keep(self, approval: Approval, to: State, output: Output) -> Approval:
        """Record an outcome. One that can't be recorded is shown as such; the next run shows the record."""
        try:
            return await self._thread.keep(approval, to, output)
        except NotSaved:
            self._seq.result(approval.call_id, result_id(approval.call_id), outcomes.NOT_SAVED.content)
            raise

    def _closed(self, approval: Approval) -> None:
        """A gated call has its outcome: show it, once, and end its cards."""
        self._thread.decided(approval)
        completed = self._thread.approvals[approval.call_id]
        if completed.output is None or not self._thread.journal.shows(approval.call_id):
            return
        told = records.metadata(completed, self._asker.parameters(completed))
        self._seq.result(approval.call_id, result_id(approval.call_id), completed.output.content, told)
        self._asker.close_cards(completed)
        self._thread.append([ReportedEntry(approval.call_id)])
        # A client that answered may show its own answer as the result; a snapshot puts that right.
        self._snapshot_due |= completed.decision is not None


def _first(error: BaseException) -> BaseException:
    """The error inside the groups that parallel work wraps around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
