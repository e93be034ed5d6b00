"""Lesson: one agent delegates to two others, which work at once, and all of them share a state with the page.

    export OPENAI_API_KEY=…
    cd examples
    agui-gate serve team:agent     # "Refund order 1003, and tell Anna when her parcel comes" → Approve

Without a key, `agui-gate emulator --script team.json --port 8010` plays one such conversation for a server
that is started with `OPENAI_BASE_URL=http://127.0.0.1:8010/v1 OPENAI_API_KEY=any`.

The clerk's refund waits for a person, inside of its task; the courier goes on meanwhile. The letter can be read in the
shared state while it is being written.
"""

from pydantic import BaseModel

from agui_gate import Agent, ToolContext, tool
from agui_gate_adapters.openai_responses import OpenAIResponses


class Board(BaseModel):
    """What the page and the tools share."""

    refunded: list[str] = []
    letter: dict[str, str] = {}


@tool(gate=True)
async def refund(order: str, euros: float, ctx: ToolContext) -> str:
    """Give money back for an order."""
    ctx.state.refunded.append(order)
    return f"{euros} € of {order} were refunded."


@tool
async def track(order: str, ctx: ToolContext) -> str:
    """When a parcel comes."""
    for stop in range(1, 4):
        await ctx.activity("progress", {"title": f"Asking about {order}", "done": stop, "total": 3})
    return "It comes on Friday."


@tool(streams_to="letter")
async def write_letter(to: str, text: str, ctx: ToolContext) -> str:
    """Write to a customer."""
    ctx.state.letter = {"to": to, "text": text}
    return "It is written."


model = OpenAIResponses("gpt-5.4-mini")
clerk = Agent(name="clerk", model=model, description="Refunds orders.", tools=[refund])
courier = Agent(name="courier", model=model, description="Knows where parcels are.", tools=[track])
agent = Agent(
    name="desk",
    model=model,
    instructions="Have others do what they can do, all at once. Write to customers yourself.",
    tools=[clerk.as_tool(), courier.as_tool(), write_letter],
    state=Board,
    examples=["Refund order 1003, and tell Anna when her parcel comes"],
)
