"""One agent at work in a run: its tools, its questions to people, and the turns of its model.

A run has one of these; a team of agents would have one for each. The thread, its lease and the stream are the run's
(`engine/run.py`), which also says in which order things happen.
"""

from enum import Enum, auto

from agui_gate.adapter import Usage, vendor_of
from agui_gate.agent import Agent
from agui_gate.core.approvals import Approval, State
from agui_gate.engine import belonging
from agui_gate.engine.consents import Consents
from agui_gate.engine.gated_calls import GatedCalls
from agui_gate.engine.intake import Intake
from agui_gate.engine.scope import Scope
from agui_gate.engine.showing import Showing
from agui_gate.engine.toolbox import Toolbox
from agui_gate.engine.turn import Turns
from agui_gate.engine.usage import totals
from agui_gate.engine.verdicts import judge
from agui_gate.engine.waiting import Asker
from agui_gate.errors import AguiGateError, LimitReached


class Rest(Enum):
    """How a conversation comes to rest."""

    DONE = auto()
    """The model has said what it had to say."""
    WAITS = auto()
    """Somebody has to do something first."""


class Conversing:
    """One agent, with the tools that it has now, so that a gate can't change under a call."""

    def __init__(self, agent: Agent, scope: Scope) -> None:
        self.agent, self._scope, self._thread = agent, scope, scope.thread
        self._thread.vendor = vendor_of(agent.adapter)
        self.asker = Asker(agent, scope)
        self.showing = Showing(scope, self.asker)
        tools = Toolbox(agent, self._thread, scope.seq.other)
        self.gated_calls = GatedCalls(self._thread.lease, tools.approved, self.showing.closed, self.showing.keep)
        self.consents = Consents(self._thread, self.gated_calls, agent, self.showing.snapshot)
        self.turns = Turns(agent, scope, self.asker, self.consents, tools)

    @property
    def deciding(self) -> bool:
        """Whether something that a person approved is at work: its tool, or a request that says yes to the provider."""
        return self.gated_calls.working or self.consents.passing

    @property
    def usage(self) -> tuple[Usage, ...]:
        """What its turns have reported so far."""
        return totals(self.turns.done)

    async def recover(self) -> None:
        """Close the gated calls that were running when a process died: nobody will ever say what came of them."""
        await self.consents.recover()
        claimed = self._thread.journal.claimed()
        await self.gated_calls.recover(claimed, lambda approval: belonging.may_repeat(self.agent, approval))

    async def decide(self, intake: Intake) -> None:
        """Decide what is answered, and run what was approved."""
        principal = self._thread.thread.principal
        judgement = judge(intake.answers, intake.index, self.agent.by_name, principal, self._why_not)
        self.showing.refused(judgement.refused)
        self.showing.late(intake.late)
        self.showing.unknown(intake.unknown)
        await self.gated_calls.carry_out(judgement.verdicts)

    async def converse(self) -> Rest:
        """Turns of the model, until it is done, waits for somebody, or reaches the limit (`LimitReached`)."""
        for _ in range(self.agent.max_turns):
            self._thread.lease.check()
            self._scope.at_rest()
            turn = await self.turns.next_turn()
            waits = self._thread.journal.waits
            if not turn.awaited or (self.turns.done[-1].status == "incomplete" and not waits):
                return Rest.DONE
            if waits:
                return Rest.WAITS
        raise LimitReached(f"The agent stopped after {self.agent.max_turns} turns. Send a message to let it go on.")

    async def stopped(self, error: BaseException | None) -> None:
        """Close the records of what this run has left undecided. Without an ``error``, somebody stopped it."""
        await self.consents.failed(error)
        if error is None:
            mine = [a for a in self._thread.journal.pending() if a.run_key == self._scope.key]
            await self.gated_calls.close(mine, State.CANCELLED)

    def _why_not(self, approval: Approval) -> AguiGateError | None:
        return belonging.why_not(self.agent, approval)
