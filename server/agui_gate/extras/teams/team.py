"""Teams: an agent and all that it can pass work to, by handing off the conversation or by delegating a task."""

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from agui_gate.adapter import Adapter, ToolSpec
from agui_gate.agents import team as agents_team
from agui_gate.agents.agent import Agent
from agui_gate.agents.team import Member
from agui_gate.agents.tool import Gate, Tool, ToolSource, is_tool_name
from agui_gate.core.agent_view import Audience, Viewpoint
from agui_gate.core.json_text import parse_object
from agui_gate.core.model_capabilities import vendor_of
from agui_gate.errors import ConfigurationError, ToolError
from agui_gate.extras.teams.workflow import Workflow

EMPTY = "Not delegated: the task is empty. Say what is to be done."

TRANSFER = "transfer_to_"
"""The beginning of the name of a tool that transfers the conversation. The name of the agent that gets it follows."""


class Delegation(Tool):
    """A tool whose call hands a task to ``agent``. It has one argument, the task in words.

    Nothing is run when it is called: the engine has the agent work on the task, with its own model and tools. Its last
    words are the call's result. With a ``gate`` it does so once a person agreed that the task begins.
    """

    def __init__(
        self, agent: Agent, *, name: str | None = None, description: str | None = None, gate: bool | Gate = False
    ) -> None:
        about = (
            description or agent.description or f"Hand a task to the agent {agent.name}; it answers with the result."
        )
        asks = Gate() if gate is True else gate or None
        if asks is not None and asks.message is None:
            asks = replace(asks, message=f"May {agent.name} begin this task?")
        if asks is not None and asks.has_rule:
            raise ConfigurationError(f"tool {name or agent.name}: a rule can't decide whether a task begins")
        super().__init__(_delegate, name=name or agent.name, description=about, gate=asks or False)
        self.agent: Agent = agent

    def to(self, agent: Agent) -> "Delegation":
        """Returns the same tool with another agent behind it."""
        return Delegation(agent, name=self.name, description=self.description, gate=self.gate or False)

    @cached_property
    def schema_digest(self) -> str:
        """See `Tool`. An approval is also good for no other agent behind the tool."""
        return hashlib.sha256(f"{super().schema_digest} {self.agent.name}".encode()).hexdigest()

    def judged(self, arguments: Mapping[str, Any]) -> str:
        """See `Tool`. Nobody is asked about a task without words."""
        judged = super().judged(arguments)
        if not str((parse_object(judged) or {})["task"]).strip():
            raise ToolError(EMPTY)
        return judged


async def _delegate(task: str) -> str:
    """Gives the tool its schema; it is never called."""
    raise ConfigurationError("an agent as a tool works only as a tool of another agent")


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
