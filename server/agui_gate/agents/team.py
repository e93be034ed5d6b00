"""The team of a conversation: the agent that clients post to, alone or with those that it passes work to.

`Roster` has all the agents that an engine serves. An approval names the member that asked, and nothing else of it. So a
name means one agent over all teams.
"""

import asyncio
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakSet

import structlog

from agui_gate.adapter import ToolSpec
from agui_gate.agents.agent import Agent
from agui_gate.core.agent_view import Audience, Viewpoint
from agui_gate.core.approvals import Approval
from agui_gate.core.model_capabilities import vendor_of
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.extra_loader import load

if TYPE_CHECKING:
    from agui_gate.agents.tool import Tool

EXTRA = "teams"

log = structlog.get_logger("agui_gate.engine")


class Member(NamedTuple):
    """An agent in its team. ``who`` it is to a journal: the entry agent is "", so that a thread without a team says
    nothing of it. ``to``: for whom its transcripts are made.

    ``heirs`` are those to whom it can transfer the conversation, as journals spell them, by the name of the tool.
    ``transfers`` are these tools, as its model sees them. They take no arguments.
    """

    agent: Agent
    who: Viewpoint
    to: Audience
    heirs: Mapping[str, str] = {}
    transfers: tuple[ToolSpec, ...] = ()


class Team:
    """The agent ``entry`` alone. `agui_gate.extras.teams` has those of more."""

    def __init__(self, entry: Agent) -> None:
        self.entry = entry
        who = Viewpoint("")
        self.first = Member(entry, who, Audience(who, vendor_of(entry.adapter)))
        """The entry agent."""
        self.members = {entry.name: self.first}
        """All of them by their agents' names, the entry agent first."""

    @property
    def is_alone(self) -> bool:
        """True if the entry agent passes work to nobody."""
        return len(self.members) == 1

    def member(self, name: str) -> Member | None:
        """Returns the member that a journal spells like this, or None: "" is the entry agent."""
        return self.members.get(name) if name else self.first

    def asker(self, agent: str, task: str) -> str:
        """Returns the name to show where ``agent`` asks a person, in ``task``: "" where the entry agent does, in no
        task.
        """
        return agent if task or agent != self.entry.name else ""

    def delegate(self, agent: str, tool: str) -> "Tool | None":
        """Returns the tool of the member ``agent``, spelled as in a journal, that delegates. None if it has no such
        tool.
        """
        member = self.member(agent)
        found = None if member is None else member.agent.by_name.get(tool)
        return found if found is not None and found.agent is not None else None

    @property
    def agents(self) -> Iterable[Agent]:
        """All of them, the entry agent first."""
        return [member.agent for member in self.members.values()]

    @property
    def tool_names(self) -> Container[str]:
        """The names of all that the server itself runs for the team, with those of sources as they were last found."""
        return self.entry.by_name


def team_of(entry: Agent) -> Team:
    """Returns the team that an agent makes with all that can be reached from it, as it is now.

    Raises `ConfigurationError` for two different agents of one name, and where an agent can't be transferred to;
    `ExtraMissing` where there are others, and the extra is not installed.
    """
    if not (entry.handoffs or any(tool.agent is not None for tool in entry.by_name.values())):
        return Team(entry)
    return cast(Team, load(EXTRA).Team(entry))


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

    def open(self) -> None:
        """Counts among those that use their agents' connections, until `aclose`."""
        _OPEN.add(self)

    @property
    def _connections(self) -> dict[int, Any]:
        return {id(one): one for agent in self.members.values() for one in (agent.adapter, *agent.sources)}

    async def aclose(self) -> None:
        """Closes their models' connections and their sources, but for those that another one uses that is open."""
        _OPEN.discard(self)
        shared = {place for other in _OPEN for place in other._connections}
        await asyncio.gather(*(one.aclose() for place, one in self._connections.items() if place not in shared))


_OPEN: WeakSet[Roster] = WeakSet()
