"""Runs one run: streams from RUN_STARTED to the terminal event, and ends it, however it comes to that.

What happens in between are its `RunSteps` (docs/design.md#one-run). Their order is what makes a run safe. What a dead
process left is recovered first. Then what was answered is decided. Then what nobody answered is dealt with by the
agent's policy. Only then is a model asked. Everything that can't be repeated is saved before it is shown.

Whatever that raises, the stream gets its terminal event, every open call its result, and the thread its lease back.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import msgspec
import structlog

from agui_gate import log_events
from agui_gate.adapter import Usage
from agui_gate.approvals.unanswered_calls import UnansweredPolicy, not_gone_back
from agui_gate.concurrency import LARGE, if_large, to_the_end
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, State
from agui_gate.core.stop_reasons import ASKED, DRAINED, Stop, at_limit, cut_off, said_nothing
from agui_gate.core.transcript import CallPart, LeftOutEntry, ResultEntry, TextPart
from agui_gate.errors import AguiGateError, Internal, LeaseLost, LimitReached, ProviderError, Unavailable
from agui_gate.protocol.run_input import MAX_ANSWERS
from agui_gate.protocol.snapshot import result_id
from agui_gate.runs.agent_loop import AgentLoop, cast_of
from agui_gate.runs.run_context import Rest, RunContext
from agui_gate.stores.base import RunStatus
from agui_gate.threads.lease import END_SECONDS
from agui_gate.threads.reconciliation import Intake, take
from agui_gate.turns.content_refusals import foreign, left_out

CLEANUP_TIMEOUT = 10.0
"""Seconds that closing the records of a failed or cancelled run may take."""

FEW_MESSAGES = 6_000
"""Messages of a request that are compared with a thread, or imported, where the run is: two or three milliseconds."""

MESSAGE_BYTES = 1024
"""Bytes of memory from which on a message of a request counts as several: what it has is gone through, too."""

log = structlog.get_logger("agui_gate.run")


class Run:
    """One run in all its parts. `execute` is its task's body and never raises. RUN_STARTED is told before it begins,
    and what only its steps need is made in it: so nothing of that is waited for.
    """

    def __init__(self, scope: RunContext) -> None:
        self.scope, self._thread, self._seq, self._live = scope, scope.thread, scope.seq, scope.live
        self._conversing: AgentLoop | None = None
        self._seq.started()

    async def execute(self) -> None:
        """Runs all of it. Whatever happens, the stream gets its terminal event and the lease goes back."""
        self.scope.begin()
        try:
            cast = cast_of(self.scope.team, self._thread.journal)
            await cast.get_ready(self._thread.journal)
            self._conversing = AgentLoop(cast, self.scope)
            steps = RunSteps(self._conversing, self.scope)
            goes_back = await steps.begin()
            while (rest := await steps.resume(goes_back) or await self._conversing.converse()) is Rest.WAITS:
                if not await self._conversing.tell_expired() and self._thread.journal.waits:
                    break
            self._conversing.listens = False
            await (steps.wait() if rest is Rest.WAITS else steps.finish())
        except (Exception, asyncio.CancelledError) as caught:
            await self._broken(caught)
        finally:
            if self._conversing is not None and not self._conversing.deciding:
                self.scope.close()
            self._live.over()

    async def _broken(self, caught: BaseException) -> None:
        """Ends a run that has failed, or that somebody stopped, or that ends with the process."""
        was_stopped = isinstance(caught, asyncio.CancelledError)
        try:
            if not was_stopped or self._thread.lease.lost:
                return await self._failed(LeaseLost() if was_stopped else caught)
            await self._stopped("cancelled", ASKED)
            self._at_rest()
            self.scope.stop(DRAINED if self._live.is_drained else ASKED, self._usage)
        except Exception:
            log.exception("run_task_failed", run=self.scope.key)

    async def _failed(self, caught: BaseException) -> None:
        error = _first(caught)
        status: RunStatus = "cancelled" if isinstance(error, LimitReached) else "failed"
        told = error if isinstance(error, AguiGateError) else Internal()
        with suppress(asyncio.CancelledError):  # a stop that comes now is too late; the stream says why it failed
            await to_the_end(self._stopped(status, Stop(told.code, told.message), error))
        self._at_rest()
        if isinstance(error, LimitReached):
            self.scope.stop(at_limit(error), self._usage)
            return
        if isinstance(error, AguiGateError):
            self._tell(error)
        else:
            log.error("run_failed", run=self.scope.key, exc_info=caught)
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
        self.scope.at_rest()
        if self._conversing is not None:
            self._conversing.showing.at_end()

    def _tell(self, error: AguiGateError) -> None:
        """Logs why the run failed, if it was not for what its client sent."""
        from agui_gate.runs import failure_log

        if isinstance(error, ProviderError):
            speaker = self._conversing.speaker if self._conversing else self.scope.team.entry.name
            failure_log.provider_failed(error, speaker, self.scope)
        elif error.status >= 500:
            failure_log.failed(error, self.scope)

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
        self._thread.withdraw()
        if error is None:  # the stop came while they were saved
            for result in list(self.scope.untold.values()):
                self.scope.tell(result)
        for call in self._thread.journal.open_calls():
            if call.kind != "client" or error is None:
                self.scope.stopped(call)
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
        except Unavailable as error:  # said of the store, not of this code
            log.warning("records_not_closed", run=self.scope.key, error=error.message)
        except Exception:
            log.exception("records_not_closed", run=self.scope.key)


def _first(error: BaseException) -> BaseException:
    """Returns the error inside the groups that parallel work wraps around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


BREATH = 200
"""Calls that are closed at once before others get their turn."""


class RunSteps:
    """The steps of one run, from what its request brings to RUN_FINISHED. `Run.execute` takes them in their order. What
    goes wrong is raised.
    """

    def __init__(self, conversing: AgentLoop, scope: RunContext) -> None:
        self._conversing, self._scope, self._showing = conversing, scope, conversing.showing
        self._input, self._thread, self._seq, self._dialect = scope.input, scope.thread, scope.seq, scope.dialect

    async def begin(self) -> bool:
        """Takes the steps until a model may be asked. Returns whether the request goes back."""
        self._thread.parts.asked(self._input, self._scope.ask)
        self._dialect.snapshot_due = self._left_early()
        journal = self._thread.journal
        if journal.has_calls:
            await self._recover()
        intake = await self._take()
        if intake.behind:
            self._dialect.behind()
        dropped = () if intake.keep is None else self._thread.entries[intake.keep :]
        self._thread.capacity.check_new(intake.entries, dropped, len(intake.calls))
        policy = UnansweredPolicy(self._conversing.agent.on_unanswered, self._dialect.style)
        if kept := policy.apply(intake, journal):  # it goes back over calls that stay open, so it doesn't
            self._seq.other(not_gone_back(kept))
            self._dialect.snapshot_due = True  # the page has dropped what stays
        if intake.keep is None and journal.has_calls:
            self._showing.known()
        await self._apply(intake)
        self._conversing.listens = True
        if intake.keep is None:
            await self._conversing.decide(intake)
        if journal.has_calls:
            await self._close_unanswered(intake, policy)
        self._thread.parts.calls_ended(self._seq.other)
        await self._showing.restate()
        return intake.keep is not None

    async def _close_unanswered(self, intake: Intake, policy: UnansweredPolicy) -> None:
        """Shows what was not seen. If the user went on, closes what nobody answered: gated calls as the agent's policy
        says, and client tools that gave no result.
        """
        journal = self._thread.journal
        waited = journal.waiting_tasks()
        if intake.said:
            await self._conversing.gated_calls.close(policy.closed(journal.pending()), State.SUPERSEDED)
        self._showing.unseen(intake.repeated)
        if intake.said:
            for call in journal.open_calls():
                self._scope.result(call, result_texts.UNANSWERED_CLIENT)
            if waited:  # tasks whose questions were closed for that are closed, too
                await self._conversing.supersede(waited)

    async def _take(self) -> Intake:
        """Returns what the request brings, compared with the thread."""
        size, sent = len(self._input.messages) + len(self._thread.approvals), self._input.sent
        size = size if sent is None else max(size, sent.held // MESSAGE_BYTES) * LARGE // FEW_MESSAGES
        new_id, way = self._scope.new_id, self._scope.live.way
        intake = await if_large(size, take, self._input, self._thread.journal, new_id, way, self._scope.team.tool_names)
        if len(intake.answers) > MAX_ANSWERS:
            raise LimitReached(f"A run accepts at most {MAX_ANSWERS:,} answers. Send each answer once.")
        return intake

    def _left_early(self) -> bool:
        """Returns whether the client shows calls without the results that an earlier stream told: nobody read its end.

        Leaving is how some clients stop a run. Their calls would look as if they still ran (S10).
        """
        if not self._thread.entries:
            return False
        told = {message.tool_call_id for message in self._input.messages if message.role == "tool"}
        shown = {call.id for message in self._input.messages if message.tool_calls for call in message.tool_calls}
        journal, saw_end = self._thread.journal, self._dialect.saw_end  # of a call of ours, or of a card
        return any(journal.was_reported(one) or saw_end(journal.cards.said(one)) for one in shown - told)

    async def _recover(self) -> None:
        """Closes what was running when a process died (B9)."""
        await self._conversing.recover()
        for call in self._thread.journal.open_calls():
            if call.kind != "client" and all(message.tool_call_id != call.id for message in self._input.messages):
                self._scope.result(call, result_texts.INTERRUPTED)
            elif call.kind != "client":  # a page has ended it with a result of its own: a snapshot says so (LIFE-8)
                self._thread.append([ResultEntry(call.id, result_id(call.id), result_texts.INTERRUPTED)])
                self._dialect.snapshot_due = True

    async def _apply(self, intake: Intake) -> None:
        """Takes over what is new. A branch is saved at once, with what was pending in the dropped part closed: what the
        request cancels is decided before, the rest is superseded.
        """
        if intake.keep is not None:
            size = len(self._thread.entries)  # all that stays is read again, and nothing else works on it then
            dropped = await to_the_end(if_large(size, self._thread.branch, intake.keep, intake.entries))
            await self._conversing.decide(intake)
            left = (self._thread.approvals[approval.call_id] for approval in dropped)
            await self._conversing.gated_calls.close([a for a in left if a.is_pending], State.SUPERSEDED)
            await self._conversing.consents.branched(dropped)
            await self._thread.commit()
            # The page can't know what it is to show now of calls that ran in what is gone.
            self._dialect.snapshot_due |= self._thread.history.shows_replaced
        else:
            self._thread.append(intake.entries, as_read=True)
        self._scope.opened()
        self._to = self._conversing.audience
        if not intake.is_plain:
            for entry in intake.entries:
                if type(entry) is LeftOutEntry:
                    self._seq.other(left_out(entry))
            for entry in foreign(intake.entries, self._to.vendor):
                log_events.foreign_file(self._thread.thread.id, self._to.vendor)
                self._seq.other(left_out(entry))
        await self._close_imported(intake)

    async def _close_imported(self, intake: Intake) -> None:
        """Calls in an unknown thread's history that have no result: nobody will ever give them one (B5)."""
        for number, call in enumerate(intake.calls, 1):
            if not self._thread.journal.has_result(call.id):
                # One of a tool of ours is not the client's to answer.
                whose = (
                    msgspec.structs.replace(call, kind="server") if call.name in self._scope.team.tool_names else call
                )
                self._scope.result(whose, result_texts.UNANSWERED_CLIENT)
            if not number % BREATH:
                await asyncio.sleep(0)

    async def resume(self, goes_back: bool) -> Rest | None:
        """Goes on with what was delegated. Returns why the agent doesn't go on then, if it doesn't: there is nothing to
        do, or somebody has to be waited for.
        """
        await self._conversing.resume()
        if self._thread.journal.waits:
            return Rest.WAITS
        await self._thread.history.prepare(self._to)
        journal = self._thread.journal
        retry = goes_back or (journal.newest_turn is not None and journal.newest_turn.cut)
        return None if retry or journal.awaits_model(self._thread.history.transcript(self._to)) else Rest.DONE

    # --- ending -------------------------------------------------------------------------------------------------
    async def wait(self) -> None:
        """Ends the run, saying what it waits for."""
        pending = [await self._fresh(approval) for approval in self._thread.journal.pending()]
        client = [call.id for call in self._thread.journal.open_calls()]
        self._seq.leave_open([*client, *(approval.call_id for approval in pending)])
        asker, dialect = self._conversing.asker, self._dialect
        if dialect.retires_cards():
            asker.retire_cards(pending)
        interrupting = bool(pending) and dialect.interrupts(waits_for_page=bool(client))
        if interrupting:
            self._thread.parts.asks(self._seq.other)
        is_due = interrupting or self._dialect.snapshot_due_at_end
        snapshot = await self._showing.snapshot() if is_due else None  # of before the cards, shown by themselves
        put = asker.put_cards(pending) if dialect.style == "card" else []
        outcome = asker.interrupts(pending) if interrupting else None
        if put or interrupting:
            self._showing.asked(pending)
        await self._save_end("waiting")
        if snapshot is not None:
            self._showing.show(snapshot)
        asker.show_cards(put)
        self._scope.at_rest()
        self._seq.finish(outcome, self._conversing.usage)

    async def _fresh(self, approval: Approval) -> Approval:
        """Returns the record with its absolute times, if it has any to show."""
        if approval.expires_at is None:
            return approval
        return await self._scope.store.approval(approval.principal, approval.id) or approval

    async def finish(self) -> None:
        """Ends the run. A turn that a limit or filter of the provider ended is no complete answer, and that is said."""
        done = self._conversing.done
        self._showing.at_end()
        if done and done[-1].status == "incomplete":
            newest = self._thread.journal.newest_turn
            silent = newest is not None and not any(isinstance(part, TextPart | CallPart) for part in newest.parts)
            why = said_nothing(cut_off(done[-1].reason)) if silent else cut_off(done[-1].reason)
            self._thread.note_end(why)
            await self._end("cancelled")
            self._scope.stop(why, self._conversing.usage)
        else:
            await self._end("finished")
            said = self._conversing.output  # where answers have a given form
            result = None if said is None else {"output": msgspec.json.decode(said)}
            self._seq.finish(None, self._conversing.usage, result)

    async def _end(self, status: RunStatus) -> None:
        """Saves that the run is over, where it ends without a question."""
        await self._save_end(status)
        self._scope.at_rest()

    async def _save_end(self, status: RunStatus) -> None:
        """Saves that the run is over. A stop that comes while that is saved is too late."""
        try:
            await self._thread.commit(status=status, patient=True)
        except asyncio.CancelledError:
            if not self._thread.ended:
                raise
