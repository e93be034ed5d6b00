"""The tools of a small shop, which remember what they did, and scripts of what the model does with them."""

import json
from typing import Any

import agui_gate
from agui_gate import Gate, ToolContext

Item = dict[str, Any]

YES, NO = {"approved": True}, {"approved": False}
COLOR = {
    "name": "pick_color",
    "description": "Let the user pick a colour.",
    "parameters": {"type": "object", "properties": {"hint": {"type": "string"}}},
}
"""A tool of the client's."""


def call(name: str, call_id: str | None = None, **arguments: Any) -> Item:
    """The model calls a tool; ``call_id`` forces the provider's id."""
    item: Item = {"type": "function_call", "name": name, "arguments": arguments}
    return item if call_id is None else item | {"call_id": call_id}


def refund(order_id: str = "A1", amount: float = 20) -> Item:
    """The model asks for a refund."""
    return call("refund", order_id=order_id, amount=amount)


def search(q: str = "ada") -> Item:
    """The model searches."""
    return call("search", q=q)


def say(text: str) -> Item:
    """The model says something."""
    return {"type": "message", "text": text}


def think(text: str = "Let me think.") -> Item:
    """The model reasons where one can see it."""
    return {"type": "reasoning", "summary": [text]}


def turn(*items: Item, **more: Any) -> Item:
    """One turn of a script."""
    return {"output": list(items), **more}


def script(*items: Item, after: str = "Done.") -> list[Item]:
    """One turn with these items, then ``after`` whatever is said."""
    return [turn(*items), turn(say(after), repeat=True)]


def status(content: str) -> str:
    """The status word of a result that isn't a tool's own."""
    return str(json.loads(content)["status"])


class Shop:
    """A gated `refund` whose amount can be edited, a free `search`."""

    def __init__(self) -> None:
        self.refunds: list[tuple[str, float]] = []
        self.searches: list[str] = []

        @agui_gate.tool(gate=Gate(editable=["amount"]))
        async def refund(order_id: str, amount: float, ctx: ToolContext) -> Item:
            """Refund an order."""
            self.refunds.append((order_id, amount))
            return {"refunded": amount, "order": order_id}

        @agui_gate.tool
        def search(q: str) -> list[str]:
            """Search the shop."""
            self.searches.append(q)
            return [f"found {q}"]

        self.tools = [refund, search]

    @property
    def orders(self) -> list[str]:
        """The orders that were refunded, sorted."""
        return sorted(order for order, _ in self.refunds)
