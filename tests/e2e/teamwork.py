"""A server with a team, for the browser tests: `python -m tests.e2e.teamwork PORT PROVIDER STORE STREAMS`.

The desk hands off to billing, and has sub-agents: the clerk, who has one too, and the scout. Each agent's model has the
agent's name, so a script says who says what (`when: {model}`). Tools show activities and change the shared state.
"""

import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from starlette.routing import Route

from agui_gate import Agent, Gate, ToolContext, create_app, tool
from agui_gate.config.settings import load_settings
from tests.e2e.programs import PATIENCE, finish, model_of, serve, take
from tests.e2e.streams import Recording

REFUNDED: list[str] = []


@tool(gate=Gate(editable=["amount"], message="Refund {amount} € for order {order_id}?"))
async def refund(order_id: str, amount: float, ctx: ToolContext) -> dict[str, Any]:
    """Give money back. Amounts are in euros."""
    REFUNDED.append(order_id)
    ctx.state.setdefault("refunds", []).append({"order": order_id, "amount": amount})
    return {"refunded": amount}


@tool(gate=Gate(editable=["points"]))
async def credit(customer: str, points: int) -> str:
    """Give somebody points."""
    return f"{customer} has {points} more."


@tool
async def find_order(order_id: str) -> dict[str, str]:
    """Find an order."""
    return {"order_id": order_id, "status": "delivered"}


@tool(timeout=PATIENCE)
async def count_shelves(seconds: float, ctx: ToolContext) -> str:
    """Count what is there. Takes its time."""
    await ctx.activity("progress", {"title": "Counting", "done": 1, "total": 3})
    await take(seconds)
    await ctx.activity("progress", {"title": "Counting", "done": 3, "total": 3})
    return "42"


@tool
async def draw_map(size: int, ctx: ToolContext) -> str:
    """Show something that no page was made for."""
    await ctx.activity("x:treasure.map", {"legend": "gold", "rows": ["~" * 80] * size, "at": {"x": 3, "y": [4, 5]}})
    return "drawn"


@tool
async def remember(name: str, size: int, ctx: ToolContext) -> str:
    """Put something into the shared state."""
    ctx.state[name] = "n" * size if size else {"kept": True, "tags": ["a", "b"]}
    return "kept"


@tool(streams_to="draft", gate=True)
async def publish(text: str, ctx: ToolContext) -> str:
    """Publish a text."""
    ctx.state["published"] = text
    return "published"


class Report(BaseModel):
    """What the analyst answers with."""

    verdict: str
    orders: list[str] = []
    urgent: bool = False


def team(provider: str) -> list[Agent]:
    """The desk with its team, and the analyst, whose answers have a form."""

    def agent(name: str, description: str, **more: Any) -> Agent:
        return Agent(name=name, model=model_of(provider, name), description=description, **more)

    scout = agent("scout", "Looks around.", tools=[count_shelves, draw_map, find_order])
    clerk = agent("clerk", "Looks up and refunds orders.", tools=[find_order, refund, count_shelves, scout.as_tool()])
    courier = agent("courier", "Goes out, if somebody agrees.", tools=[credit])
    billing = agent("billing", "For invoices and points.", tools=[credit, find_order])
    desk = agent(
        "front_desk",
        "Answers whoever comes, or knows who does.",
        tools=[
            clerk.as_tool(),
            scout.as_tool(),
            courier.as_tool(gate=Gate(editable=["task"])),
            remember,
            publish,
            draw_map,
        ],
        handoffs=[billing],
        examples=["Refund order 1003"],
    )
    billing.handoffs.append(desk)
    return [desk, agent("analyst", "Says how it stands.", output=Report)]


def main(port: str, provider: str, store: str, streams: str) -> None:
    """Run it until SIGTERM."""
    app = create_app(*team(provider), store=store, settings=load_settings(options={"drain_seconds": 0}))
    app.router.routes.insert(0, Route("/finish", finish, methods=["POST"]))
    serve(Recording(app, Path(streams)), port)


if __name__ == "__main__":
    main(*sys.argv[1:])
