"""Lesson: one agent hands the conversation to another, with other tools and a gate of its own.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve handoffs:agent     # "My invoice 77 is wrong" → Approve → "Thanks, where is my parcel?"

The page posts to `support`, whoever answers. `support` has the tool `transfer_to_billing`. When its model calls it,
`billing` answers in the same run, and from then on, with its own instructions, tools and model. What was said goes with
it; what only the first model understands doesn't. `billing` can hand back, so the circle is closed after both are made.
"""

from agui_gate import Agent, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

CREDITED: list[str] = []


@tool
def parcel(order: str) -> str:
    """Where a parcel is."""
    return f"The parcel of {order} is in Lagos."


@tool(gate=True)
def credit(invoice: str, euros: float) -> str:
    """Give money back for an invoice."""
    CREDITED.append(invoice)
    return f"{euros} € of {invoice} were credited."


billing = Agent(
    name="billing",
    description="For invoices, payments and money back.",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You put invoices right. Hand everything else back to support.",
    tools=[credit],
)
agent = Agent(
    name="support",
    description="For parcels and everything else.",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You help with parcels. Hand over what is about money.",
    tools=[parcel],
    handoffs=[billing],
    examples=["My invoice 77 is wrong"],
)
billing.handoffs.append(agent)
