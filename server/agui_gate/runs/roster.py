"""The roster of an engine: the agents that it serves, their teams, and all members by name.

An approval names the member that asked, and nothing else of it. So a name means one agent over all teams.
"""

import asyncio
from collections.abc import Sequence

import structlog

from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Team, team_of
from agui_gate.core.approvals import Approval
from agui_gate.errors import ConfigurationError, Unavailable

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
