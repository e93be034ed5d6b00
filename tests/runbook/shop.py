"""What the servers of the runbook's tests serve. Each process writes what its tools did into the file EFFECTS.

The system that they change knows idempotency keys, as a payment service does: the same key moves money once, and is
answered as before.
"""

import asyncio
import fcntl
import json
import os
from pathlib import Path
from typing import Any

from agui_gate import Agent, ToolContext, tool
from agui_gate_adapters.openai_responses import OpenAIResponses


def carry_out(tool: str, order: str, key: str) -> dict[str, Any]:
    """Does it, unless that key was seen before; returns the line that is in the ledger of that system."""
    with open(os.environ["EFFECTS"], "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = [json.loads(line) for line in file]
        seen = next((line for line in lines if line["key"] == key), None)
        if seen is None:
            seen = {"number": len(lines) + 1, "tool": tool, "order": order, "key": key}
            file.write(json.dumps(seen) + "\n")
    return seen


@tool(gate=True)
async def refund(order_id: str, ctx: ToolContext) -> str:
    """Refund an order."""
    return f"Refund {carry_out('refund', order_id, ctx.idempotency_key)['number']} of order {order_id} was made"


@tool(gate=True)
async def wait(order_id: str, ctx: ToolContext) -> str:
    """Refund an order, and wait until somebody writes into the pipe DOOR."""
    made = carry_out("wait", order_id, ctx.idempotency_key)
    await asyncio.to_thread(Path(os.environ["DOOR"]).read_bytes)
    return f"Refund {made['number']} of order {order_id} was made"


@tool(gate=True)
async def hang(order_id: str, ctx: ToolContext) -> str:
    """Refund an order, and never come back."""
    carry_out("hang", order_id, ctx.idempotency_key)
    await asyncio.Event().wait()
    return "never"


agent = Agent(
    name="shop",
    model=OpenAIResponses("gpt-5.4-mini", base_url=os.environ["PROVIDER"], api_key="k"),
    tools=[refund, wait, hang],
)
