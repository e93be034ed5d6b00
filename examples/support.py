"""A support agent whose refunds wait for a person.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve support:agent                                   # page and API on http://127.0.0.1:8000
    agui-gate run support:agent --message "Refund order A1 of Anna"  # or without a server

`app` is an ordinary Starlette application, for those who serve or mount it themselves: `uvicorn support:app`.
"""

from agui_gate import Agent, Gate, ToolContext, ToolError, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

ORDERS = {
    "A1": {"order_id": "A1", "customer": "Anna", "amount": 49.0, "refunds": {}},
    "A2": {"order_id": "A2", "customer": "Ben", "amount": 15.5, "refunds": {}},
}


@tool
async def search_orders(customer: str) -> list[dict]:
    """Find a customer's orders."""
    return [order for order in ORDERS.values() if order["customer"].lower() == customer.lower()]


@tool(gate=Gate(editable=["amount"], expires_after=3600))
async def refund(order_id: str, amount: float, ctx: ToolContext) -> dict:
    """Refund an order."""
    if order_id not in ORDERS:
        raise ToolError(f"There is no order {order_id}.")
    # The key is the same however often this very call is tried, so that nobody is paid twice.
    ORDERS[order_id]["refunds"].setdefault(ctx.idempotency_key, amount)
    return {"order_id": order_id, "refunded": amount, "approved_by": ctx.principal}


agent = Agent(
    name="support",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You help with orders.",
    tools=[search_orders, refund],
)
app = create_app(agent)
