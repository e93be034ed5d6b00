"""Teams: agents that hand off conversations and delegate tasks, and workflows made of agents (docs/teams.md)."""

from agui_gate.extras.teams.members import Members
from agui_gate.extras.teams.team import Delegation, Team, with_model
from agui_gate.extras.teams.workflow import parallel, pipeline

__all__ = ["Delegation", "Members", "Team", "parallel", "pipeline", "with_model"]
