"""Sub-agents: an agent as a tool of another one."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Gate, Tool
from agui_gate.core.json_text import parse_object
from agui_gate.errors import ConfigurationError, ToolError

EMPTY = "Not delegated: the task is empty. Say what is to be done."


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
