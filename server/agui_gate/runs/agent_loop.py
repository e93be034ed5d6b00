"""Runs the turns of an agent, or of its team, until a turn makes no more calls or something waits.

Who speaks is what the journal says, asked before each turn: a hand-off is an entry of it. A `Cast` has those who take
part. What holds for the whole run is the entry agent's: how people are asked, and how many turns there may be, of all
members together. The thread, its lease and the stream are the run's (`runs/run.py`), which also says in which order
things happen.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

from agui_gate.adapter import TurnDone, Usage
from agui_gate.agents.agent import Agent
from agui_gate.agents.team import EXTRA, Member, Team
from agui_gate.agents.tool import Tool
from agui_gate.approvals import answer_validation
from agui_gate.approvals.answer_validation import Verdict, validate_answers
from agui_gate.approvals.execution import GatedCalls, HeldCalls, held_calls_of
from agui_gate.approvals.outcomes import OutcomeEvents
from agui_gate.approvals.questions import ApprovalPrompter
from agui_gate.core.agent_view import Audience
from agui_gate.core.approvals import Approval, State
from agui_gate.core.journal import Journal
from agui_gate.core.sequencer import Lane
from agui_gate.core.transcript import Output
from agui_gate.errors import AguiGateError, LimitReached
from agui_gate.extra_loader import find, load
from agui_gate.runs.run_context import Rest, RunContext
from agui_gate.threads.reconciliation import Intake
from agui_gate.turns.model_turn import Turns
from agui_gate.turns.tool_execution import ToolStart

if TYPE_CHECKING:
    from agui_gate.turns.tool_dispatch import CallKind

MakeTurns = Callable[[Member, Lane, HeldCalls], Turns]
MakeConsents = Callable[[str], HeldCalls]


class Cast:
    """The members of ``team`` in one run: the entry agent alone, whoever answered before.

    Each is asked for its tools once a run, when it is first needed, and kept as it was then: a gate can't change under
    a call. Who decides a call finds its tool here, by the member that asked.
    """

    def __init__(self, team: Team) -> None:
        self.team = team
        self._ready: dict[str, Member] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def get_ready(self, journal: Journal) -> None:
        """Asks those for their tools whom the run needs at once."""
        await self.ready(self.speaker(journal))

    async def ready(self, member: Member) -> Member:
        """Returns ``member`` with the tools that it has in this run."""
        name = member.agent.name
        if not member.agent.sources:
            return member
        if name not in self._ready:
            async with self._asking.setdefault(name, asyncio.Lock()):  # tasks are at work beside each other
                if name not in self._ready:
                    agent = await member.agent.ready()
                    self._ready[name] = member if agent is member.agent else member._replace(agent=agent)
        return self._ready[name]

    def speaker(self, journal: Journal) -> Member:
        """Returns who answers now."""
        return self.team.first

    def call_kinds(self, scope: RunContext, make_turns: MakeTurns, make_consents: MakeConsents) -> "Sequence[CallKind]":
        """Returns the kinds of calls that these members make, besides those of the trunk.

        ``make_turns`` and ``make_consents`` give a member what it works with in a task.
        """
        return ()

    def tool_of(self, approval: Approval) -> Tool | None:
        """Returns the tool that runs the call: see `answer_validation.tool_of`."""
        return answer_validation.tool_of(self._asker(approval), approval)

    def why_not(self, approval: Approval) -> AguiGateError | None:
        """Returns why the call can't be carried out now: see `answer_validation.why_not`."""
        return answer_validation.why_not(self._asker(approval), approval)

    def may_repeat(self, approval: Approval) -> bool:
        """Returns whether the call may simply run again: see `answer_validation.may_repeat`."""
        return answer_validation.may_repeat(self._asker(approval), approval)

    def _asker(self, approval: Approval) -> Agent | None:
        """Returns the member that asked, as it is now."""
        member = self._ready.get(approval.agent) or self.team.members.get(approval.agent)
        return member and member.agent


def cast_of(team: Team, journal: Journal) -> Cast:
    """Returns who acts in a run of ``team``: the extra's members where there are several, or where the journal tells of
    others.

    Where it does and the extra is not installed, the entry agent goes on, unless a task is open: then `ExtraMissing`
    is raised, and everything waits.
    """
    if team.is_alone and not journal.has_team:
        return Cast(team)
    waits = journal.all_open_tasks() or any(approval.opens_task for approval in journal.unfinished())
    if find(EXTRA) is None and not waits:
        return Cast(team)
    cast = load(EXTRA).Members(team)
    assert isinstance(cast, Cast)
    return cast


class AgentLoop:
    """The members of ``cast`` in one run. ``done`` collects how each of their turns ended."""

    def __init__(self, cast: Cast, scope: RunContext) -> None:
        self.agent, self._cast, self._scope, self._thread = cast.team.entry, cast, scope, scope.thread
        self.asker = ApprovalPrompter(cast, scope)
        self.showing = OutcomeEvents(scope, self.asker)
        self.gated_calls = scope.gated_calls = GatedCalls(
            self._thread.lease, partial(_run_approved, cast, scope), self.showing.closed, self.showing.keep
        )
        self.consents = held_calls_of(self._thread, self.gated_calls, self.showing.show_if_due)
        self._own_consents = self.consents.of_task("")
        self._kinds = cast.call_kinds(scope, self._turns_of, self.consents.of_task)
        self.listens = False
        """True if its client may be told now what has become of calls beside this run."""
        self.done: list[TurnDone] = []
        self.output: bytes | None = None
        """The answer as JSON, where the agent that gave it has answers of a given form."""
        self._turns: dict[str, Turns] = {}

    @property
    def deciding(self) -> bool:
        """True while something that a person approved is at work: its tool, or a request that says yes to the
        provider.
        """
        return self.gated_calls.working or self.consents.passing

    @property
    def usage(self) -> tuple[Usage, ...]:
        """The usage that their turns have reported so far."""
        return totals(self.done)

    @property
    def speaker(self) -> str:
        """The name of the agent that answers now."""
        return self._cast.speaker(self._thread.journal).agent.name

    @property
    def audience(self) -> Audience:
        """The audience for which a transcript is made now: the agent that answers."""
        return self._cast.speaker(self._thread.journal).to

    async def recover(self) -> None:
        """Closes the gated calls that were running when a process died: nobody will ever say what came of them."""
        await self.consents.recover()
        await self.consents.ended()
        claimed = self._thread.journal.claimed()
        await self.gated_calls.recover(claimed, self._cast.may_repeat)

    async def decide(self, intake: Intake) -> None:
        """Decides what is answered, and runs what was approved."""
        thread, cast = self._thread, self._cast
        verdicts: Sequence[Verdict] = ()
        if thread.by is not None and not intake.said:
            before = reversed(thread.journal.approvals.values())
            thread.asker = next((approval.asker for approval in before if approval.asker is not None), None)
        if intake.answers:
            validated = validate_answers(
                intake.answers, intake.index, cast.tool_of, thread.thread.principal, cast.why_not, thread.by
            )
            now = self._scope.store.now()
            verdicts, refused = await answer_validation.checked(validated.verdicts, cast.tool_of, thread, now)
            self.showing.refused([*refused, *validated.refused])
        self.showing.late(intake.late)
        self.showing.unknown(intake.unknown)
        if verdicts:
            self.showing.refused(await self.gated_calls.carry_out(verdicts))

    async def tell_expired(self, *, of_tasks: bool = True) -> bool:
        """Tells what has expired since the run began; whether anything has. The store's clock says that.

        What this run has asked for itself is shown when it ends, and not before. So a model can't be made to ask again
        and again by a gate that gives nobody the time to answer.
        """
        now, journal = self._scope.store.now(), self._thread.journal
        found = False
        for approval in journal.pending():
            is_over = approval.run_key != self._scope.key and approval.expired_at(now)
            if is_over and (of_tasks or not journal.task_of(approval.call_id)):
                record = await self._thread.lease.approval(approval.id)
                is_new = self.listens and journal.approvals[approval.call_id].is_pending
                if record is not None and record.state is State.EXPIRED and is_new:
                    self.showing.closed(record)
                    found = True
        return found

    async def resume(self) -> None:
        """Goes on with what calls have left open, such as delegated tasks, as far as that can."""
        for kind in self._kinds:
            await kind.resume()

    async def supersede(self, waited: Set[str]) -> None:
        """Ends what nobody goes on with: the user went on, and what waited in the tasks ``waited`` was closed."""
        for kind in self._kinds:
            kind.superseded(waited)
        await self.consents.ended()

    async def converse(self) -> Rest:
        """Turns of whoever speaks, until that is done, waits for somebody, or reaches the limit (`LimitReached`).

        The turns of all members count together: a circle of hand-offs ends, too.
        """
        for number in range(self.agent.max_turns):
            self._thread.lease.check()
            if number or self._thread.journal.has_calls:  # else nothing was said since the request was taken in
                self._scope.at_rest()
            speaker = self._cast.speaker(self._thread.journal)
            if (turns := self._turns.get(speaker.who.agent)) is None:
                member = await self._cast.ready(speaker)
                turns = self._turns[member.who.agent] = self._turns_of(member, self._scope.seq, self._own_consents)
            turn = await turns.next_turn()
            if turns.verdict.again:
                continue
            waits = self._thread.journal.waits
            if not turn.awaited or (turns.was_cut_off and not waits):
                self.output = turns.verdict.result
                return Rest.DONE
            if waits:
                return Rest.WAITS
        raise LimitReached(f"The agent stopped after {self.agent.max_turns} turns. Send a message to continue.")

    def close_calls(self, error: BaseException | None) -> None:
        """Closes what calls have left open in a run that was stopped, or failed with ``error``."""
        for kind in self._kinds:
            kind.stopped(error)

    async def stopped(self, error: BaseException | None) -> None:
        """Closes the records of what this run has left undecided. Without an ``error``, somebody stopped it."""
        await self.consents.failed(error)
        if error is None:
            mine = [a for a in self._thread.journal.pending() if a.run_key == self._scope.key]
            await self._thread.commit()  # what is not in the store can't be closed there
            await self.gated_calls.close(mine, State.CANCELLED)

    def _turns_of(self, member: Member, lane: Lane, consents: HeldCalls) -> Turns:
        return Turns(member, self._scope, consents, self.done, lane, self._kinds)


async def _run_approved(cast: Cast, scope: RunContext, approval: Approval, start: ToolStart) -> Output:
    return await scope.tools.approved(cast.tool_of(approval), approval, start)


def totals(turns: Iterable[TurnDone]) -> tuple[Usage, ...]:
    """Returns one entry per provider and model. A count is the sum of those turns that reported it (USE-1)."""
    found: dict[tuple[str, str], Usage] = {}
    for done in turns:
        if (usage := done.usage) is not None and usage.reported:
            key = (usage.provider, usage.model)
            found[key] = found[key].plus(usage) if key in found else usage
    return tuple(found.values())
