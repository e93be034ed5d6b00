"""What each version serves in the tests: of `agui_gate`, it uses names alone that releases have in common.

Its tools write what they did into $EFFECTS, a line of JSON each, and who is told of notices into $NOTICES.
"""

import asyncio
import json
import os
from pathlib import Path

from starlette.requests import Request

from agui_gate import Agent, Gate, Grant, Notice, Principal, ToolContext, create_app, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

PEOPLE = {
    "ada": Principal("ada", "acme", ("user",)),
    **{name: Principal(name, "acme", ("approver", "finance")) for name in ("ben", "cat")},
    "olga": Principal("olga", "acme", ("operator", "auditor")),
}


def auth(request: Request) -> Principal | None:
    """Whose name it is."""
    return PEOPLE.get(request.headers.get("authorization", "").removeprefix("Bearer "))


def write(variable: str, **line: object) -> None:
    """It is there after `kill -9`."""
    with open(os.environ[variable], "a") as file:
        file.write(json.dumps({"pid": os.getpid(), **line}) + "\n")


@tool(gate=Gate(approvers="finance", grants=[Grant.thread(hours=1, times=5)]))
async def refund(order_id: str, ctx: ToolContext) -> str:
    """Refund an order."""
    write("EFFECTS", order=order_id, key=ctx.idempotency_key)
    return f"refunded {order_id}"


@tool(gate=Gate(approvers="finance", needs=2))
async def pay(order_id: str, ctx: ToolContext) -> str:
    """Pay for an order, if two of finance agree."""
    write("EFFECTS", order=order_id, key=ctx.idempotency_key)
    return f"paid for {order_id}"


@tool(gate=True)
async def wait(order_id: str, ctx: ToolContext) -> str:
    """Refund an order, and wait for somebody."""
    write("EFFECTS", order=order_id, key=ctx.idempotency_key)
    await asyncio.to_thread(Path(os.environ["DOOR"]).read_bytes)
    return f"refunded {order_id}"


@tool(gate=True)
async def stall(order_id: str, ctx: ToolContext) -> str:
    """Refund an order, and never come back."""
    write("EFFECTS", order=order_id, key=ctx.idempotency_key)
    await asyncio.Event().wait()
    return "never"


async def on_notice(notice: Notice) -> None:
    """Whoever is told."""
    write("NOTICES", kind=notice.kind, approval=notice.approval_id)


agent = Agent(
    name="support",
    model=OpenAIResponses("gpt-5.4-mini", base_url=os.environ["PROVIDER"], api_key="k"),
    tools=[refund, pay, wait, stall],
)
app = create_app(agent, auth=auth, on_notice=on_notice)
