"""The demo's agent: support in a small shop, with data that the tools really change.

Reading is free; refunds and e-mails ask first. Each chat has orders of its own.
"""

from typing import Annotated, Any

from pydantic import Field

from agui_gate.adapter import Adapter
from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Gate, Tool, ToolContext, tool
from agui_gate.cli.demo.shop import Shops

INSTRUCTIONS = "You help the staff of a small shop with its orders. Look things up before you change them. Be brief."

EXAMPLES = (
    "Find Anna's orders and refund the first one",
    "Refund 20 euros of order 1003",
    "Cancel orders 1002 and 1004",
    "What is the state of order 1002?",
    "Email Ben that his parcel is on its way",
)


def support_agent(model: Adapter) -> Agent:
    """Returns the agent over shops of its own."""
    return Agent(
        name="support",
        model=model,
        instructions=INSTRUCTIONS,
        tools=shop_tools(Shops()),
        description="Support in a small coffee shop. Refunds and e-mails wait for your yes. "
        "Every chat starts with the same five orders.",
        examples=EXAMPLES,
    )


def shop_tools(shops: Shops) -> list[Tool]:
    """Returns the tools for the shops: orders are looked up freely, and changed behind a gate."""

    @tool
    async def search_orders(customer: str, ctx: ToolContext) -> list[dict[str, Any]]:
        """Find a customer's orders by name or e-mail address. Amounts are in euros."""
        return [order.view() for order in shops.of(ctx).orders_of(customer)]

    @tool
    async def get_order(order_id: str, ctx: ToolContext) -> dict[str, Any]:
        """Look up one order by its number, such as 1003. Amounts are in euros."""
        return shops.of(ctx).order(order_id).view()

    @tool(gate=Gate(editable=["amount"], expires_after=3600, message="Refund {amount} € for order {order_id}?"))
    async def refund(
        order_id: str, amount: Annotated[float, Field(gt=0, description="In euros.")], ctx: ToolContext
    ) -> dict[str, Any]:
        """Refund an order, in whole or in part. Amounts are in euros."""
        shop = shops.of(ctx)
        order = shop.order(order_id)
        shop.refund(order, amount)
        return {
            "order_id": order.order_id,
            "refunded": amount,
            "left_to_refund": order.left,
            "status": order.status,
        }

    @tool(gate=Gate(expires_after=3600, message="Cancel order {order_id}?"))
    async def cancel_order(order_id: str, ctx: ToolContext) -> dict[str, Any]:
        """Cancel an order by its number, such as 1002, as long as it is not delivered."""
        order = shops.of(ctx).order(order_id)
        order.cancel()
        return {"order_id": order.order_id, "status": order.status}

    @tool(gate=Gate(editable=["subject", "body"], expires_after=3600, message="Send this e-mail to {to}?"))
    async def send_email(to: str, subject: str, body: str, ctx: ToolContext) -> dict[str, str]:
        """Send an e-mail to a customer, by name or address."""
        shop = shops.of(ctx)
        mail = {"to": shop.address(to), "subject": subject, "body": body}
        shop.outbox.append(mail)
        return {"sent_to": mail["to"], "subject": subject}

    return [search_orders, get_order, refund, cancel_order, send_email]
