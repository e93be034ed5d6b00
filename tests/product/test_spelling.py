"""A client that writes snake_case (T17), as Microsoft's `AGUIChatClient` does: all that others can do."""

import json
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from tests.product.kit import CARD_TOOL, Chat, Product, parse, product
from tests.product.shop import SEARCH, Shop, outputs, refund, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T17")]

ROUTES = ["/", "/agents/support", "/copilotkit/agent/support/run"]


def snake(body: dict[str, Any]) -> dict[str, Any]:
    """The same input, as the official models write it by their own names."""
    official = RunAgentInput.model_validate(body)
    written: dict[str, Any] = json.loads(official.model_dump_json(by_alias=False, exclude_none=True))
    assert "thread_id" in written
    return written


class SnakeChat(Chat):
    """A client that writes snake_case."""

    async def post(self, body: Any) -> Any:
        """One request, read to its end."""
        return await self.product.post(self.path, snake(body), self.headers)


def snake_chat(p: Product, **more: Any) -> SnakeChat:
    return SnakeChat(p.client, p.url, product=p, **more)


@pytest.mark.parametrize("path", ROUTES)
async def test_a_gated_call_is_approved_and_the_history_replayed(path: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(SEARCH, refund())) as p:
        chat = snake_chat(p, path=path, thread_id="t")
        asked = await chat.say("find and refund")
        assert shop.searches
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert done[-1]["type"] == "RUN_FINISHED"
        assert shop.orders == ["A1"]
        assert any(m.get("toolCalls") for m in chat.messages)
        assert (await chat.say("thanks"))[-1]["type"] == "RUN_FINISHED"
        assert (await p.get("/threads/t"))["id"] == "t"
        p.assert_clean()


async def test_a_card_is_answered_by_tool_call_id() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = snake_chat(p, tools=[CARD_TOOL])
        asked = await chat.say("refund")
        await chat.answer((next(iter(asked.cards)), {"accepted": True}))
        assert shop.orders == ["A1"]


async def test_results_of_client_tools_reach_the_model() -> None:
    paint = {"name": "paint", "description": "p", "parameters": {"type": "object", "properties": {"my_color": {}}}}
    paints = {"type": "function_call", "name": "paint", "arguments": {"my_color": "red"}}
    async with product([], script(paints)) as p:
        chat = snake_chat(p, tools=[paint])
        asked = await chat.say("paint it")
        (call,) = [e for e in asked if e["type"] == "TOOL_CALL_START"]
        await chat.answer((call["toolCallId"], '{"thread_id": "mine"}'))
        assert outputs(p.inputs()[-1]) == ['{"thread_id": "mine"}']
        assert p.inputs()[0]["tools"][0]["parameters"]["properties"] == {"my_color": {}}


@pytest.mark.parametrize("path", ["/agents/support/connect", "/copilotkit/agent/support/connect"])
async def test_a_page_connects(path: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = snake_chat(p)
        asked = await chat.say("refund")
        response = await p.client.post(p.url + path, json=snake(chat.body(messages=[])))
        assert parse(response.text).interrupts[0]["id"] == asked.interrupts[0]["id"]


async def test_two_threads_in_one_request_are_refused() -> None:
    async with product([], script()) as p:
        refused = await p.post("/", p.chat(thread_id="mine").body(thread_id="another"))
        assert refused.status == 422
        assert (await p.get("/threads"))["threads"] == []
