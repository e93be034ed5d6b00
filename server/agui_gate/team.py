"""A team: the agent that clients post to, and all that it can pass work to."""

from collections.abc import Iterable, Mapping

from agui_gate.adapter import ToolSpec
from agui_gate.agent import Agent
from agui_gate.errors import ConfigurationError
from agui_gate.tool import is_tool_name

TRANSFER = "transfer_to_"
"""How the name of a tool begins that transfers the conversation. The heir's name follows."""


class Team:
    """``entry`` and all that can be reached from it, by name. Circles are fine.

    It is what it is when it is made: handoffs that are added to an agent later are not in it.

    Raises `ConfigurationError` for two different agents of one name, and where an agent can't be transferred to.
    """

    def __init__(self, entry: Agent) -> None:
        self.entry = entry
        self.members: dict[str, Agent] = {}
        """All of them by their names, the entry agent first."""
        self._heirs: dict[str, dict[str, Agent]] = {}
        self._collect(entry)

    def _collect(self, entry: Agent) -> None:
        found = [entry]
        for agent in found:  # grows while it is gone through
            known = self.members.setdefault(agent.name, agent)
            if known is not agent:
                raise ConfigurationError(f"two different agents are called {agent.name!r}; give each a name of its own")
            if agent.name not in self._heirs:
                self._heirs[agent.name] = _heirs(agent)
                found += passes_work_to(agent)

    def member(self, name: str) -> Agent | None:
        """The member of that name, or None. "" is the entry agent, as in a journal."""
        return self.members.get(name) if name else self.entry

    def spelled(self, agent: Agent) -> str:
        """How a journal spells a member: the entry agent is "", so that a thread without a team says nothing of it."""
        return "" if agent.name == self.entry.name else agent.name

    def heirs(self, agent: Agent) -> Mapping[str, Agent]:
        """To whom ``agent``, a member, can transfer the conversation: by the name of the tool that does it."""
        return self._heirs.get(agent.name, {})

    def transfers(self, agent: Agent) -> tuple[ToolSpec, ...]:
        """The tools that transfer the conversation, as the model sees them. They take no arguments."""
        return tuple(_spec(name, heir) for name, heir in self.heirs(agent).items())


def passes_work_to(agent: Agent) -> Iterable[Agent]:
    """The agents that this one names."""
    return agent.handoffs


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
                f"agent {agent.name}: {name!r} is no tool name, so nothing can be handed off to {heir.name!r}. "
                "Up to 64 ASCII letters, digits, _ and - are allowed"
            )
        if name in agent.by_name:
            raise ConfigurationError(f"agent {agent.name}: its tool {name!r} has the name that hands off")
        heirs[name] = heir
    agent.names.reserve(heirs)
    return heirs


def _spec(name: str, heir: Agent) -> ToolSpec:
    about = f" {heir.description}" if heir.description else ""
    description = f"Transfer the conversation to the agent {heir.name}, which answers from then on.{about}"
    return ToolSpec(name, description, {"type": "object", "properties": {}})
