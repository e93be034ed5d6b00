"""What the browser tests run, each in a process of its own, so that a test may end one and start it again.

`python -m tests.e2e.programs provider PORT` is the emulator; `… server PORT PROVIDER STORE STREAMS` is the demo's shop
with a slow tool, two hasty gates, a plain one and one with many arguments on top, and next to it a team (`desk.py`). A
line on stdout says that it is up.
"""

import asyncio
import contextlib
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agui_gate import Agent, Gate, ToolContext, create_app, tool
from agui_gate.approvals import out_of_band
from agui_gate.cli.demo.agent import EXAMPLES, INSTRUCTIONS, support_agent
from agui_gate.cli.server import uvicorn_server
from agui_gate.cli.server.connections import limits_from, raise_descriptors
from agui_gate.cli.server.uvicorn_server import Server, bind, configure, serve_forever
from agui_gate.config.settings import load_settings
from agui_gate.runs import run
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator
from tests.e2e.desk import team
from tests.e2e.streams import Recording

HOST = "127.0.0.1"
PATIENCE = 3600.0
"""Seconds that a tool may take, or a provider may say nothing: more than any scenario has."""
WAITS = (
    (out_of_band, "DECIDE_SECONDS"),
    (out_of_band, "END_SECONDS"),
    (run, "END_SECONDS"),
    (run, "CLEANUP_TIMEOUT"),
    (uvicorn_server, "END_SECONDS"),
)
"""How long the server waits for what is about to end, and no setting says so: here for as long as it takes."""
ENDLESS = 60.0
"""Seconds from which on a tool ends by nothing but `finish`, or a stop."""
NEXT = Path(__file__).resolve().parent / "next"
"""The page with client 1.0.0, which `next.config.mjs` builds."""

at_work: set[asyncio.Event] = set()
"""What tools that take their time wait for."""
somebody_works = asyncio.Event()


async def take(seconds: float) -> None:
    """Take this long, or, if that is a minute or more, until `finish`.

    So what a page shows meanwhile can be looked at however busy the machine is.
    """
    finished = asyncio.Event()
    at_work.add(finished)
    somebody_works.set()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if seconds < ENDLESS else None):
                await finished.wait()
    finally:
        at_work.discard(finished)


async def finish(_: Request) -> Response:
    """`POST /finish`: the tools that take their time are done; the first one is waited for."""
    somebody_works.clear()
    async with asyncio.timeout(PATIENCE):
        if not at_work:
            await somebody_works.wait()
    for finished in at_work:
        finished.set()
    return Response(status_code=204)


@tool(timeout=PATIENCE)
async def stock_report(seconds: float, ctx: ToolContext) -> dict[str, Any]:
    """Count the stock. Takes its time."""
    await ctx.activity("progress", {"title": "Shelves", "done": 1, "total": 3})
    await take(seconds)
    return {"counted": 42}


@tool(gate=Gate(expires_after=1))
async def close_shop() -> str:
    """Close the shop, unless nobody agrees within a second."""
    return "closed"


@tool(gate=Gate(expires_after=300))
async def take_back() -> str:
    """Take back what was lent, unless nobody agrees within five minutes."""
    return "taken back"


@tool(gate=True, timeout=PATIENCE)
async def pack_order(seconds: float) -> str:
    """Pack an order. Takes its time."""
    await take(seconds)
    return "packed"


@tool(gate=True)
async def archive_order(order_id: str) -> dict[str, Any]:
    """Put an order away."""
    return {"archived": order_id}


@tool(gate=True)
async def label_order(order_id: str, label: str | int) -> dict[str, Any]:
    """Put a label on an order: a word or a number."""
    return {"order_id": order_id, "label": label}


@tool(gate=True)
async def credit_points(points: int) -> dict[str, Any]:
    """Give somebody points, as many as one likes."""
    return {"credited": points}


class Carrier(StrEnum):
    """Who brings it."""

    DHL = "dhl"
    UPS = "ups"


class Address(BaseModel):
    """Where it goes."""

    street: str
    zip: str | None = None
    business: bool = False


DETAILS = ("to", "carrier", "boxes", "insured", "gift_message", "tags")


@tool(gate=Gate(editable=DETAILS, message="Ship order {order_id}?"))
async def ship_order(
    order_id: str,
    to: Address,
    carrier: Carrier,
    boxes: int = Field(default=1, le=9, description="One to nine."),
    insured: bool = False,
    gift_message: Annotated[str | None, Field(max_length=40)] = None,
    tags: list[str] = [],  # noqa: B006  (a tool's default, which nobody changes)
) -> str:
    """Send an order on its way."""
    return f"{order_id} goes to {to.street} with {carrier}"


def model_of(provider: str, name: str) -> OpenAIResponses:
    """A model of that name at the provider, which may take its time."""
    return OpenAIResponses(name, mode="chain", base_url=provider, api_key="test", timeout=PATIENCE)


def shop(provider: str, store: str, streams: str) -> Any:
    """The application: settings come from the environment, as with `agui-gate serve`. It writes down what it tells."""
    named = partial(model_of, provider)
    model = named("demo-model")
    base = support_agent(model)
    agent = Agent(
        name="support",
        model=model,
        instructions=INSTRUCTIONS,
        tools=[
            *base.tools,
            stock_report,
            close_shop,
            take_back,
            pack_order,
            archive_order,
            label_order,
            credit_points,
            ship_order,
        ],
        description=base.description,
        examples=EXAMPLES,
    )
    app = create_app(
        agent, team(named, agent.by_name), store=store, settings=load_settings(options={"drain_seconds": 0})
    )
    app.router.routes.insert(0, Route("/finish", finish, methods=["POST"]))
    app.router.routes.insert(0, Mount("/next", StaticFiles(directory=NEXT, html=True)))
    return Recording(app, Path(streams))


def serve(app: Any, port: str) -> None:
    """Run it until SIGTERM; a line on stdout says that it is up."""
    for module, name in WAITS:
        assert hasattr(module, name), name
        setattr(module, name, PATIENCE)
    limits = limits_from(load_settings(), raise_descriptors())
    with bind(HOST, int(port)) as sock:
        serve_forever(Server(configure(app, quiet=True, limits=limits), lambda: print("up", flush=True)), sock)


def main(kind: str, port: str, *more: str) -> None:
    """Run one of the two."""
    serve(Emulator().app if kind == "provider" else shop(*more), port)


if __name__ == "__main__":
    main(*sys.argv[1:])
