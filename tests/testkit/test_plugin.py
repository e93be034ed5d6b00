"""The fixtures that everybody gets who installs the package."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui import AGUIClient

pytestmark = pytest.mark.anyio
ASK = {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1"}}
ClientOf = Callable[..., Awaitable[AGUIClient]]


@tool(gate=True)
def refund(order_id: str) -> str:
    """Refund an order."""
    return f"refunded {order_id}"


async def test_an_agent_is_talked_to(emulator: Emulator, provider_url: str, agui_client: ClientOf) -> None:
    emulator.load([{"output": [ASK]}, {"output": [{"type": "message", "text": "Refunded."}]}])
    model = OpenAIResponses("gpt", base_url=provider_url, api_key="k")
    client = await agui_client(Agent(name="support", model=model, tools=[refund]))
    done = await client.decide(await client.say("refund A1"), approved=True)
    assert (done.text, list(done.results.values())) == ("Refunded.", ["refunded A1"])


async def test_an_application_is_too(provider_url: str, agui_client: ClientOf) -> None:
    agent = Agent(name="a", model=OpenAIResponses("gpt", base_url=provider_url, api_key="k"))
    client = await agui_client(create_app(agent, store="memory://"), thread_id="mine")
    assert (await client.say("hello")).error is None
    assert client.thread_id == "mine"


MEMBERS = {"state": {"a": 1}, "forwarded_props": {}, "parentRunId": "r0"}


@pytest.mark.parametrize("style", ["card", "interrupt"])
@pytest.mark.parametrize(
    "more", [{"edited": {"order_id": "B2"}}, {"aproved": True}, {"thread": "t"}, {"editedArgs": {}}]
)
async def test_what_no_run_has_is_refused(
    emulator: Emulator, provider_url: str, agui_client: ClientOf, style: Any, more: dict[str, Any]
) -> None:
    """`decide(asked, approved=True, edited=…)` approved what nobody edited."""
    emulator.load([{"output": [ASK]}, {"output": [{"type": "message", "text": "Refunded."}]}])
    model = OpenAIResponses("gpt", base_url=provider_url, api_key="k")
    client = await agui_client(Agent(name="support", model=model, tools=[refund], hitl=style))
    asked = await client.say("refund A1", **MEMBERS)
    for attempt in (client.decide(asked, approved=True, **more), client.go(**more), client.say("x", **more)):
        with pytest.raises(TypeError, match=f"no member {next(iter(more))}"):
            await attempt
    for payloads, approved in (((), None), (({"approved": True},), True)):
        with pytest.raises(TypeError, match=r"decide\(\) takes"):
            await client.decide(asked, *payloads, approved=approved)
    assert len(emulator.accepted) == 1
    assert [message["content"] for message in client.messages if message["role"] == "user"] == ["refund A1"]
    done = await client.decide(asked, approved=True, **MEMBERS)
    assert next(iter(done.results.values())) == "refunded A1"
