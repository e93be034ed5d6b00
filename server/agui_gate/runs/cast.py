"""Says who acts: the agents that an engine serves (`Roster`), and those who take part in one run (`Cast`).

An approval names the member that asked, and nothing else of it. So a name means one agent over all teams.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import EXTRA, Member, Team, team_of
from agui_gate.agents.tool import Tool
from agui_gate.approvals import answer_validation
from agui_gate.core.approvals import Approval
from agui_gate.core.journal import Journal
from agui_gate.errors import AguiGateError, ConfigurationError, Unavailable
from agui_gate.extra_loader import find, load

if TYPE_CHECKING:
    from agui_gate.approvals.execution import HeldCalls
    from agui_gate.core.sequencer import Lane
    from agui_gate.runs.run_context import RunContext
    from agui_gate.turns.model_turn import Turns
    from agui_gate.turns.tool_dispatch import CallKind

log = structlog.get_logger("agui_gate.engine")


class Roster:
    """``agents`` and their teams, as they are now. Raises `ConfigurationError` as `Team` does, over all of them."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.agents = {agent.name: agent for agent in agents}
        """The agents that are served, by name."""
        self.teams = {agent.name: team_of(agent) for agent in agents}
        self.members: dict[str, Agent] = {}
        """The agents that are served and all that they pass work to, by name."""
        for team in self.teams.values():
            for agent in team.agents:
                if self.members.setdefault(agent.name, agent) is not agent:
                    raise ConfigurationError(
                        f"two different agents are called {agent.name!r}; give each a name of its own"
                    )

    def team(self, agent: Agent) -> Team:
        """Returns the team of an entry agent; of one that isn't served, the team that it makes."""
        known = self.teams.get(agent.name)
        return known if known is not None and known.entry is agent else team_of(agent)

    def asker(self, approval: Approval) -> Agent:
        """Returns the agent that asked. Raises `Unavailable` if there is none of its name."""
        if approval.agent not in self.members:
            raise Unavailable(
                f"The agent {approval.agent!r} that asked is not served here now. It can be rejected, or stay pending."
            )
        return self.members[approval.agent]

    def entry(self, approval: Approval, thread_agent: str) -> Agent:
        """Returns the agent that a conversation goes on with after ``approval`` was decided: its thread's, if that
        one's team asked, or nobody who is here; else who asked. Raises `Unavailable`.
        """
        team = self.teams.get(thread_agent)
        if team is not None and (approval.agent in team.members or approval.agent not in self.members):
            return team.entry
        if approval.agent in self.agents:
            return self.agents[approval.agent]
        raise Unavailable(f"The agent {thread_agent!r} of this thread is not served here now.")

    async def find_tools(self) -> None:
        """Asks all sources of tools before the first run does, which then needn't wait. Logs what goes wrong."""
        for agent in self.members.values():
            try:
                await agent.ready()
            except Exception:
                log.exception("tools_not_found", agent=agent.name)

    async def aclose(self) -> None:
        """Closes their models' connections and their sources."""
        for agent in self.members.values():
            await agent.adapter.aclose()
        await asyncio.gather(*(source.aclose() for agent in self.members.values() for source in agent.sources))


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

    def call_kinds(
        self, scope: "RunContext", make_turns: MakeTurns, make_consents: MakeConsents
    ) -> "Sequence[CallKind]":
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
