"""The tools of a small shop, which remember what they did, and scripts of what the model does with them."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from agui_gate import Gate, ToolContext, tool

Item = dict[str, Any]


def call(name: str, call_id: str | None = None, **arguments: Any) -> Item:
    """The model calls a tool; ``call_id`` forces the provider's id."""
    item: Item = {"type": "function_call", "name": name, "arguments": arguments}
    return item if call_id is None else item | {"call_id": call_id}


def refund(order_id: str = "A1", amount: float = 20) -> Item:
    """The model asks for a refund."""
    return call("refund", order_id=order_id, amount=amount)


def say(text: str) -> Item:
    """The model says something."""
    return {"type": "message", "text": text}


SEARCH = call("search", q="ada")
COLOR: Item = {
    "name": "pick_color",
    "description": "Let the user pick a colour.",
    "parameters": {"type": "object", "properties": {"hint": {"type": "string"}}},
}
"""A tool of the client's, as it advertises it."""
PICK = call("pick_color", hint="bright")


def script(*items: Item, after: str = "Done.") -> list[Item]:
    """One turn with these items, then ``after`` whatever is said."""
    return [{"output": list(items)}, {"output": [say(after)], "repeat": True}]


class Shop:
    """A gated `refund`, a gated and idempotent `ship`, a free `search`. ``gate`` is the refund's policy."""

    def __init__(self, **gate: Any) -> None:
        self.refunds: list[tuple[str, float]] = []
        self.call_ids: list[str] = []
        self.shipped: list[str] = []
        self.searches: list[str] = []

        @tool(gate=Gate(**gate))
        async def refund(order_id: str, amount: float, ctx: ToolContext) -> dict[str, Any]:
            """Refund an order."""
            self.refunds.append((order_id, amount))
            self.call_ids.append(ctx.call_id)
            return {"refunded": amount, "order": order_id}

        @tool(gate=True, idempotent=True)
        def ship(order_id: str) -> str:
            """Ship an order."""
            self.shipped.append(order_id)
            return f"shipped {order_id}"

        @tool
        def search(q: str) -> list[str]:
            """Search the shop."""
            self.searches.append(q)
            return [f"found {q}"]

        self.tools = [refund, ship, search]

    @property
    def orders(self) -> list[str]:
        """The orders that were refunded, sorted."""
        return sorted(order for order, _ in self.refunds)


class Endless:
    """A gated tool `pay` that begins and never ends. ``runs``: the amounts that it was called with."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.runs: list[int] = []

        @tool(gate=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.runs.append(amount)
            self.begun.set()
            await asyncio.Event().wait()
            return "never"

        self.pay = pay


def outputs(body: Item) -> list[str]:
    """The function outputs of a model request, in order."""
    return [item["output"] for item in items(body, "function_call_output")]


def calls(body: Item) -> list[tuple[str, Any]]:
    """Name and arguments of the calls that a model request replays."""
    return [(item["name"], json.loads(item["arguments"])) for item in items(body, "function_call")]


def users(body: Item) -> list[str]:
    """The user's texts in a model request."""
    found: Sequence[Item] = [i for i in _input(body) if i.get("role") == "user"]
    return [
        "".join(p.get("text", "") for p in i["content"]) if isinstance(i["content"], list) else i["content"]
        for i in found
    ]


def items(body: Item, kind: str) -> list[Item]:
    """The input items of one type."""
    return [item for item in _input(body) if item.get("type") == kind]


def _input(body: Item) -> list[Item]:
    value = body.get("input", [])
    return value if isinstance(value, list) else [{"role": "user", "content": value}]


def status(content: str) -> str:
    """The status word of a result that isn't a tool's own."""
    word = json.loads(content)["status"]
    assert isinstance(word, str)
    return word
