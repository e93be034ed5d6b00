"""The members of a team in one run: who of them answers, and who works on which task."""

from collections.abc import Sequence

import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Member, Team
from agui_gate.core.agent_view import Viewpoint
from agui_gate.core.journal import Journal
from agui_gate.runs.agent_loop import Cast, MakeConsents, MakeTurns
from agui_gate.runs.run_context import RunContext
from agui_gate.turns.tool_dispatch import CallKind

log = structlog.get_logger("agui_gate.agents.team")


class Members(Cast):
    """The members of ``team``, as the journal says who of them speaks."""

    def __init__(self, team: Team) -> None:
        super().__init__(team)
        self._warned: set[str] = set()

    async def get_ready(self, journal: Journal) -> None:
        """Asks those for their tools whom the run needs at once: who speaks, and whose calls somebody may decide."""
        await self.ready(self.speaker(journal))
        if not self.team.is_alone:
            for name in {approval.agent for approval in journal.unfinished()} & self.team.members.keys():
                await self.ready(self.team.members[name])

    def speaker(self, journal: Journal) -> Member:
        """Returns who answers now, as the journal says; the entry agent if that is nobody of the team any more."""
        name = journal.heirs.get("")
        return self._heir(name) if name else self.team.first

    def _heir(self, name: str) -> Member:
        found = self.team.member(name)
        if found is None and name not in self._warned:
            self._warned.add(name)
            log.warning("heir_is_gone", agent=name, answers=self.team.entry.name)
        return found or self.team.first

    def call_kinds(self, scope: RunContext, make_turns: MakeTurns, make_consents: MakeConsents) -> Sequence[CallKind]:
        """Returns tasks and hand-offs."""
        from agui_gate.extras.teams.hand_offs import HandOffs
        from agui_gate.extras.teams.tasks import Tasks  # which names this class

        return Tasks(self, scope, make_turns, make_consents), HandOffs(scope.thread)

    async def worker(self, journal: Journal, agent: Agent, task: str, prompt: str) -> Member:
        """Returns who works on ``task`` now, which was delegated to ``agent``, ready for its turn in it."""
        name = journal.heirs.get(task)
        found = None if name is None else self.team.member(name)
        member = await self.ready(found or self.team.members[agent.name])
        who = Viewpoint(member.who.agent, task)
        return member._replace(who=who, to=member.to._replace(who=who, prompt=prompt))
