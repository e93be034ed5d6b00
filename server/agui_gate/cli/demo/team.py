"""The demo's team: a front desk that has a clerk and a writer, and hands over to billing.

It is there to be looked at: who speaks, what sub-agents do and ask, a state that grows while a letter is written.
"""

from agui_gate.adapter import Adapter
from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import Gate, ToolContext, tool
from agui_gate.cli.demo.agent import shop_tools
from agui_gate.cli.demo.shop import Shops

EXAMPLES = (
    "Ask the clerk to refund order 1001",
    "Ask the writer to email Ben that his parcel is on its way",
    "Ask the clerk to refund order 1003. Ask the writer to email Ben that it is done.",
    "Transfer me to billing",
)


def front_desk(model: Adapter) -> Agent:
    """Returns the entry agent of the team, over shops of its own. All of it shares ``model``."""
    shops = Shops()
    refunds = [one for one in shop_tools(shops) if one.name != "send_email"]

    @tool(
        gate=Gate(editable=["subject", "body"], expires_after=3600, message="Send this e-mail to {to}?"),
        streams_to="draft",
    )
    async def send_email(to: str, subject: str, body: str, ctx: ToolContext) -> dict[str, str]:
        """Send an e-mail to a customer, by name or address."""
        address = shops.of(ctx).address(to)
        await ctx.activity("progress", {"title": f"Sending to {address}", "done": 1, "total": 1})
        ctx.state.setdefault("sent", []).append({"to": address, "subject": subject})
        return {"sent_to": address, "subject": subject}

    clerk = Agent(name="clerk", model=model, description="Looks up orders and refunds them.", tools=refunds)
    billing = Agent(name="billing", model=model, description="For invoices and money back.", tools=refunds)
    writer = Agent(name="writer", model=model, description="Writes to customers.", tools=[send_email])
    return Agent(
        name="front_desk",
        model=model,
        instructions="You have others do the work: the clerk, the writer, and billing.",
        tools=[clerk.as_tool(), writer.as_tool()],
        handoffs=[billing],
        description="A team. The clerk and the writer do what they are asked to, and billing takes over.",
        examples=EXAMPLES,
    )
