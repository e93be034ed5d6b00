"""A team for the browser tests: whom pages post to, three who are delegated to, one inside those, and an heir."""

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from agui_gate import Agent, Tool, ToolContext, tool
from agui_gate.adapter import Adapter


class Desk(BaseModel):
    """What the page and the tools share."""

    topic: str = ""
    notes: list[str] = []
    letter: dict[str, str] = {}


@tool
async def note(text: str, ctx: ToolContext) -> str:
    """Write something down for everybody."""
    ctx.state.notes.append(text)
    return "Noted."


@tool(streams_to="letter", gate=True)
async def write_letter(to: str, text: str, ctx: ToolContext) -> str:
    """Write a letter."""
    ctx.state.letter = {"to": to, "text": text}
    return "It is written."


def team(model: Callable[[str], Adapter], tools: Mapping[str, Tool]) -> Agent:
    """The agent to serve. ``model`` makes the one of each member; ``tools`` are the shop's, by name."""
    packer = Agent(name="packer", model=model("packer"), description="Packs orders.", tools=[tools["pack_order"]])
    clerk = Agent(
        name="clerk",
        model=model("clerk"),
        description="Looks up and refunds orders.",
        tools=[tools["get_order"], tools["refund"], note, packer.as_tool()],
    )
    courier = Agent(
        name="courier",
        model=model("courier"),
        description="Knows the stock.",
        tools=[tools["stock_report"], tools["archive_order"]],
    )
    auditor = Agent(
        name="auditor",
        model=model("auditor"),
        description="Looks into everything, if a person agrees.",
        tools=[tools["archive_order"]],
    )
    billing = Agent(name="billing", model=model("billing"), description="For money.", tools=[tools["credit_points"]])
    desk = Agent(
        name="desk",
        model=model("desk"),
        description="A desk with people behind it.",
        tools=[clerk.as_tool(), courier.as_tool(), auditor.as_tool(gate=True), note, write_letter],
        handoffs=[billing],
        state=Desk,
    )
    billing.handoffs.append(desk)
    return desk
