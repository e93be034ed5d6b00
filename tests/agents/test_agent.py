"""Agents are checked when they are made."""

import pytest
import structlog

from agui_gate import Agent, SchemaTool, ToolSource, tool
from agui_gate.errors import ConfigurationError, Unavailable
from tests.product.inprocess import Parrot


def search(q: str) -> str:
    """Search."""
    return q


def test_functions_become_tools() -> None:
    agent = Agent(name="a", model=Parrot(), tools=[search, tool(name="other")(search)])
    assert list(agent.by_name) == ["search", "other"]
    assert [(s.name, s.description) for s in agent.specs] == [("search", "Search."), ("other", "Search.")]
    assert (agent.hitl, agent.on_unanswered, agent.on_disconnect, agent.max_turns) == (
        "auto",
        None,
        "auto",
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
        ({"on_disconnect": "stop"}, "choose from auto, cancel, continue"),
    ],
)
def test_what_can_not_be(options, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Agent(**{"name": "a", "model": Parrot(), **options})


class Shelf:
    """A source of tools, which can be away."""

    def __init__(self, name, *tools) -> None:
        self.name, self.names, self.away = name, tools, False

    async def tools(self):
        if self.away:
            raise Unavailable("away")
        return [SchemaTool(None, name=n, description=n, parameters={}, origin=self.name) for n in self.names]

    async def check(self):
        return []

    async def aclose(self) -> None:
        return


@pytest.mark.anyio
async def test_sources_are_asked_when_it_gets_ready() -> None:
    docs, files = Shelf("docs", "read"), Shelf("files", "write")
    agent = Agent(name="a", model=Parrot(), instructions="Be kind.", tools=[docs, search, files])
    assert isinstance(docs, ToolSource)
    assert (list(agent.by_name), agent.sources) == (["search"], (docs, files))
    ready = await agent.ready()
    assert ([s.name for s in ready.specs], ready.sources, ready.away) == (["read", "search", "write"], (), ())
    assert list(agent.by_name) == ["read", "search", "write"]  # for people who look at it between runs
    files.away = True
    poorer = await agent.ready()
    assert (list(poorer.by_name), list(ready.by_name)) == (["read", "search"], ["read", "search", "write"])
    assert poorer.instructions == "Be kind.\n\nThe tools of files can't be used right now. Say so if they are needed."
    assert (poorer.why_not("read"), ready.why_not("nothing")) == (None, None)
    assert poorer.why_not("write").startswith("write can't run now, as files can't be reached. Nothing was run")


@pytest.mark.anyio
async def test_a_name_that_is_taken_costs_a_source_that_tool_alone() -> None:
    """T2: every run failed with `internal`. The agent's own come first, then the sources in order."""
    docs = Shelf("docs", "read", "search", "confirm_changes", "read")
    files = Shelf("files", "read", "write")
    agent = Agent(name="a", model=Parrot(), tools=[docs, search, files])
    with structlog.testing.capture_logs() as logs:
        ready = await agent.ready()
        again = await agent.ready()
    assert list(ready.by_name) == list(again.by_name) == ["read", "search", "write"]
    assert [(ready.source_of(n), ready.by_name[n].origin) for n in ready.by_name] == [
        ("docs", "docs"),
        ("", ""),
        ("files", "files"),
    ]
    warned = [(log["source"], log["tool"], log["taken_by"]) for log in logs if log["event"] == "tool_name_taken"]
    assert warned == [
        ("docs", "search", "the agent itself"),
        ("docs", "confirm_changes", "confirm cards"),
        ("docs", "read", "docs"),
        ("files", "read", "docs"),
    ], "once each, not once a run"


@pytest.mark.anyio
async def test_a_source_that_is_away_keeps_its_names() -> None:
    docs, files = Shelf("docs", "read"), Shelf("files", "read", "write")
    agent = Agent(name="a", model=Parrot(), tools=[docs, files])
    await agent.ready()
    docs.away = True
    poorer = await agent.ready()
    assert (list(poorer.by_name), poorer.away) == (["write"], ("docs",))
    assert poorer.why_not("read", "docs").startswith("read can't run now, as docs can't be reached")
    assert poorer.why_not("read", "files") is None
    assert poorer.why_not("search", "") is None, "a tool of its own that is gone is not docs'"
    assert poorer.why_not("read", "old name").startswith("read can't run now, as docs"), "it may be docs, renamed"


def test_two_of_its_own_tools_and_two_sources_have_two_names() -> None:
    with pytest.raises(ConfigurationError, match="two tools have the same name, search"):
        Agent(name="a", model=Parrot(), tools=[search, search])
    with pytest.raises(ConfigurationError, match="two sources of tools are called docs"):
        Agent(name="a", model=Parrot(), tools=[Shelf("docs"), Shelf("docs")])
