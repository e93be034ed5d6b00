"""The demo's agent: support in a small shop, with data that the tools really change.

Reading is free; refunds and e-mails ask first. The data is made anew with every start.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from agui_gate.adapter import Adapter
from agui_gate.agent import Agent
from agui_gate.errors import ToolError
from agui_gate.tool import Gate, Tool, tool

INSTRUCTIONS = "You help the staff of a small shop with its orders. Look things up before you change them. Be brief."

EXAMPLES = (
    "Find Anna's orders and refund the first one",
    "Refund 20 euros of order 1003",
    "What is the state of order 1002?",
    "Email Ben that his parcel is on its way",
)


@dataclass(slots=True)
class Order:
    """An order; amounts are in euros."""

    order_id: str
    customer: str
    item: str
    amount: float
    status: str
    refunded: float = 0.0


@dataclass(slots=True)
class Shop:
    """The shop's data: customers with their addresses, orders, e-mails that were sent."""

    emails: dict[str, str] = field(
        default_factory=lambda: {
            "Anna Weber": "anna.weber@example.com",
            "Ben Okafor": "ben.okafor@example.com",
            "Chloé Martin": "chloe.martin@example.com",
        }
    )
    orders: list[Order] = field(
        default_factory=lambda: [
            Order("1001", "Anna Weber", "Espresso machine", 249.0, "delivered"),
            Order("1002", "Anna Weber", "Coffee beans, 2 kg", 38.5, "on its way"),
            Order("1003", "Ben Okafor", "Pour-over kettle", 64.9, "delivered"),
            Order("1004", "Ben Okafor", "Paper filters", 7.2, "on its way"),
            Order("1005", "Chloé Martin", "Burr grinder", 119.0, "delivered"),
        ]
    )
    outbox: list[dict[str, str]] = field(default_factory=list)

    def order(self, order_id: str) -> Order:
        """The order with this number. Raises `ToolError`."""
        wanted = order_id.strip().lstrip("#")
        for order in self.orders:
            if order.order_id == wanted:
                return order
        raise ToolError(f"There is no order {wanted[:40]}.")

    def refund(self, order: Order, amount: float) -> None:
        """Give money back. Raises `ToolError` if it is more than what is left."""
        left = round(order.amount - order.refunded, 2)
        if not 0 < amount <= left:
            raise ToolError(f"Order {order.order_id} has {left:.2f} € left to refund; {amount:.2f} € is not possible.")
        order.refunded = round(order.refunded + amount, 2)
        if order.refunded == order.amount:
            order.status = "refunded"

    def address(self, to: str) -> str:
        """An address, or a customer's by name. Raises `ToolError`."""
        if "@" in to:
            return to.strip()
        for name, address in self.emails.items():
            if to.strip().casefold() in name.casefold():
                return address
        raise ToolError(f"There is no customer called {to[:40]}, and it is no e-mail address.")


def support_agent(model: Adapter, shop: Shop | None = None) -> Agent:
    """The agent over ``shop`` (a fresh one by default)."""
    return Agent(
        name="support",
        model=model,
        instructions=INSTRUCTIONS,
        tools=_tools(shop or Shop()),
        description="Support in a small coffee shop. Refunds and e-mails wait for your yes.",
        examples=EXAMPLES,
    )


def _tools(shop: Shop) -> list[Tool]:
    @tool
    async def search_orders(customer: str) -> list[dict[str, Any]]:
        """Find a customer's orders by name or e-mail address."""
        wanted = customer.strip().removesuffix("'s").casefold()
        who = [name for name, email in shop.emails.items() if wanted in name.casefold() or wanted == email]
        return [asdict(order) for order in shop.orders if order.customer in who]

    @tool
    async def get_order(order_id: str) -> dict[str, Any]:
        """Look up one order by its number."""
        return asdict(shop.order(order_id))

    @tool(gate=Gate(editable=["amount"], expires_after=3600, message="Refund {amount} € for order {order_id}?"))
    async def refund(order_id: str, amount: float) -> dict[str, Any]:
        """Refund an order, in whole or in part. The amount is in euros."""
        order = shop.order(order_id)
        shop.refund(order, round(amount, 2))
        return {"order_id": order.order_id, "refunded": round(amount, 2), "status": order.status}

    @tool(gate=Gate(editable=["subject", "body"], expires_after=3600, message="Send this e-mail to {to}?"))
    async def send_email(to: str, subject: str, body: str) -> dict[str, str]:
        """Send an e-mail to a customer, by name or address."""
        mail = {"to": shop.address(to), "subject": subject, "body": body}
        shop.outbox.append(mail)
        return {"sent_to": mail["to"], "subject": subject}

    return [search_orders, get_order, refund, send_email]
