"""Decisions out of band: `POST /approvals/{id}` and the shell, outside any run."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from agui_gate import log_events
from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Roster
from agui_gate.agents.tool import Tool
from agui_gate.approvals import answer_validation
from agui_gate.approvals.answer_validation import Refused, Verdict, validate_answers
from agui_gate.approvals.decisions_in_progress import DecisionsInProgress, Stopped, Work
from agui_gate.approvals.execution import REFUSALS, GatedCalls
from agui_gate.approvals.expiry import with_result
from agui_gate.config.limits import DEFAULTS, Limits
from agui_gate.core import answers as an
from agui_gate.core import audit, result_texts
from agui_gate.core.answers import Answer, Way
from agui_gate.core.approvals import Approval, State
from agui_gate.core.registry import ApprovalIndex
from agui_gate.core.transcript import CARD_TOOL, Output
from agui_gate.errors import (
    AguiGateError,
    ApprovalRefused,
    DecisionStopped,
    InvalidRequest,
    NotFound,
    NotSaved,
    ThreadBusy,
    Unavailable,
)
from agui_gate.extra_loader import load
from agui_gate.protocol.run_input import ClientTool, RunInput
from agui_gate.readers.wake_ups import Watch
from agui_gate.runs.live_run import LiveRun
from agui_gate.stores.base import RunStatus, Store
from agui_gate.stores.lease import DECIDES
from agui_gate.stores.lookup import capabilities
from agui_gate.threads.lease import END_SECONDS
from agui_gate.threads.leased_thread import LeasedThread, Leaser
from agui_gate.threads.reconciliation import NewId
from agui_gate.turns.tool_execution import Toolbox, ToolStart

if TYPE_CHECKING:
    from agui_gate.core.principals import By

DECIDE_SECONDS = 10.0
"""Seconds that a decision waits for its thread, before it says that the thread is busy."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The result of deciding one approval, with its record as it is now.

    ``ours``: whether it was this decision that made it so. Else it had been decided before.
    ``waits``: something else on its thread still does. ``run_key`` is the run that the conversation goes on with, if
    that was wanted. If it couldn't be begun, ``not_continued`` says why. ``thread_agent`` is the thread's entry agent.
    """

    record: Approval
    ours: bool
    waits: bool = False
    run_key: str | None = None
    not_continued: str | None = None
    thread_agent: str = ""


class Run(Protocol):
    """Begins a run: `Engine.run`."""

    def __call__(
        self, agent: Agent, run: RunInput, principal: str, *, stop_alone: bool | None, create: bool, by: "By"
    ) -> Awaitable[LiveRun]:
        """Begins a run."""


class Decisions:
    """Decides approvals under their threads' leases. ``working`` are the decisions that hold one now.

    ``watch`` says when a thread may be free again. ``check_open`` raises `Unavailable` once the process takes nothing
    new.
    """

    def __init__(
        self,
        roster: Roster,
        store: Store,
        new_id: NewId,
        watch: Watch,
        check_open: Callable[[], None],
        leaser: Leaser,
        limits: Limits = DEFAULTS,
        working: DecisionsInProgress | None = None,
    ) -> None:
        self._leaser, self._limits = leaser, limits
        self._roster, self._store, self._new_id, self._watch = roster, store, new_id, watch
        self._check_open = check_open
        self.working = working or DecisionsInProgress()

    async def decide(self, principal: str, approval_id: str, payload: Any, way: Way, by: "By" = None) -> Decided:
        """Decides one approval out of band, and runs its tool now if it was approved.

        ``principal`` is whose it is, and ``by`` who decides, where ``auth`` says more than that.

        While the thread is busy, with a run or with another decision, this one waits, `DECIDE_SECONDS` at most. A run
        often ends in asking about this very call. It goes on at once when that ends in this process, or decides this
        call; where it is in another process, within `LOOK_SECONDS`. Stopping the thread stops the tool, which is
        `unknown` then.

        Raises `NotFound`, `InvalidRequest`, `ApprovalRefused` (the edit), and where nothing was decided `ThreadBusy`,
        `DecisionStopped`, `RateLimited` (see `Budget`) and `Unavailable`.
        """
        try:
            return await self._decide(principal, approval_id, payload, way, by)
        except ThreadBusy:
            return await self._in_time(principal, approval_id, payload, way, by)

    async def go_on(self, decided: Decided, run: Run) -> Decided:
        """Begins, by ``run``, the run that tells the model. What hinders that undoes no decision, and is said."""
        record = decided.record
        if decided.waits:
            return msgspec.structs.replace(decided, not_continued="Another call on this thread is still pending.")
        if record.state is State.UNKNOWN or record.output == result_texts.NOT_STARTED:
            return msgspec.structs.replace(
                decided, not_continued="It was stopped, so the conversation does not continue."
            )
        # No page is there to run tools of its own, so none are offered; asked is as the person was asked last, and told
        # is what the client reads that asked.
        tools = [ClientTool(CARD_TOOL)] if record.style == "card" else []
        said = f"continue_{self._new_id()}"
        request = RunInput(record.thread_id, said, [], protocol_version=record.protocol_version, tools=tools)
        try:
            agent = self._roster.entry(record, decided.thread_agent)
            live = await run(agent, request, record.principal, stop_alone=False, create=False, by=_asked_by(record))
        except AguiGateError as error:
            return msgspec.structs.replace(decided, not_continued=error.message)
        return msgspec.structs.replace(decided, run_key=live.key)

    async def _in_time(self, principal: str, approval_id: str, payload: Any, way: Way, by: "By") -> Decided:
        """Decides as `decide` does, and waits up to `DECIDE_SECONDS` for a busy thread."""
        loop = asyncio.get_running_loop()
        until = loop.time() + DECIDE_SECONDS
        approval = await self._approval(principal, approval_id, by)
        with self._watch.on((approval.principal, approval.thread_id)) as watcher:
            while True:
                try:
                    return await self._decide(principal, approval_id, payload, way, by)
                except ThreadBusy:
                    if loop.time() >= until or not await watcher.wait(until - loop.time()):
                        raise

    async def _approval(self, principal: str, approval_id: str, by: "By") -> Approval:
        approval = await self._store.approval(principal, approval_id)
        if approval is None and by is not None:
            approval = await load("people.approvers").find(self._store, self._roster.members, by, approval_id)
        if approval is None:
            raise NotFound("There is no such approval.")
        return approval

    async def _decide(self, principal: str, approval_id: str, payload: Any, way: Way, by: "By") -> Decided:
        """Decides as `decide` does, without waiting for the thread."""
        approval = await self._approval(principal, approval_id, by)
        if not approval.is_pending:
            return _decided_before(approval, by)
        if approval.was == approval_id:  # of before a backup was restored: `error.record` says what is asked now
            refused = ApprovalRefused("The answer is to a question from before a backup was restored.")
            if (trail := capabilities(self._store).audit) is not None:
                name = principal if by is None else by.principal.id
                await trail.note([audit.refused(approval, name, way, refused, "")])
            return _decided_before(approval, by)
        answer = an.from_payload("approval", approval_id, payload, way)
        if answer.problem is not None:
            raise InvalidRequest(f"Not a decision: {answer.problem}.", well_formed=True)
        agent = None  # a rejection needs no tools, and no agent
        if answer.choice == "approve":
            agent = await self._roster.asker(approval).ready()
        return await self._carry_out(agent, approval, answer, by)

    async def _carry_out(self, agent: Agent | None, approval: Approval, answer: Answer, by: "By") -> Decided:
        """Under the thread's lease, so that no run works on the same call."""
        run_key = f"{DECIDES}{self._new_id()}"
        opened, reservation = await self._leaser.lease(
            approval.principal, approval.thread_id, approval.agent, run_key, create=False
        )
        thread, opened.by = opened.thread, by
        status: RunStatus = thread.run_status if thread.run_status not in (None, "running") else "waiting"
        is_over = False
        with self.working.at((thread.principal, thread.id), run_key) as work:
            try:
                self._check_open()  # after the lease was taken: what begins later would be stopped by nobody
                index = ApprovalIndex(opened.approvals.values())
                if (
                    fresh := index.find(answer.id, "approval")
                ) is None:  # its thread was deleted, and the id leads to another one
                    raise NotFound("There is no such approval.")
                if not fresh.is_pending:
                    return _decided_before(fresh, by)
                verdict = await self._verdict(agent, opened, index, answer)
                done = await self._carry_out_unless_stopped(agent, opened, verdict, work)
                if done.is_pending and done.people is not None:  # more persons have to agree
                    return Decided(record=done, ours=True, waits=True, thread_agent=opened.thread.agent)
                if done.is_pending:  # somebody else was first, and the store can't say who
                    raise Unavailable("The decision can't be read right now. Try again in a moment.")
                is_over = done.state != "unknown"  # else its tool may be at work still, and change the history
                ours = done.decision == verdict.decision
                return Decided(
                    record=with_result(done),
                    ours=ours,
                    waits=opened.journal.waits,
                    thread_agent=opened.thread.agent,
                )
            finally:
                await opened.end(status, END_SECONDS)
                reservation.release()
                if is_over:
                    self._leaser.release(opened)

    async def _verdict(
        self, agent: Agent | None, opened: LeasedThread, index: ApprovalIndex, answer: Answer
    ) -> Verdict:
        """Returns the verdict on the answer. Raises `ApprovalRefused`, `MayNotDecide` and `Unavailable`."""
        principal = opened.thread.principal

        def why_not(approval: Approval) -> AguiGateError | None:
            return answer_validation.why_not(agent or self._roster.asker(approval), approval)

        def askers_tool(approval: Approval) -> Tool | None:
            return answer_validation.tool_of(agent or self._roster.asker(approval), approval)

        tool_of = partial(answer_validation.tool_of, agent)
        judgement = validate_answers([answer], index, tool_of, principal, why_not, opened.by)
        verdicts: Sequence[Verdict] = judgement.verdicts
        refusals: Sequence[Refused] = judgement.refused
        if verdicts:
            verdicts, refusals = await answer_validation.checked(verdicts, askers_tool, opened, self._store.now())
        for refused in refusals:
            opened.refused(refused)
            raise refused.error
        return verdicts[0]

    async def _carry_out_unless_stopped(
        self, agent: Agent | None, opened: LeasedThread, verdict: Verdict, work: Work
    ) -> Approval:
        """Carries it out, unless it is stopped meanwhile; then returns what is true of it. A yes needs the
        ``agent``.
        """
        if entry := self._roster.agents.get(opened.thread.agent):  # whose state the thread has, whoever asked
            opened.parts.opened(entry)
        tools = Toolbox(opened)

        async def run_call(claimed: Approval, start: ToolStart) -> Output:
            return await tools.approved(answer_validation.tool_of(agent, claimed), claimed, start)

        gated_calls = GatedCalls(opened.lease, run_call, opened.decided, opened.keep)
        try:
            return await work.carry(gated_calls.decide(verdict))
        except REFUSALS as error:  # at the claim: it is frozen, say
            opened.refused(Refused(verdict.approval, error, verdict.decision.way or "http"))
            raise
        except NotSaved as error:
            claimed = msgspec.structs.replace(verdict.approval, decision=verdict.decision)
            return msgspec.structs.replace(claimed, state=State.UNKNOWN, output=result_texts.not_saved(error))
        except Stopped:
            now = await self._store.approval(opened.thread.principal, verdict.approval.id)
            if gated_calls.working or (now is not None and now.state is State.CLAIMED and not now.is_held):
                raise Unavailable("This was stopped. Its outcome is not saved yet. Load it again.") from None
            if now is None or now.is_pending:
                refused = Unavailable if work.by_shutdown else DecisionStopped
                raise refused("This was stopped before it was decided.") from None
            return now


def _asked_by(approval: Approval) -> "By":
    """Returns who asked: on whose behalf the conversation goes on, whoever decided."""
    if approval.asker is None:
        return None
    from agui_gate.core.principals import on_behalf

    return on_behalf(approval.asker, approval.principal)


def _decided_before(approval: Approval, by: "By") -> Decided:
    log_events.late(approval, approval.principal if by is None else by.principal.id)
    return Decided(record=with_result(approval), ours=False)
