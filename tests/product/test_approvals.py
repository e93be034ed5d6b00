"""The heart of it: gated calls, answered in every way there is, in all three modes."""

import json

import pytest

from agui_gate import Gate, ToolContext, tool
from tests.product.kit import CARD_TOOL, MODES, product

pytestmark = pytest.mark.anyio

REFUND = {"type": "function_call", "name": "refund", "arguments": {"order_id": "A1", "amount": 20}}
SEARCH = {"type": "function_call", "name": "search", "arguments": {"q": "ada"}}


def script(*items, after="Done."):
    return [{"output": list(items)}, {"output": [{"type": "message", "text": after}], "repeat": True}]


class Shop:
    """Tools that remember what they did."""

    def __init__(self, **gate):
        self.refunds = []
        self.searches = []

        @tool(gate=Gate(**gate))
        async def refund(order_id: str, amount: float, ctx: ToolContext) -> dict:
            """Refund an order."""
            self.refunds.append((order_id, amount, ctx.call_id))
            return {"refunded": amount}

        @tool
        def search(q: str) -> list[str]:
            """Search."""
            self.searches.append(q)
            return [f"found {q}"]

        self.tools = [refund, search]


@pytest.mark.parametrize("mode", MODES)
async def test_interrupt_approved(mode):
    shop = Shop()
    async with product(shop.tools, script({"type": "message", "text": "One moment."}, REFUND), mode=mode) as p:
        chat = p.chat()
        first = await chat.say("refund A1")
        assert first[0]["type"] == "RUN_STARTED"
        assert first[0]["threadId"] == chat.thread_id
        (ask,) = first.interrupts
        assert ask["reason"] == "tool_call"
        assert ask["metadata"]["arguments"] == {"order_id": "A1", "amount": 20}
        assert shop.refunds == []
        second = await chat.resume((ask["id"], {"approved": True}))
        assert json.loads(second.results[ask["toolCallId"]]) == {"refunded": 20.0}
        assert second.text == "Done."
        assert len(shop.refunds) == 1
        again = await chat.resume((ask["id"], {"approved": True}))
        assert again[-1]["type"] == "RUN_FINISHED"
        assert len(shop.refunds) == 1
        third = await chat.say("thanks")
        assert third.text == "Done."
        p.assert_clean()


@pytest.mark.parametrize("mode", MODES)
async def test_card_approved(mode):
    shop = Shop()
    async with product(shop.tools, script(REFUND, SEARCH), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL])
        first = await chat.say("refund A1")
        ((card_id, card),) = first.cards.items()
        assert card["function_name"] == "refund"
        assert card["function_arguments"] == {"order_id": "A1", "amount": 20}
        assert first.interrupts == []
        second = await chat.answer((card_id, {"accepted": True}))
        assert json.loads(second.results[card["function_call_id"]]) == {"refunded": 20.0}
        assert second.text == "Done."
        assert len(shop.refunds) == 1
        await chat.say("thanks")
        assert "confirm_changes" not in json.dumps(p.inputs())
        p.assert_clean()
