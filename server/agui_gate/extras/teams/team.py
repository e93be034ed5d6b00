"""Teams: an agent and all that it can pass work to, by handing off the conversation or by delegating a task."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from agui_gate.adapter import Adapter, ToolSpec
from agui_gate.agents import team as agents_team
from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Member
from agui_gate.agents.tool import Tool, ToolSource, is_tool_name
from agui_gate.core.agent_view import Audience, Viewpoint
from agui_gate.core.model_capabilities import vendor_of
from agui_gate.errors import ConfigurationError
from agui_gate.extras.teams.delegation import Delegation
from agui_gate.extras.teams.workflow import Workflow

TRANSFER = "transfer_to_"
"""The beginning of the name of a tool that transfers the conversation. The name of the agent that gets it follows."""


class Team(agents_team.Team):
    """``entry`` and all that can be reached from it. Circles are fine.

    It is what it is when it is made: handoffs that are added to an agent later are not in it.

    Raises `ConfigurationError` for two different agents of one name, and where an agent can't be transferred to.
    """

    def __init__(self, entry: Agent) -> None:
        self.entry = entry
        self.members = {}
        found = [entry]
        for agent in found:  # grows while it is gone through
            known = self.members.get(agent.name)
            if known is None:
                self.members[agent.name] = self._member(agent)
                found += passes_work_to(agent)
            elif known.agent is not agent:
                raise ConfigurationError(f"two different agents are called {agent.name!r}; give each a name of its own")
        self.first = self.members[entry.name]

    def _member(self, agent: Agent) -> Member:
        heirs = _heirs(agent)
        who = Viewpoint(self._spelled(agent))
        transfers = tuple(_spec(name, heir) for name, heir in heirs.items())
        spelled = {name: self._spelled(heir) for name, heir in heirs.items()}
        return Member(agent, who, Audience(who, vendor_of(agent.adapter)), spelled, transfers)

    def _spelled(self, agent: Agent) -> str:
        return "" if agent.name == self.entry.name else agent.name

    @property
    def tool_names(self) -> Container[str]:
        """The names of all that the server itself runs for the team, with those of sources as they were last found."""
        ours = ([*member.heirs, *member.agent.by_name] for member in self.members.values())
        return frozenset().union(*ours)


def with_model(agents: Sequence[Agent], model: Adapter) -> tuple[Agent, ...]:
    """Returns ``agents`` with another model, and all that they pass work to with that same one, too."""
    found = {id(one): one for agent in agents for one in Team(agent).agents}
    # What a workflow does follows from code, so that stays its model.
    copies = {
        key: replace(one, model=one.model if isinstance(one.model, Workflow) else model) for key, one in found.items()
    }
    for copy in copies.values():
        copy.handoffs[:] = [copies[id(heir)] for heir in copy.handoffs]
        tools = [tool for tool in copy.tools if isinstance(tool, Tool | ToolSource)]
        copy.set_tools([t.to(copies[id(t.agent)]) if isinstance(t, Delegation) else t for t in tools])
    return tuple(copies[id(agent)] for agent in agents)


def passes_work_to(agent: Agent) -> Iterable[Agent]:
    """Returns the agents that this one names."""
    return [*agent.handoffs, *(tool.agent for tool in agent.by_name.values() if tool.agent is not None)]


def _heirs(agent: Agent) -> dict[str, Agent]:
    heirs: dict[str, Agent] = {}
    for heir in agent.handoffs:
        if not isinstance(heir, Agent):
            raise ConfigurationError(f"agent {agent.name}: handoffs are agents, and {heir!r} is none")
        name = f"{TRANSFER}{heir.name}"
        if heir.name == agent.name:
            raise ConfigurationError(f"agent {agent.name}: it can't hand off to itself")
        if not is_tool_name(name):
            raise ConfigurationError(
                f"agent {agent.name}: {name!r} is not a tool name, so nothing can be handed off to {heir.name!r}. "
                "Up to 64 ASCII letters, digits, _ and - are allowed"
            )
        if name in agent.by_name:
            raise ConfigurationError(f"agent {agent.name}: its tool {name!r} has the name that hands off")
        heirs[name] = heir
    if agent.names is not None:
        agent.names.reserve(heirs)
    return heirs


def _spec(name: str, heir: Agent) -> ToolSpec:
    about = f" {heir.description}" if heir.description else ""
    description = f"Transfer the conversation to the agent {heir.name}, which answers from then on.{about}"
    return ToolSpec(name, description, {"type": "object", "properties": {}})
