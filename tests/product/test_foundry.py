"""People who take longer than Foundry waits: outputs, and consents, that come after its ten minutes."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import Product, client_of, running
from tests.product.shop import Shop, calls, items, outputs, refund, say, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B27")]
YES = {"approved": True}
SERVER = {"type": "mcp", "server_label": "crm", "server_url": "https://crm.example/mcp", "require_approval": "always"}
HELD = {"type": "mcp_approval_request", "server_label": "crm", "name": "pay", "arguments": '{"to":"ada"}'}
MODES = ("chain", "conversation")


class Late(Product):
    """The product with a model on Foundry, and a clock that tests can move."""

    model: OpenAIResponses

    def later(self, seconds: float) -> None:
        """Let time pass, for the provider and for us."""
        self.emulator.state.clock.advance(seconds)
        moved = self.emulator.state.clock.offset
        self.model._now_ms = lambda: time.time_ns() // 1_000_000 + int(moved * 1000)


@asynccontextmanager
async def foundry(script: Any, mode: str, tools: Any = ()) -> AsyncIterator[Late]:
    emulator = Emulator(script, profile="foundry")
    async with serve(emulator) as base_url:
        model = OpenAIResponses.foundry("gpt", endpoint=base_url, api_key="k", mode=mode, hosted_tools=[SERVER])  # type: ignore[arg-type]
        app = create_app(Agent(name="support", model=model, tools=tools), store="memory://")
        async with running(app) as url, client_of() as client:
            product = Late(emulator, app, url, client)
            product.model = model
            yield product
    product.assert_clean()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("minutes", [9, 11, 600])
async def test_an_approval_after_the_window(mode: str, minutes: int) -> None:
    """In time: only the output. Too late: everything again, by value, without asking whether it would be taken."""
    shop = Shop()
    async with foundry([{"output": [refund()]}, {"output": [say("Done.")], "repeat": True}], mode, shop.tools) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        p.later(minutes * 60)
        done = await chat.resume((asked.interrupts[0]["id"], YES))
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        body = p.inputs()[-1]
        assert len(outputs(body)) == 1
        if minutes < 10:
            assert (calls(body), users(body)) == ([], [])
        else:
            assert "previous_response_id" not in body
            assert "conversation" not in body
            assert (calls(body)[0][0], users(body)) == ("refund", ["refund A1"])
        assert (await chat.say("thanks")).text == "Done."
        assert users(p.inputs()[-1]) == ["thanks"], "and from here on it continues again"


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_without_calls_has_no_window(mode: str) -> None:
    async with foundry([{"output": [say("Hi.")], "repeat": True}], mode) as p:
        chat = p.chat()
        await chat.say("hello")
        p.later(3600)
        await chat.say("still there?")
        assert users(p.inputs()[-1]) == ["still there?"]


@pytest.mark.parametrize("mode", MODES)
async def test_consent_after_the_window_is_not_given(mode: str) -> None:
    """The request that the provider would have to be told about is gone; the model hears that it may ask again."""
    script = [{"output": [HELD]}, {"output": [say("Shall I ask again?")]}]
    async with foundry(script, mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        p.later(660)
        done = await chat.resume((asked.interrupts[0]["id"], YES))
        (content,) = done.results.values()
        assert "no longer knows" in json.loads(content)["message"]
        assert done.text == "Shall I ask again?"
        body = p.inputs()[-1]
        assert not items(body, "mcp_approval_response")
        assert "no longer knows" in json.dumps(body["input"])
