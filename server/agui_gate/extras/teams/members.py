"""The members of a team in one run: who they are, and the tools that they have now.

Each is asked for its tools once a run, when it is first needed, and kept as it was then: a gate can't change under a
call. Who decides a call finds its tool here, by the member that asked.
"""

import asyncio

import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Member, Team
from agui_gate.agents.tool import Tool
from agui_gate.approvals import answer_validation
from agui_gate.core.agent_view import Viewpoint
from agui_gate.core.approvals import Approval
from agui_gate.core.journal import Journal
from agui_gate.errors import AguiGateError

log = structlog.get_logger("agui_gate.agents.team")


class Members:
    """The members of ``team`` in one run."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self._ready: dict[str, Member] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._warned: set[str] = set()

    async def get_ready(self, journal: Journal) -> None:
        """Ask those for their tools whom the run needs at once: who speaks, and whose calls somebody may decide."""
        await self.ready(self.speaker(journal))
        if not self.team.is_alone:
            for name in {approval.agent for approval in journal.unfinished()} & self.team.members.keys():
                await self.ready(self.team.members[name])

    async def ready(self, member: Member) -> Member:
        """``member`` with the tools that it has in this run."""
        name = member.agent.name
        if name not in self._ready:
            async with self._asking.setdefault(name, asyncio.Lock()):  # tasks are at work beside each other
                if name not in self._ready:
                    agent = await member.agent.ready()
                    self._ready[name] = member if agent is member.agent else member._replace(agent=agent)
        return self._ready[name]

    def speaker(self, journal: Journal) -> Member:
        """Who answers now, as the journal says; the entry agent if that is nobody of the team any more."""
        name = journal.heirs.get("")
        return self._heir(name) if name else self.team.first

    def _heir(self, name: str) -> Member:
        found = self.team.member(name)
        if found is None and name not in self._warned:
            self._warned.add(name)
            log.warning("heir_is_gone", agent=name, answers=self.team.entry.name)
        return found or self.team.first

    async def worker(self, journal: Journal, agent: Agent, task: str, prompt: str) -> Member:
        """Who works on ``task`` now, which was delegated to ``agent``, ready for its turn in it."""
        name = journal.heirs.get(task)
        found = None if name is None else self.team.member(name)
        member = await self.ready(found or self.team.members[agent.name])
        who = Viewpoint(member.who.agent, task)
        return member._replace(who=who, to=member.to._replace(who=who, prompt=prompt))

    def tool_of(self, approval: Approval) -> Tool | None:
        """The tool that runs the call: see `belonging.tool_of`."""
        return answer_validation.tool_of(self._asker(approval), approval)

    def why_not(self, approval: Approval) -> AguiGateError | None:
        """Why it can't be carried out now: see `belonging.why_not`."""
        return answer_validation.why_not(self._asker(approval), approval)

    def may_repeat(self, approval: Approval) -> bool:
        """Whether it may simply run again: see `belonging.may_repeat`."""
        return answer_validation.may_repeat(self._asker(approval), approval)

    def _asker(self, approval: Approval) -> Agent | None:
        """The member that asked, as it is now."""
        member = self._ready.get(approval.agent) or self.team.members.get(approval.agent)
        return member and member.agent
