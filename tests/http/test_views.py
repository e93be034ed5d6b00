"""What an agent is introduced with."""

from agui_gate import Agent, tool
from agui_gate.agents.team import team_of
from agui_gate.cli.demo.agent import support_agent
from agui_gate.http.agents import agent_view
from agui_gate_adapters.openai_responses import OpenAIResponses


def model() -> OpenAIResponses:
    return OpenAIResponses("m", base_url="http://127.0.0.1:9/v1", api_key="none")


@tool(gate=True)
async def refund(order_id: str) -> str:
    """Give money back."""
    return order_id


def test_a_page_learns_the_schemas_of_the_tools() -> None:
    """Units, labels and choices of a card come from there, also after a reload."""
    view = agent_view(team_of(support_agent(model())))
    refund = next(tool for tool in view["tools"] if tool["name"] == "refund")
    assert list(refund["parameters"]["properties"]) == ["order_id", "amount"]
    assert refund["parameters"]["properties"]["amount"]["description"] == "In euros."
    assert {"team", "handoffs"}.isdisjoint(view), "who works alone is told as ever"


def test_a_page_learns_who_works_together() -> None:
    """So it can name a sub-agent after a reload, too, and knows the tools that its cards are about."""
    clerk = Agent(name="clerk", model=model(), description="Refunds.", tools=[refund])
    billing = Agent(name="billing", model=model())
    desk = Agent(name="desk", model=model(), tools=[clerk.as_tool(name="ask_clerk")], handoffs=[billing])
    billing.handoffs.append(desk)
    view = agent_view(team_of(desk))
    assert [(one["name"], one["agent"]) for one in view["tools"]] == [("ask_clerk", "clerk")]
    assert view["handoffs"] == ["billing"]
    team = {one["name"]: one for one in view["team"]}
    assert team["billing"] == {"name": "billing", "description": "", "tools": [], "handoffs": ["desk"]}
    assert [(one["name"], one["gated"], "agent" in one) for one in team["clerk"]["tools"]] == [("refund", True, False)]
    assert set(team) == {"billing", "clerk"}
