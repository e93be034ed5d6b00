"""Sub-agents: an agent as a tool of another one."""

from typing import TYPE_CHECKING

from agui_gate.errors import ConfigurationError
from agui_gate.tool import Tool

if TYPE_CHECKING:
    from agui_gate.agent import Agent


class Delegation(Tool):
    """A tool whose call hands a task to ``agent``. It has one argument, the task in words.

    Nothing is run when it is called: the engine has the agent work on the task, with its own model and tools. Its last
    words are the call's result.
    """

    def __init__(self, agent: "Agent", *, name: str | None = None, description: str | None = None) -> None:
        about = (
            description or agent.description or f"Hand a task to the agent {agent.name}; it answers with the result."
        )
        super().__init__(_delegate, name=name or agent.name, description=about)
        self.agent = agent

    def to(self, agent: "Agent") -> "Delegation":
        """The same tool with another agent behind it."""
        return Delegation(agent, name=self.name, description=self.description)


async def _delegate(task: str) -> str:
    """What its schema is made of."""
    raise ConfigurationError("an agent as a tool works only as a tool of another agent")
