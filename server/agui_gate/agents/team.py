"""Finds the members of a team: the agent that clients post to, and all that it can pass work to.

A workflow is an agent made of agents: one after the other, or all at once. It is an agent whose model is a few lines of
code. It delegates to its members as any model does to sub-agents (docs/teams.md#sub-agents), and says nothing itself.
So gates inside, answers, restarts and nesting are what they are for any task, and a member that is done is not asked
again.
"""

from collections.abc import AsyncGenerator, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec

from agui_gate.adapter import (
    Adapter,
    AssistantTurn,
    CallEnd,
    CallStart,
    Finding,
    ModelEvent,
    SettledCall,
    Text,
    ToolSpec,
    Transcript,
    TurnDone,
    TurnRequest,
    UserTurn,
)
from agui_gate.agents.agent import Agent
from agui_gate.agents.delegation import Delegation
from agui_gate.agents.tool import is_tool_name
from agui_gate.core.agent_view import Audience, Viewpoint
from agui_gate.core.model_capabilities import vendor_of
from agui_gate.errors import ConfigurationError

TRANSFER = "transfer_to_"
"""How the name of a tool begins that transfers the conversation. The heir's name follows."""


class Member(NamedTuple):
    """An agent in its team. ``who`` it is to a journal: the entry agent is "", so that a thread without a team says
    nothing of it. ``to``: for whom its transcripts are made.

    ``heirs`` are those to whom it can transfer the conversation, as journals spell them, by the name of the tool.
    ``transfers`` are these tools, as its model sees them. They take no arguments.
    """

    agent: Agent
    who: Viewpoint
    to: Audience
    heirs: Mapping[str, str]
    transfers: tuple[ToolSpec, ...]


class Team:
    """``entry`` and all that can be reached from it. Circles are fine.

    It is what it is when it is made: handoffs that are added to an agent later are not in it.

    Raises `ConfigurationError` for two different agents of one name, and where an agent can't be transferred to.
    """

    def __init__(self, entry: Agent) -> None:
        self.entry = entry
        self.members: dict[str, Member] = {}
        """All of them by their agents' names, the entry agent first."""
        found = [entry]
        for agent in found:  # grows while it is gone through
            known = self.members.get(agent.name)
            if known is None:
                self.members[agent.name] = self._member(agent)
                found += passes_work_to(agent)
            elif known.agent is not agent:
                raise ConfigurationError(f"two different agents are called {agent.name!r}; give each a name of its own")
        self.first = self.members[entry.name]
        """The entry agent."""
        self.is_alone = len(self.members) == 1
        """Whether the entry agent passes work to nobody."""

    def _member(self, agent: Agent) -> Member:
        heirs = _heirs(agent)
        who = Viewpoint(self._spelled(agent))
        transfers = tuple(_spec(name, heir) for name, heir in heirs.items())
        spelled = {name: self._spelled(heir) for name, heir in heirs.items()}
        return Member(agent, who, Audience(who, vendor_of(agent.adapter)), spelled, transfers)

    def _spelled(self, agent: Agent) -> str:
        return "" if agent.name == self.entry.name else agent.name

    def member(self, name: str) -> Member | None:
        """The member that a journal spells like this, or None: "" is the entry agent."""
        return self.members.get(name) if name else self.first

    def asker(self, agent: str, task: str) -> str:
        """Who is named where ``agent`` asks a person, in ``task``: "" where the entry agent does, in no task."""
        return agent if task or agent != self.entry.name else ""

    def delegate(self, agent: str, tool: str) -> Delegation | None:
        """The tool of the member ``agent``, spelled as in a journal, that delegates. None if it has no such tool."""
        member = self.member(agent)
        found = None if member is None else member.agent.by_name.get(tool)
        return found if isinstance(found, Delegation) else None

    @property
    def agents(self) -> Iterable[Agent]:
        """All of them, the entry agent first."""
        return [member.agent for member in self.members.values()]

    @property
    def tool_names(self) -> Container[str]:
        """The names of all that the server itself runs for the team, with those of sources as they were last found."""
        if self.is_alone:
            return self.entry.by_name
        ours = ([*member.heirs, *member.agent.by_name] for member in self.members.values())
        return frozenset().union(*ours)


def with_model(agents: Sequence[Agent], model: Adapter) -> tuple[Agent, ...]:
    """``agents`` with another model, and all that they pass work to with that same one, too."""
    found = {id(one): one for agent in agents for one in Team(agent).agents}
    # What a workflow does follows from code, so that stays its model.
    copies = {
        key: replace(one, model=one.model if isinstance(one.model, Workflow) else model) for key, one in found.items()
    }
    for copy in copies.values():
        copy.handoffs[:] = [copies[id(heir)] for heir in copy.handoffs]
        copy.delegate_to(copies)
    return tuple(copies[id(agent)] for agent in agents)


def passes_work_to(agent: Agent) -> Iterable[Agent]:
    """The agents that this one names."""
    return [*agent.handoffs, *(tool.agent for tool in agent.tools if isinstance(tool, Delegation))]


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


_NO_WORDS = "(The user sent no words.)"


def pipeline(name: str, *agents: Agent) -> Agent:
    """An agent that hands what the user says to each of ``agents`` in turn. Each is told what those before it said.

    It ends with the last one, or where one fails. What a user says while it is under way goes to those that follow.
    Raises `ConfigurationError` without agents, and for two of one name.
    """
    return _workflow(name, agents, Workflow(f"agui-gate/pipeline/{name}", tuple(a.name for a in agents), at_once=False))


def parallel(name: str, *agents: Agent) -> Agent:
    """An agent that hands what the user says to all of ``agents`` at once. Raises as `pipeline`."""
    return _workflow(name, agents, Workflow(f"agui-gate/parallel/{name}", tuple(a.name for a in agents), at_once=True))


def _workflow(name: str, agents: Sequence[Agent], model: "Workflow") -> Agent:
    if not agents:
        raise ConfigurationError(f"agent {name}: it is made of other agents, and needs one at least")
    description = " ".join(agent.description for agent in agents if agent.description)
    tools = [agent.as_tool() for agent in agents]
    return Agent(name=name, model=model, tools=tools, description=description, max_turns=len(agents) + 1)


@dataclass(slots=True)
class _Flow:
    """One way through a workflow: what the user said, and what has come of each member that was asked, in order."""

    said: list[str] = field(default_factory=list)
    done: list[SettledCall] = field(default_factory=list)

    def is_over(self, members: int) -> bool:
        """Whether nobody is to be asked any more."""
        return len(self.done) >= members or any(call.output.is_error for call in self.done)


class Workflow:
    """The model of such an agent: see `Adapter`. What it says follows from the transcript alone."""

    def __init__(self, origin: str, members: tuple[str, ...], *, at_once: bool) -> None:
        self.origin, self._members, self._at_once = origin, members, at_once

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """The next delegations, or an empty turn."""
        flow = self._flow(request.transcript)
        for member in self._next(flow):
            arguments = msgspec.json.encode({"task": self._task(flow)}).decode()
            yield [CallStart(member, "", member), CallEnd(member, arguments)]
        yield [TurnDone()]

    async def check(self) -> Sequence[Finding]:
        """There is nothing to check: its members are asked themselves."""
        return ()

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _flow(self, transcript: Transcript) -> _Flow:
        """The way that it is on. What was said before a way is over belongs to it."""
        flow = _Flow()
        for turn in transcript:
            match turn:
                case UserTurn():
                    if flow.is_over(len(self._members)):
                        flow = _Flow()
                    flow.said.append(_words(turn))
                case AssistantTurn():
                    flow.done += [call for call in turn.calls if call.part.name in self._members]
        return flow

    def _next(self, flow: _Flow) -> Sequence[str]:
        if flow.is_over(len(self._members)):
            return ()
        return self._members[len(flow.done) :] if self._at_once else self._members[len(flow.done) :][:1]

    def _task(self, flow: _Flow) -> str:
        said = "\n\n".join(text for text in flow.said if text) or _NO_WORDS
        told = [f"{call.part.name} said:\n{call.output.content}" for call in flow.done]
        return "\n\n".join([said, *told])


def _words(turn: UserTurn) -> str:
    return "\n".join(part.text for part in turn.content if isinstance(part, Text))
