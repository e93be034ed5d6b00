"""Agents are checked when they are made."""

import pytest

from agui_gate import Agent, tool
from agui_gate.errors import ConfigurationError
from tests.product.inprocess import Parrot


def search(q: str) -> str:
    """Search."""
    return q


def test_functions_become_tools():
    agent = Agent(name="a", model=Parrot(), tools=[search, tool(name="other")(search)])
    assert list(agent.by_name) == ["search", "other"]
    assert [(s.name, s.description) for s in agent.specs] == [("search", "Search."), ("other", "Search.")]
    assert (agent.hitl, agent.on_unanswered, agent.on_disconnect, agent.max_turns) == (
        "auto",
        "supersede",
        "cancel",
        20,
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": ""}, "agent name"),
        ({"name": "a b"}, "agent name"),
        ({"name": "../x"}, "agent name"),
        ({"name": "x" * 65}, "agent name"),
        ({"name": "a\n"}, "agent name"),
        ({"model": object()}, "provider adapter"),
        ({"model": None}, "provider adapter"),
        ({"tools": [search, search]}, "same name"),
        ({"max_turns": 0}, "max_turns"),
        ({"hitl": "cards"}, "choose from auto, card, interrupt"),
        ({"on_unanswered": "ignore"}, "choose from supersede, represent, refuse"),
        ({"on_disconnect": "stop"}, "choose from cancel, continue"),
    ],
)
def test_what_can_not_be(options, says):
    with pytest.raises(ConfigurationError, match=says):
        Agent(**{"name": "a", "model": Parrot(), **options})
