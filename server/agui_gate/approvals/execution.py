"""Carries out verdicts: the only place where a gated call is decided and run. Held calls have their interface here.

The record is moved first: `claimed` before the tool starts, the output before anybody sees it. Each move is one
conditional update. So of any number of clicks, replays and replicas exactly one gets through.

Held calls are those that a provider holds until a person approves them, and that it runs itself
(docs/design.md#held-calls). Such a call has a record in the ledger like any gated one. What tells the provider of the
answers is an extra (`extras/provider_approvals.py`): it is loaded for a run on a thread that has such a record
unfinished. A call that is held in the run itself is decided in a later one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import structlog

from agui_gate import log_events
from agui_gate.agents.agent import Agent
from agui_gate.approvals.answer_validation import Refused, Verdict
from agui_gate.approvals.expiry import with_result
from agui_gate.concurrency import PATIENCE, to_the_end, undisturbed
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import AguiGateError, ApprovalRefused, Frozen, IllegalMove, MayNotDecide, NotSaved
from agui_gate.extra_loader import load
from agui_gate.threads.lease import Lease
from agui_gate.turns.tool_execution import ToolStart

if TYPE_CHECKING:
    from agui_gate.threads.leased_thread import LeasedThread

log = structlog.get_logger("agui_gate.gated_calls")

RunCall = Callable[[Approval, ToolStart], Awaitable[Output]]
"""Runs the tool of a claimed approval with its effective arguments, if it may start."""

Keep = Callable[[Approval, State, Output], Awaitable[Approval]]
"""Records what came of a claimed approval, patiently: `SaveRetrier.keep`."""

REFUSALS = (ApprovalRefused, Frozen, MayNotDecide)

MayRepeat = Callable[[Approval], bool]
"""Returns whether a call that was interrupted may run again."""


class GatedCalls:
    """Carries out verdicts and closes what was not answered, for one thread whose lease the caller holds."""

    def __init__(self, lease: Lease, run_call: RunCall, on_closed: Callable[[Approval], None], keep: Keep) -> None:
        self._lease, self._run_call, self._on_closed, self._keep = lease, run_call, on_closed, keep
        self._working = 0

    @property
    def working(self) -> bool:
        """True while a call is between its claim and the record of its outcome."""
        return self._working > 0

    async def carry_out(self, verdicts: Sequence[Verdict]) -> list[Refused]:
        """Decides and runs, approved calls in parallel: see `decide`. Returns what can't be decided so after all, as it
        is frozen by the time of the claim, or a right has ended. What else they raise is in an `ExceptionGroup`.

        None is cut off because another could not be decided: all of them have ended then.
        """
        ended: Sequence[object] = ()
        if len(verdicts) > 1:
            ended = await asyncio.gather(*map(self.decide, verdicts), return_exceptions=True)
        for verdict in verdicts if not ended else ():  # one needs no task of its own
            try:
                ended = [await self.decide(verdict)]
            except Exception as error:
                ended = [error]
        if errors := [error for error in ended if isinstance(error, Exception) and not isinstance(error, REFUSALS)]:
            raise ExceptionGroup("not all answers were carried out", errors)
        both = zip(verdicts, ended, strict=True)
        return [Refused(verdict.approval, error, "resume") for verdict, error in both if isinstance(error, REFUSALS)]

    async def close(
        self, approvals: Sequence[Approval], to: State, output: Output | None = None, decision: Decision | None = None
    ) -> list[Approval]:
        """Closes records without (another) decision of a person. ``decision``: a rule's."""
        return [await self._move(approval, to, decision, output or result_texts.closed(to)) for approval in approvals]

    async def shift(self, held: Sequence[Approval], to: State) -> None:
        """Moves held calls between the states in which nothing has come of them yet."""
        for approval in held:
            try:
                self._on_closed(await self._lease.move(approval.id, to))
            except IllegalMove:
                await self._as_it_is(approval)

    async def record_outcome(self, passed: Sequence[Approval], to: State, output: Output) -> None:
        """Records what came of a request that told the provider to run held calls."""
        for approval in passed:
            await self._record(approval, to, output)

    async def recover(self, claimed: Sequence[Approval], may_repeat: MayRepeat) -> list[Approval]:
        """Records that a dead process left claimed: unknown, unless the tool may simply run again. Tasks begin."""
        found = []
        for approval in claimed:
            log_events.orphaned(approval)
            if approval.opens_task:
                found.append(await self._begin(approval))
            elif may_repeat(approval) and await self._is_agreed(approval):
                await self._lease.confirm()
                with self._at_work():
                    found.append(await self._execute(approval, again=True))
            else:
                found.append(await self._move(approval, State.UNKNOWN, None, result_texts.INTERRUPTED))
        return found

    async def _is_agreed(self, approval: Approval) -> bool:
        """Returns whether a person agreed to just this. If not, somebody has changed the store, which is logged."""
        agreed = await self._lease.is_agreed(approval)
        if not agreed:
            log_events.not_agreed(approval)
        return agreed

    async def decide(self, verdict: Verdict) -> Approval:
        """Decides, and runs what was approved; the outcome is reported once it is recorded.

        Cancelling records what came of it before it goes on: a claim that was under way is seen through, and a call
        whose tool has not begun is `failed`, not executed. One that was running is `unknown`.
        """
        if verdict.to is State.CLAIMED:
            return await self._approve(verdict)
        output = result_texts.closed(verdict.to, verdict.decision.reason)
        move = self._lease.move(
            verdict.approval.id, verdict.to, decision=verdict.decision, output=output, **verdict.terms
        )
        return await self._moved(verdict.approval, move)

    async def _approve(self, verdict: Verdict) -> Approval:
        with self._at_work():
            claim = asyncio.ensure_future(self._claim(verdict))
            try:
                record, runs_here = await undisturbed(claim)
            except asyncio.CancelledError:
                calling_off = asyncio.ensure_future(self._call_off(claim))
                await to_the_end(_within(PATIENCE, calling_off))
                raise
            return await self._execute(record) if runs_here else record

    async def _call_off(self, claim: "asyncio.Future[tuple[Approval, bool]]") -> None:
        """Calls off a claim for which nobody waits any more: when it is made, its tool doesn't start, and the record
        says so.
        """
        with self._at_work(), suppress(AguiGateError):  # it was not made; or saving that goes on without us
            record, runs_here = await claim
            if runs_here:
                await self._record(record, State.FAILED, result_texts.NOT_STARTED)

    async def _claim(self, verdict: Verdict) -> tuple[Approval, bool]:
        """Returns the record as it is then, and whether we have claimed it and its tool is ours to run."""
        try:
            move = verdict.claim or (
                lambda lease: lease.move(verdict.approval.id, verdict.to, decision=verdict.decision, **verdict.terms)
            )
            claimed = await move(self._lease)
        except IllegalMove:
            return await self._as_it_is(verdict.approval), False
        if claimed.is_pending:  # more persons have to agree
            self._on_closed(claimed)
            return claimed, False
        if claimed.is_held:  # approving it is all that is done here: see `extras/provider_approvals.py`
            log_events.moved(claimed)
            self._on_closed(claimed)
            return claimed, False
        if claimed.opens_task:
            return await self._begin(claimed), False
        return claimed, True

    async def _begin(self, claimed: Approval) -> Approval:
        """Says that its task may begin, which is all that was asked: see `extras/teams/tasks.py`."""
        return await self._moved(claimed, self._lease.move(claimed.id, State.DONE))

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1

    async def _execute(self, claimed: Approval, *, again: bool = False) -> Approval:
        """Runs its tool, and records what came of it. ``again``: it may have run before, in a process that died."""
        start = ToolStart(self._lease, claimed.id)
        try:
            output = await self._run_call(claimed, start)
        except asyncio.CancelledError:
            with suppress(NotSaved):  # which goes on without us
                if start.call_off() and not again:
                    await self._record(claimed, State.FAILED, result_texts.NOT_STARTED)
                else:
                    await self._record(claimed, State.UNKNOWN, result_texts.INTERRUPTED)
            raise
        if output == result_texts.NOT_STARTED and again:
            return await self._move(claimed, State.UNKNOWN, None, result_texts.INTERRUPTED)
        to = State.FAILED if output.is_error else State.DONE
        try:
            return await self._record(claimed, to, output)
        except asyncio.CancelledError:  # seen through as well: who stops it now is told what came of it
            await to_the_end(self._record(claimed, to, output))
            raise

    async def _move(self, approval: Approval, to: State, decision: Decision | None, output: Output) -> Approval:
        """Moves a record as only the lease's holder may, who may be wrong: decides it, or says that its outcome is
        unknown.
        """
        return await self._moved(approval, self._lease.move(approval.id, to, decision=decision, output=output))

    async def _record(self, claimed: Approval, to: State, output: Output) -> Approval:
        """Records the outcome of a call that was run here, or passed on from here: true, whoever holds the lease
        now.
        """
        return await self._moved(claimed, self._keep(claimed, to, output))

    async def _moved(self, approval: Approval, move: Awaitable[Approval]) -> Approval:
        try:
            moved = await move
        except IllegalMove:
            return await self._as_it_is(approval)
        log_events.moved(moved)
        self._on_closed(moved)
        return moved

    async def _as_it_is(self, approval: Approval) -> Approval:
        """Reports the record as it is now: somebody else decided first, or it expired.

        Returns ``approval`` as it was if that can't be read. Raises nothing: other calls are at work beside this one.
        """
        try:
            now = await self._lease.approval(approval.id)
        except AguiGateError:
            now = None
        now = with_result(now) if now is not None else None
        if now is None or result_texts.on_cards(now) is None:
            log.warning("approval_not_read", approval=approval.id, state=str(now.state) if now else "missing")
            return now or approval
        self._on_closed(now)
        return now


async def _within(seconds: float, work: "asyncio.Future[None]") -> None:
    """Waits for ``work``, so long at most. It goes on."""
    await asyncio.wait([work], timeout=seconds)


EXTRA = "provider_approvals"


class HeldCalls:
    """Keeps track of held calls in one run, under the thread's lease. This base class is for a run that has none."""

    def of_task(self, task: str) -> "HeldCalls":
        """Returns those that were made in this task ("": the conversation)."""
        return self

    @property
    def passing(self) -> bool:
        """True while a request is under way that approves some."""
        return False

    async def recover(self) -> None:
        """Closes those that a process which died had told the provider about."""

    async def branched(self, dropped: Sequence[Approval]) -> None:
        """Closes those of ``dropped``, which a branch has dropped, that were approved and not sent yet."""

    async def pass_on(self, agent: Agent) -> None:
        """Has the next request, to the model of ``agent``, say what was approved, and saves that it will."""

    async def begin(self) -> None:
        """Checks, right before that request is made, that it may be. Raises `LeaseLost`, and what the store raises."""

    async def accepted(self) -> None:
        """Records that the provider took the request."""

    async def lost(self) -> None:
        """Closes those that the provider can't be told about any more."""

    async def gave_up(self) -> None:
        """Closes those of a task that ends here."""

    async def ended(self) -> None:
        """Closes those of all tasks that have ended."""

    async def failed(self, error: BaseException | None) -> None:
        """Records that the request failed with ``error``, or was stopped, before the provider's first event."""


NONE = HeldCalls()


def held_calls_of(thread: "LeasedThread", gated_calls: "GatedCalls", on_shown: Callable[[], None]) -> HeldCalls:
    """Returns the held calls of a run that begins on ``thread``. ``on_shown`` is called when outcomes were shown.

    Raises `ExtraMissing` if there are some and the extra is not installed: they go on waiting.
    """
    if not any(approval.is_held for approval in thread.journal.unfinished()):
        return NONE
    held_calls = load(EXTRA).ProviderApprovals(thread, gated_calls, on_shown)
    assert isinstance(held_calls, HeldCalls)
    return held_calls
