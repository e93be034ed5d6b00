"""The demo's shop: orders, customers and an outbox that the demo agent's tools really change.

Every chat has a shop of its own, made anew with the chat's first call. So the orders never run out, and what one chat
did to an order can't surprise another.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from agui_gate.agents.tool import ToolContext
from agui_gate.errors import ToolError

MAX_SHOPS = 500
"""The chat that was quiet for longest loses its shop first."""


@dataclass(slots=True)
class Order:
    """An order; amounts are in euros."""

    order_id: str
    customer: str
    item: str
    amount: float
    status: str
    refunded: float = 0.0

    @property
    def left(self) -> float:
        """The amount that can still be refunded."""
        return round(self.amount - self.refunded, 2)

    def cancel(self) -> None:
        """Don't send it. Raises `ToolError` where it is too late for that."""
        if self.status != "on its way":
            raise ToolError(f"Order {self.order_id} is {self.status}, so it can't be cancelled. Nothing was changed.")
        self.status = "cancelled"

    def view(self) -> dict[str, Any]:
        """Returns the order as the tools tell it."""
        return {
            "order_id": self.order_id,
            "customer": self.customer,
            "item": self.item,
            "amount": self.amount,
            "refunded": self.refunded,
            "left_to_refund": self.left,
            "status": self.status,
        }


@dataclass(slots=True)
class Shop:
    """The data of one chat: customers with their addresses, orders, e-mails that were sent."""

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
        """Returns the order with this number. Raises `ToolError`."""
        wanted = order_id.strip().lstrip("#")
        for order in self.orders:
            if order.order_id == wanted:
                return order
        raise ToolError(f"There is no order {wanted[:40]}.")

    def orders_of(self, customer: str) -> list[Order]:
        """Returns a customer's orders, by a part of the name or the whole address."""
        wanted = customer.strip().removesuffix("'s").casefold()
        who = [name for name, email in self.emails.items() if wanted in name.casefold() or wanted == email]
        return [order for order in self.orders if order.customer in who]

    def refund(self, order: Order, amount: float) -> None:
        """Give money back: exactly ``amount``. Raises `ToolError` if it is no amount, or more than what is left."""
        problem = self._problem(order, amount)
        if problem:
            raise ToolError(f"{problem} Nothing was refunded.")
        order.refunded = round(order.refunded + amount, 2)
        if not order.left:
            order.status = "refunded"

    @staticmethod
    def _problem(order: Order, amount: float) -> str | None:
        """Returns why this amount can't be refunded; None if it can."""
        if not amount > 0:
            return f"A refund has to be more than 0 €, and {amount:.2f} € is not."
        if order.left == 0:
            return f"Order {order.order_id} is already refunded in full ({order.amount:.2f} €)."
        if amount > order.left:
            return f"Order {order.order_id} has {order.left:.2f} € left to refund; {amount:.2f} € is more than that."
        if amount != round(amount, 2):
            return f"{amount} € is not an amount in whole cents."
        return None

    def address(self, to: str) -> str:
        """Returns an address, or a customer's by name. Raises `ToolError`."""
        if "@" in to:
            return to.strip()
        for name, address in self.emails.items():
            if to.strip().casefold() in name.casefold():
                return address
        raise ToolError(f"There is no customer called {to[:40]}, and it is no e-mail address.")


class Shops:
    """A shop for every chat."""

    def __init__(self) -> None:
        self._by_chat: OrderedDict[tuple[str, str], Shop] = OrderedDict()

    def of(self, ctx: ToolContext) -> Shop:
        """Returns the shop of the chat that a call belongs to."""
        chat = (ctx.principal, ctx.thread_id)
        shop = self._by_chat.setdefault(chat, Shop())
        self._by_chat.move_to_end(chat)
        if len(self._by_chat) > MAX_SHOPS:
            self._by_chat.popitem(last=False)
        return shop
