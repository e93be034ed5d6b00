"""The team of a conversation: the agent that clients post to, alone or with those that it passes work to."""

from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from agui_gate.adapter import ToolSpec
from agui_gate.agents.agent import Agent
from agui_gate.core.agent_view import Audience, Viewpoint
from agui_gate.core.model_capabilities import vendor_of
from agui_gate.extra_loader import load

if TYPE_CHECKING:
    from agui_gate.agents.tool import Tool

EXTRA = "teams"


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
