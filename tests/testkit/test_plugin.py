"""The fixtures that everybody gets who installs the package."""

from collections.abc import Awaitable, Callable

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui import AGUIClient

pytestmark = pytest.mark.anyio
ClientOf = Callable[..., Awaitable[AGUIClient]]


@tool(gate=True)
def refund(order_id: str) -> str:
    """Refund an order."""
    return f"refunded {order_id}"


async def test_an_agent_is_talked_to(emulator: Emulator, provider_url: str, agui_client: ClientOf) -> None:
    ask = {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1"}}
    emulator.load([{"output": [ask]}, {"output": [{"type": "message", "text": "Refunded."}]}])
    model = OpenAIResponses("gpt", base_url=provider_url, api_key="k")
    client = await agui_client(Agent(name="support", model=model, tools=[refund]))
    done = await client.decide(await client.say("refund A1"), approved=True)
    assert (done.text, list(done.results.values())) == ("Refunded.", ["refunded A1"])


async def test_an_application_is_too(provider_url: str, agui_client: ClientOf) -> None:
    agent = Agent(name="a", model=OpenAIResponses("gpt", base_url=provider_url, api_key="k"))
    client = await agui_client(create_app(agent, store="memory://"), thread_id="mine")
    assert (await client.say("hello")).error is None
    assert client.thread_id == "mine"
