"""What an agent is introduced with."""

from agui_gate.cli.demo.agent import support_agent
from agui_gate.http.views import agent_view
from agui_gate_adapters.openai_responses import OpenAIResponses


def test_a_page_learns_the_schemas_of_the_tools() -> None:
    """Units, labels and choices of a card come from there, also after a reload."""
    view = agent_view(support_agent(OpenAIResponses("m", base_url="http://127.0.0.1:9/v1", api_key="none")))
    refund = next(tool for tool in view["tools"] if tool["name"] == "refund")
    assert list(refund["parameters"]["properties"]) == ["order_id", "amount"]
    assert refund["parameters"]["properties"]["amount"]["description"] == "In euros."
