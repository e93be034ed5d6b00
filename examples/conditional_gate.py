"""Lesson 4: ask only about the calls that matter.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve conditional_gate:agent    # a refund of 20 just happens, one of 80 asks

`when` gets the call's arguments and says whether a person has to agree. It fails closed: if it raises, or returns
anything but False, the call waits. It is asked once, when the model makes the call, with the very arguments that would
run. It may be any function of them, sync (in a thread) or async; make it a named one as soon as it is worth a test of
its own.
"""

from typing import Any

from agui_gate import Agent, Gate, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

SMALL = 50.0
"""Euros that the agent may refund on its own."""

REFUNDED: dict[str, float] = {}


def is_worth_a_look(arguments: dict[str, Any]) -> bool:
    """Large amounts, and every order that has had a refund before."""
    return bool(arguments["amount"] > SMALL or arguments["order_id"] in REFUNDED)


@tool(gate=Gate(when=is_worth_a_look, message="Refund {amount} € for order {order_id}?"))
def refund(order_id: str, amount: float) -> dict:
    """Refund an order, in euros."""
    REFUNDED[order_id] = REFUNDED.get(order_id, 0) + amount
    return {"order_id": order_id, "refunded": amount}


agent = Agent(
    name="refunds",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You refund orders.",
    tools=[refund],
    examples=["Refund 20 € of order A1", "Refund 80 € of order A2"],
)
