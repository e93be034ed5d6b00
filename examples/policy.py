"""A rule that asks a policy engine: one call over HTTP, in the form of the Open Policy Agent (OPA).

    opa run --server --addr :8181 refunds.rego
    export OPENAI_API_KEY=… OPA_URL=http://127.0.0.1:8181/v1/data/refunds/ruling
    cd examples
    agui-gate serve policy:agent

    # refunds.rego
    package refunds
    default ruling := {"says": "ask"}
    ruling := {"says": "deny", "reason": "Refunds of this order are closed."} if input.arguments.order_id in data.closed
    else := {"says": "allow"} if input.spent + input.arguments.amount <= 100

The rule is asked when the model makes the call, and again when somebody agrees. Whatever goes wrong asks a person: an
engine that is away, one that has no answer, and one whose answer isn't understood.
"""

import os
from typing import Any

import httpx2

from agui_gate import Agent, Gate, Ruling, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

REFUNDED: list[tuple[str, float]] = []


async def policy(arguments: dict[str, Any], ctx: Any) -> Ruling:
    """What the policy engine says of a call."""
    about = {
        "tool": ctx.tool,
        "arguments": arguments,
        "principal": {"id": ctx.principal.id, "tenant": ctx.tenant, "roles": list(ctx.principal.roles)},
        "owner": ctx.owner,
        "spent": await ctx.spent("refund", "amount", hours=24),
    }
    async with httpx2.AsyncClient(timeout=3) as client:
        answer = await client.post(os.environ["OPA_URL"], json={"input": about})
    answer.raise_for_status()
    result = answer.json()["result"]
    if result["says"] == "deny":
        return Ruling.deny(result["reason"])
    return Ruling.allow() if result["says"] == "allow" else Ruling.ask()


@tool(gate=Gate(when=policy, message="Refund {amount} € for order {order_id}?"))
def refund(order_id: str, amount: float) -> dict:
    """Refund an order, in euros."""
    REFUNDED.append((order_id, amount))
    return {"order_id": order_id, "refunded": amount}


agent = Agent(
    name="refunds",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You refund orders.",
    tools=[refund],
    examples=["Refund 20 € of order A1", "Refund 200 € of order A2"],
)
