"""Consent on its way to the provider: what a person agreed to that the provider runs itself.

A held call (see `agui_gate.adapter`) has a record in the ledger like any gated call, and the same promise: it runs at
most once, and is never silently lost. But what runs it is the provider, on the request that says so:

* Approving moves the record to ``claimed``, wherever it was decided. Nothing is sent for that; the next turn does it.
* Before that turn's request a `PassedEntry` is saved, under the thread's lease. Only that request's transcript says
  ``consent=True``.
* The provider's first event proves that it took the request: ``done``. What the call came to is in a hosted call.
* Found claimed and passed, by the next run: the process died between the two, so it may have run: ``unknown``.
* It failed before the first event: ``unknown`` too, unless the provider is known not to have acted (over its limit, or
  a key that it does not accept): then the entry is taken back, and the next run passes it on.
* The adapter can't tell the provider any more (`ConsentLost`): ``failed``. The model is told, and may ask again.
"""

from collections.abc import Callable, Sequence

from agui_gate.agent import Agent
from agui_gate.core.approvals import Approval, State
from agui_gate.core.transcript import PassedEntry
from agui_gate.engine import outcomes
from agui_gate.engine.open_thread import OpenThread
from agui_gate.engine.settlement import Settlement
from agui_gate.errors import ProviderAuth, RateLimited


class Consents:
    """The consents of one thread, for one agent's model. The caller holds the thread's lease.

    ``on_shown`` is called when outcomes were shown, before the provider's answer is.
    """

    def __init__(self, thread: OpenThread, settlement: Settlement, agent: Agent, on_shown: Callable[[], None]) -> None:
        self._thread, self._settlement, self._agent, self._on_shown = thread, settlement, agent, on_shown
        self._passing: Sequence[Approval] = ()

    @property
    def passing(self) -> bool:
        """Whether a request is under way that says yes to something."""
        return bool(self._passing)

    async def recover(self) -> None:
        """What a process that died had passed on: nobody knows whether it ran."""
        passed = [a for a in self.claimed() if self._thread.journal.is_passed(a)]
        await self._settlement.close(passed, State.UNKNOWN)

    async def branched(self, claimed: Sequence[Approval]) -> None:
        """Those of ``claimed`` that a branch has cut off are not passed on any more."""
        await self._settlement.close(
            [a for a in claimed if not self._thread.journal.is_held(a)], State.FAILED, outcomes.CONSENT_LOST
        )

    async def pass_on(self) -> None:
        """Have the next transcript say yes to what was approved, having saved that it will."""
        waiting = [a for a in self.claimed() if not self._thread.journal.is_passed(a)]
        ours = [a for a in waiting if self._is_ours(a)]
        await self._lose([a for a in waiting if a not in ours])
        if ours:
            self._thread.append(PassedEntry(a.call_id) for a in ours)
            await self._thread.commit()
            self._passing = ours
            self._thread.passing = frozenset(a.call_id for a in ours)

    async def taken(self) -> None:
        """The provider took the request."""
        await self._settlement.close(self._passed(), State.DONE, outcomes.APPROVED)
        self._on_shown()

    async def lost(self) -> None:
        """The provider can't be told."""
        await self._lose(self._passed())

    async def failed(self, error: BaseException | None) -> None:
        """The request failed with ``error``, or was stopped, before the provider's first event. Saved by the caller."""
        passed = self._passed()
        if isinstance(error, RateLimited | ProviderAuth):
            self._thread.append(PassedEntry(a.call_id, back=True) for a in passed)
        else:
            await self._settlement.close(passed, State.UNKNOWN)

    def claimed(self) -> list[Approval]:
        """Held calls that were approved, whether or not the provider was told."""
        return [a for a in self._thread.journal.claimed() if self._thread.journal.is_held(a)]

    def _is_ours(self, approval: Approval) -> bool:
        """Whether this agent asked, with this very model, and no model has answered since."""
        turns = self._thread.journal.standing_turns()
        asked = any(t.id == approval.turn_id and t.origin == self._agent.adapter.origin for t in turns)
        return asked and approval.agent == self._agent.name

    async def _lose(self, approvals: Sequence[Approval]) -> None:
        if not approvals:
            return
        await self._settlement.close(approvals, State.FAILED, outcomes.CONSENT_LOST)
        self._on_shown()

    def _passed(self) -> Sequence[Approval]:
        """What was being passed on, which it is no more."""
        passed, self._passing = self._passing, ()
        self._thread.passing = frozenset()
        return passed
