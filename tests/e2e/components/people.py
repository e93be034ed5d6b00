"""A server that knows people, for pages of people who decide: its principals, and tools whose gates ask for them."""

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request

from agui_gate import Agent, Gate, Grant, Principal, create_app, tool
from agui_gate import adapter as ad
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, calls, says

FINANCE = ("user", "approver", "finance")
ROLES = {
    "ada": (),
    "amy": ("auditor",),
    "ben": FINANCE,
    "cat": FINANCE,
    "dan": ("approver",),
    "eve": FINANCE,
    "oli": ("operator",),
    "zoe": ("break-glass",),
}
"""Who asks, reads the trail, decides, is a deputy, decides too, operates the server, and decides in an emergency."""


@tool(gate=Gate(approvers="finance", needs=2, editable=["amount"], message="Refund {amount} € for order {order_id}?"))
async def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return "refunded"


@tool(
    gate=Gate(
        approvers="finance",
        message="Pay {amount} € to {customer}?",
        grants=[Grant.arguments("customer", hours=8, times=3), Grant.amount("amount", up_to=50, total=200, hours=24)],
    )
)
async def pay_out(customer: str, amount: float) -> str:
    """Pay a customer."""
    return "paid"


@tool(gate=Gate(approvers="finance", needs=2, self_approval=True, editable=["amount"]))
async def book(order_id: str, amount: float) -> str:
    """Book a payment."""
    return "booked"


@tool(gate=Gate(approvers="finance", max_auth_age=300))
async def close_account(customer: str) -> str:
    """Close an account."""
    return "closed"


@tool(gate=Gate(grants=[Grant.arguments("to", hours=8, times=3), Grant.thread(hours=1)]))
async def send_mail(to: str, subject: str) -> str:
    """Send a mail."""
    return "sent"


class Model(Parrot):
    """Calls the tool that the newest text names, with the words after it: "refund A1 20", "send_mail anna Hello"."""

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        last = request.transcript[-1]
        text = "".join(p.text for p in last.content if isinstance(p, ad.Text)) if isinstance(last, ad.UserTurn) else ""
        match text.split():
            case ["refund", order, amount]:
                turn = calls("refund", {"order_id": order, "amount": float(amount)})
            case ["book", order, amount]:
                turn = calls("book", {"order_id": order, "amount": float(amount)})
            case ["pay_out", customer, amount]:
                turn = calls("pay_out", {"customer": customer, "amount": float(amount)})
            case ["close_account", customer]:
                turn = calls("close_account", {"customer": customer})
            case ["send_mail", to, subject]:
                turn = calls("send_mail", {"to": to, "subject": subject})
            case _:
                turn = says("Done.")
        return [*turn, ad.TurnDone()]


def auth(request: Request) -> Principal | None:
    """Returns whom a token names: "ben", or "ben@shop" where a case has a tenant of its own."""
    name, _, tenant = request.headers.get("authorization", "").removeprefix("Bearer ").partition("@")
    return Principal(name, tenant or "acme", ROLES[name]) if name in ROLES else None


def people_app() -> Starlette:
    """Returns the application."""
    agent = Agent(name="support", model=Model(), tools=[refund, pay_out, book, close_account, send_mail])
    return create_app(agent, store="memory://", auth=auth, settings=Settings())
