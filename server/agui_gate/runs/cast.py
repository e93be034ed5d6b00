"""Says who acts in one run: which agent answers, and whose tools run the calls that people decide about."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import EXTRA, Member, Team
from agui_gate.agents.tool import Tool
from agui_gate.approvals import answer_validation
from agui_gate.core.approvals import Approval
from agui_gate.core.journal import Journal
from agui_gate.errors import AguiGateError
from agui_gate.extra_loader import find, load
from agui_gate.turns.call_kinds import CallKind

if TYPE_CHECKING:
    from agui_gate.approvals.held_calls import HeldCalls
    from agui_gate.core.lane import Lane
    from agui_gate.runs.run_context import RunContext
    from agui_gate.turns.model_turn import Turns

MakeTurns = Callable[[Member, "Lane", "HeldCalls"], "Turns"]
MakeConsents = Callable[[str], "HeldCalls"]


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
        if name not in self._ready:
            async with self._asking.setdefault(name, asyncio.Lock()):  # tasks are at work beside each other
                if name not in self._ready:
                    agent = await member.agent.ready()
                    self._ready[name] = member if agent is member.agent else member._replace(agent=agent)
        return self._ready[name]

    def speaker(self, journal: Journal) -> Member:
        """Returns who answers now."""
        return self.team.first

    def call_kinds(self, scope: "RunContext", make_turns: MakeTurns, make_consents: MakeConsents) -> Sequence[CallKind]:
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
