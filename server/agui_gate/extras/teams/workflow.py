"""Workflows: agents made of agents, one after the other or all at once.

A workflow is an agent whose model is a few lines of code. It delegates to its members as any model does to sub-agents
(docs/teams.md#sub-agents), and says nothing itself. So gates inside, answers, restarts and nesting are what they are
for any task, and a member that is done is not asked again.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    CallEnd,
    CallStart,
    Finding,
    ModelEvent,
    SettledCall,
    Text,
    Transcript,
    TurnDone,
    TurnRequest,
    UserTurn,
)
from agui_gate.agents.agent import Agent
from agui_gate.errors import ConfigurationError

_NO_WORDS = "(The user sent no words.)"


def pipeline(name: str, *agents: Agent) -> Agent:
    """Returns an agent that hands what the user says to each of ``agents`` in turn. Each is told what those before it
    said.

    It ends with the last one, or where one fails. What a user says while it is under way goes to those that follow.
    Raises `ConfigurationError` without agents, and for two of one name.
    """
    return _workflow(name, agents, Workflow(f"agui-gate/pipeline/{name}", tuple(a.name for a in agents), at_once=False))


def parallel(name: str, *agents: Agent) -> Agent:
    """Returns an agent that hands what the user says to all of ``agents`` at once. Raises as `pipeline`."""
    return _workflow(name, agents, Workflow(f"agui-gate/parallel/{name}", tuple(a.name for a in agents), at_once=True))


def _workflow(name: str, agents: Sequence[Agent], model: "Workflow") -> Agent:
    if not agents:
        raise ConfigurationError(f"agent {name}: it consists of other agents, and needs at least one")
    description = " ".join(agent.description for agent in agents if agent.description)
    tools = [agent.as_tool() for agent in agents]
    return Agent(name=name, model=model, tools=tools, description=description, max_turns=len(agents) + 1)


@dataclass(slots=True)
class _Flow:
    """The way through a workflow: what the user said, and what has come of each member that was asked, in order."""

    said: list[str] = field(default_factory=list)
    done: list[SettledCall] = field(default_factory=list)

    def is_over(self, members: int) -> bool:
        """Returns whether nobody is to be asked any more."""
        return len(self.done) >= members or any(call.output.is_error for call in self.done)


class Workflow:
    """The model of such an agent: see `Adapter`. What it says follows from the transcript alone."""

    def __init__(self, origin: str, members: tuple[str, ...], *, at_once: bool) -> None:
        self.origin, self._members, self._at_once = origin, members, at_once

    async def stream(self, request: TurnRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Yields the next delegations, or an empty turn."""
        flow = self._flow(request.transcript)
        for member in self._next(flow):
            arguments = msgspec.json.encode({"task": self._task(flow)}).decode()
            yield [CallStart(member, "", member), CallEnd(member, arguments)]
        yield [TurnDone()]

    async def check(self) -> Sequence[Finding]:
        """Returns no findings: its members are asked themselves."""
        return ()

    async def aclose(self) -> None:
        """Does nothing: there is nothing to close."""

    def _flow(self, transcript: Transcript) -> _Flow:
        """Returns the way through the workflow that it is on. What was said before a way is over belongs to it."""
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
