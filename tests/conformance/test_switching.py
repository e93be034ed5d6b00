"""A thread that changes its provider in the middle, with a call that waits: the transcript is neutral, ids are minted
anew where they have to be, and what was private to one provider stays behind.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path

import pytest

from agui_gate import Agent, create_app
from agui_gate.adapter import Adapter
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.openai_chat import OpenAIChat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, connecting, serving
from agui_gate_adapters.testkit.conformance.ground import SeenRequest, Shop, refund, say, search, think, turn
from tests.requirements import shows

pytestmark = pytest.mark.anyio

THINKING = {"type": "enabled", "budget_tokens": 1024}
PROVIDERS: dict[str, Callable[..., Adapter]] = {
    "chain": lambda url, name="gpt": OpenAIResponses(name, mode="chain", base_url=url, api_key="k"),
    "conversation": lambda url, name="gpt": OpenAIResponses(name, mode="conversation", base_url=url, api_key="k"),
    "stateless": lambda url, name="gpt": OpenAIResponses(name, mode="stateless", base_url=url, api_key="k"),
    "chat": lambda url, name="kimi": OpenAIChat(name, base_url=url, api_key="k", profile="kimi"),
    "anthropic": lambda url, name="claude": AnthropicMessages(name, base_url=url, api_key="k", thinking=THINKING),
}
SCRIPT = [
    turn(think("Look."), say("Looking."), search("one"), search("two")),
    turn(say("Found both.")),
    turn(think("Is it fair?"), search("three"), refund("A1")),
    turn(think("It was."), say("Refunded."), search("four")),
    turn(say("Really.")),
    turn(say("Bye."), repeat=True),
]


@asynccontextmanager
async def served(adapter: Adapter, shop: Shop, store: str, client: AGUIClient) -> AsyncIterator[AGUIClient]:
    """The same agent and the same store, with this model; the client comes along."""
    app = create_app(Agent(name="shop", model=adapter, tools=shop.tools), store=store)
    async with serving(app) as client.url:
        yield client


@shows("B24", "B5", "S24", "S19")
@pytest.mark.parametrize(("first", "second"), list(permutations(PROVIDERS, 2)))
async def test_a_thread_goes_on_with_another_provider_and_back(first: str, second: str, tmp_path: Path) -> None:
    shop, store = Shop(), f"sqlite:///{tmp_path}/threads.db"
    emulator = Emulator(SCRIPT, chat="kimi")
    async with serve(emulator) as base_url, connecting() as http:
        client = AGUIClient(http, "")
        async with served(PROVIDERS[first](base_url), shop, store, client):
            assert (await client.say("find")).text == "Looking.Found both."
            asked = await client.say("refund A1")
        async with served(PROVIDERS[second](base_url), shop, store, client):
            done = await client.decide(asked, approved=True)
            assert (done.text, shop.orders) == ("Refunded.Really.", ["A1"])
        async with served(PROVIDERS[first](base_url), shop, store, client):
            assert (await client.say("thanks")).text == "Bye."
            assert (await client.say("again")).text == "Bye."
    assert [(entry.rule, entry.error) for entry in emulator.refusals] == []
    told = SeenRequest(emulator.accepted[-1].items)
    assert told.users == ["find", "refund A1", "thanks", "again"]
    assert [json.loads(output) for output in told.outputs] == [
        ["found one"], ["found two"], ["found three"], {"refunded": 20.0, "order": "A1"}, ["found four"],
    ]  # fmt: skip
    ids = [call for stream in client.streams for call in stream.calls]
    assert len(ids) == len(set(ids)) == 5
