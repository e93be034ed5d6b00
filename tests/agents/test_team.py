"""A team is looked at when it is made: who belongs to it, and what can't be."""

import pytest

from agui_gate import Agent, ConfigurationError, create_app, pipeline, tool
from agui_gate.agents.team import Roster
from agui_gate.extras.teams import Team, with_model
from tests.agents.test_agent import Shelf
from tests.product.inprocess import Parrot


def agent(name: str, *handoffs: Agent) -> Agent:
    return Agent(name=name, model=Parrot(), handoffs=list(handoffs))


def test_a_team_is_all_that_can_be_reached() -> None:
    archive = agent("archive")
    billing, shipping = agent("billing", archive), agent("shipping", archive)
    team = Team(agent("support", billing, shipping))
    assert list(team.members) == ["support", "billing", "shipping", "archive"]
    found = team.member("archive")
    assert found is not None
    assert found.agent is archive
    assert team.member("") is team.first
    assert team.member("nobody") is None


def test_the_entry_agent_is_not_named_in_journals() -> None:
    team = Team(agent("support", agent("billing")))
    assert [member.who.agent for member in team.members.values()] == ["", "billing"]


def test_circles_are_closed_after_the_agents_were_made() -> None:
    a, b = agent("a"), agent("b")
    a.handoffs.append(b)
    b.handoffs.append(a)
    team = Team(a)
    assert team.members["a"].heirs == {"transfer_to_b": "b"}
    assert team.members["b"].heirs == {"transfer_to_a": ""}
    assert (repr(a), a == b) == (repr(a), False)  # neither goes round in the circle


def test_a_transfer_is_a_tool_without_arguments() -> None:
    heir = Agent(name="billing", model=Parrot(), description="Knows about invoices.")
    (spec,) = Team(agent("support", heir)).first.transfers
    assert spec.name == "transfer_to_billing"
    assert spec.description.endswith("Knows about invoices.")
    assert spec.parameters == {"type": "object", "properties": {}}


def test_an_agent_that_hands_off_to_nobody_has_no_such_tool() -> None:
    team = Team(agent("support"))
    assert (team.is_alone, team.first.transfers) == (True, ())


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="two different agents are called 'billing'"):
        Team(agent("support", agent("billing"), agent("shipping", agent("billing"))))


def test_an_agent_of_its_own_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="can't hand off to itself"):
        Team(agent("support", agent("support")))


def test_who_is_no_agent_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="handoffs are agents"):
        Team(Agent(name="support", model=Parrot(), handoffs=["billing"]))  # type: ignore[list-item]  # that is the test


def test_a_name_that_is_no_tool_name_is_refused() -> None:
    for name in ("billing.eu", "b" * 60):
        with pytest.raises(ConfigurationError, match="is not a tool name"):
            Team(agent("support", agent(name)))


def test_a_tool_of_the_same_name_is_refused() -> None:
    @tool(name="transfer_to_billing")
    def mine() -> str:
        return ""

    with pytest.raises(ConfigurationError, match="has the name that hands off"):
        Team(Agent(name="support", model=Parrot(), tools=[mine], handoffs=[agent("billing")]))


@pytest.mark.anyio
async def test_a_source_gets_no_name_that_hands_off() -> None:
    support = Agent(
        name="support",
        model=Parrot(),
        tools=[Shelf("orders", "transfer_to_billing", "find")],
        handoffs=[agent("billing")],
    )
    Team(support)
    assert list((await support.ready()).by_name) == ["find"]


def test_a_name_is_one_agent_over_all_teams() -> None:
    one, two = agent("support", agent("billing")), agent("sales", agent("billing"))
    with pytest.raises(ConfigurationError, match="two different agents are called 'billing'"):
        create_app(one, two, store="memory://")


def test_an_agent_may_be_in_several_teams_and_be_served_itself() -> None:
    billing = agent("billing")
    roster = Roster([agent("support", billing), agent("sales", billing), billing])
    assert list(roster.members) == ["support", "billing", "sales"]
    assert roster.team(billing).is_alone


def test_another_model_is_that_of_the_whole_team() -> None:
    a, b = agent("a"), agent("b")
    a.handoffs.append(b)
    b.handoffs.append(a)
    model = Parrot()
    (copy,) = with_model([a], model)
    assert [one.model for one in Team(copy).agents] == [model, model]
    assert copy.handoffs[0].handoffs == [copy]
    assert a.handoffs[0].model is not model


def test_another_model_is_given_to_those_who_get_tasks_too() -> None:
    inner, other = agent("inner"), Parrot()
    line = pipeline("line", inner)
    boss = Agent(name="boss", model=Parrot(), tools=[inner.as_tool(), line.as_tool(name="in_line")])
    (copy,) = with_model([boss], other)
    team = Team(copy)
    assert {one.name for one in team.agents} == {"boss", "inner", "line"}
    assert [one.name for one in team.agents if one.model is not other] == ["line"]
