"""Tells the provider what a person agreed to that the provider runs itself.

A held call (see `agui_gate.adapter`) has a record in the ledger like any gated call. It has the same promise: it runs
at most once, and is never silently lost. But what runs it is the provider, on the request that says so:

* Approving moves the record to ``claimed``, wherever it was decided. Nothing is sent for that; the next turn does it.
* Before that turn's request the record is moved to ``passed``, under the thread's lease. Only that request's transcript
  says ``consent=True`` (`Journal.consents`).
* Right before the request is made the lease is confirmed, if more than a moment has passed since it was known to be
  held. A process that lost it while it slept tells the provider nothing. Others were told ``unknown``.
* The provider's first event proves that it took the request: ``done``. What the call came to is in a hosted call.
* Found passed, by the next run: the process died between the two, so it may have run: ``unknown``.
* It failed before the first event: ``unknown`` too. But where the provider is known not to have acted, it is
  ``given_back``, and the next run passes it on. That is known when it is over its limit, does not accept the key, or
  the request never reached it or was never made. Without the lease nothing is given back: what was never asked of the
  provider is ``failed``, not executed.
* The adapter can't tell the provider any more (`ConsentLost`): ``failed``. The model is told, and may ask again.
* So it is ``failed`` where the task has ended in which it was asked for: nobody asks that provider again.

The record is all that says so: nothing of it is kept in the journal. What is kept here is which of our own
requests were not made yet.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress

from agui_gate.agents.agent import Agent
from agui_gate.approvals.execution import GatedCalls, HeldCalls
from agui_gate.concurrency import to_the_end
from agui_gate.core import result_texts
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import Output
from agui_gate.errors import AguiGateError, LeaseLost, NotSaved, ProviderAuth, ProviderUnavailable, RateLimited
from agui_gate.threads.leased_thread import LeasedThread

TASK_OVER = result_texts.status(
    "cancelled", "Approved, but the task that asked for it has ended, so it was not executed. Ask again if wanted."
)


class ProviderApprovals(HeldCalls):
    """The approvals of held calls in one thread, on their way to the provider. The caller holds the thread's lease.

    ``on_shown`` is called when outcomes were shown, before the provider's answer is.
    """

    def __init__(self, thread: LeasedThread, gated_calls: GatedCalls, on_shown: Callable[[], None]) -> None:
        self._lease, self._journal = thread.lease, thread.journal
        self._gated_calls, self._on_shown = gated_calls, on_shown
        self._task: str | None = None
        self._untold: set[str] = set()
        """Approvals that were passed on here, by a request that was not made yet."""

    def of_task(self, task: str) -> "ProviderApprovals":
        """Returns only those to calls that were made in this task ("": the conversation)."""
        of_task = copy.copy(self)
        of_task._task = task
        return of_task

    @property
    def passing(self) -> bool:
        """True while a request is under way that says yes to something."""
        return bool(self._passed())

    async def recover(self) -> None:
        """Closes what a process that died had passed on: nobody knows whether it ran."""
        await self._gated_calls.close(self._passed(), State.UNKNOWN)

    async def branched(self, dropped: Sequence[Approval]) -> None:
        """Closes those of ``dropped``, which a branch has dropped, that were agreed to: they are not passed on any
        more.
        """
        await self._gated_calls.close([a for a in dropped if a.is_agreed], State.FAILED, result_texts.CONSENT_LOST)

    async def pass_on(self, agent: Agent) -> None:
        """Has the next request, to the model of ``agent``, say yes to what was approved, having saved that it will.

        What another agent's provider holds back can't be told any more.
        """
        agreed = self._of_task(self._journal.agreed())
        if not agreed:
            return
        ours = [a for a in agreed if self._is_of(a, agent)]
        self._untold.update(a.id for a in ours)
        await self._lose([a for a in agreed if a not in ours])
        try:
            await to_the_end(self._gated_calls.shift(ours, State.PASSED))
        except BaseException:
            with suppress(AguiGateError):  # then the next run finds it passed, and fails safe
                await self._give_back()  # nothing was sent
            raise

    async def begin(self) -> None:
        """The request that says yes is made right after this. Raises `LeaseLost`, and what the store raises: then it
        must not be made.
        """
        if self.passing:
            await self._lease.confirm_if_old()
            self._untold.difference_update(a.id for a in self._passed())

    async def accepted(self) -> None:
        """Records that the provider took the request."""
        await self._gated_calls.record_outcome(self._passed(), State.DONE, result_texts.APPROVED)
        self._on_shown()

    async def lost(self) -> None:
        """Closes what the provider can't be told."""
        await self._lose(self._passed())

    async def gave_up(self) -> None:
        """Closes what was agreed to in a task that ends here: it is not passed on any more."""
        await self._lose(self._of_task(self._journal.agreed()), TASK_OVER)

    async def ended(self) -> None:
        """Closes what `gave_up` does, for all tasks that have ended."""
        tasks = ((a, self._journal.task_of(a.call_id)) for a in self._journal.agreed())
        await self._lose([a for a, task in tasks if task and self._journal.has_result(task)], TASK_OVER)

    async def failed(self, error: BaseException | None) -> None:
        """Records that the request failed with ``error``, or was stopped, before the provider's first event."""
        unsent = isinstance(error, ProviderUnavailable) and not error.reached
        if unsent or isinstance(error, RateLimited | ProviderAuth):
            await self._not_run(self._passed())
        elif not isinstance(error, NotSaved):  # what came of it is known then, and being saved
            await self._not_run([a for a in self._passed() if a.id in self._untold])
            await self._gated_calls.record_outcome(self._passed(), State.UNKNOWN, result_texts.INTERRUPTED)

    async def _not_run(self, passed: Sequence[Approval]) -> None:
        """Gives these back, which are known not to run by the request that they were passed on with."""
        try:
            await self._gated_calls.shift(passed, State.GIVEN_BACK)
        except LeaseLost:
            await self._gated_calls.record_outcome(passed, State.FAILED, result_texts.NOT_STARTED)

    async def _give_back(self) -> None:
        await self._gated_calls.shift(self._passed(), State.GIVEN_BACK)

    def _passed(self) -> list[Approval]:
        return self._of_task(self._journal.passed())

    def _of_task(self, approvals: list[Approval]) -> list[Approval]:
        if self._task is None or not approvals:
            return approvals
        return [a for a in approvals if self._journal.task_of(a.call_id) == self._task]

    def _is_of(self, approval: Approval, agent: Agent) -> bool:
        """Returns whether ``agent`` asked, with this very model, and no model has answered since."""
        turns = self._journal.standing_turns()
        origins = getattr(agent.adapter, "origins", None) or (agent.adapter.origin,)  # of a list: any of them
        asked = any(t.id == approval.turn_id and t.origin in origins for t in turns)
        return asked and approval.agent == agent.name

    async def _lose(self, approvals: Sequence[Approval], output: Output = result_texts.CONSENT_LOST) -> None:
        if approvals:
            await self._gated_calls.close(approvals, State.FAILED, output)
            self._on_shown()
