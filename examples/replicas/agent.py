"""The agent that every replica serves: put yours in its place.

    export OPENAI_API_KEY=…
    agui-gate serve agent:agent --store postgresql://…

What it knows is the same in every process, and what happened is in the store. A tool that changes something changes it
in a system that all replicas share, never in its own memory.
"""

import os
import socket
from typing import Annotated

from pydantic import Field

from agui_gate import Agent, Gate, ToolContext, ToolError, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

ORDERS = [
    {"order_id": "1001", "customer": "Anna Weber", "item": "Espresso machine", "amount": 249.0},
    {"order_id": "1002", "customer": "Anna Weber", "item": "Coffee beans, 2 kg", "amount": 38.5},
    {"order_id": "1003", "customer": "Ben Okafor", "item": "Pour-over kettle", "amount": 64.9},
]


def here() -> str:
    """Which replica this is."""
    return f"{socket.gethostname()}, process {os.getpid()}"


@tool
async def search_orders(customer: str) -> list[dict]:
    """Find a customer's orders by name. Amounts are in euros."""
    return [order for order in ORDERS if customer.lower() in order["customer"].lower()]


@tool(gate=Gate(editable=["amount"], expires_after=3600, message="Refund {amount} € for order {order_id}?"))
async def refund(order_id: str, amount: Annotated[float, Field(description="In euros.")], ctx: ToolContext) -> dict:
    """Refund an order, in whole or in part. Amounts are in euros."""
    if order_id not in {order["order_id"] for order in ORDERS}:
        raise ToolError(f"There is no order {order_id}.")
    # Here the payment system would be called, with ctx.idempotency_key, so that nobody is paid twice.
    return {"order_id": order_id, "refunded": amount, "approved_by": ctx.principal, "ran_on": here()}


agent = Agent(
    name="support",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You help the staff of a small shop with its orders. Be brief.",
    tools=[search_orders, refund],
    description="Support in a small coffee shop, served by several replicas. Refunds wait for your yes.",
    examples=("Find Anna's orders and refund the first one", "Refund 20 euros of order 1003"),
)
