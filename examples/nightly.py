"""A nightly job without a server: it refunds what is overdue, and a person decides about the large ones.

    export OPENAI_API_KEY=…
    cd examples
    python nightly.py               # the job; it waits an hour for people
    agui-gate serve nightly:agent   # meanwhile: the same store, where people decide on the page

Job and server work on one store. What the job asks is in the server's list of approvals at once, and what a person
decides there goes on in the job. Had the job ended before, the server would go on with it.
"""

import asyncio

from agui_gate import Agent, Gate, tool
from agui_gate_adapters.openai_responses import OpenAIResponses

OVERDUE = {"A1": 12.5, "A2": 480.0}
REFUNDED: dict[str, float] = {}


@tool(gate=Gate(when=lambda arguments: arguments["amount"] > 50, expires_after=86400))
async def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    REFUNDED[order_id] = amount
    return f"{amount} refunded"


agent = Agent(
    name="nightly",
    model=OpenAIResponses("gpt-5.4-mini"),
    instructions="You refund what you are told, and say in one sentence what became of it.",
    tools=[refund],
)


async def main(patience: float = 3600) -> list[str]:
    """Refunds all of them, side by side; returns what is to be said of each."""
    async with agent.session() as session:  # the store of the settings, as `serve` uses it

        async def refund_one(order_id: str, amount: float) -> str:
            result = await session.run(f"Refund {amount} € of order {order_id}.")
            if result.pending:
                result = await result.thread.wait(patience)
            return f"{order_id}: {'nobody has decided yet' if result.pending else result.text or result.stopped}"

        return await asyncio.gather(*(refund_one(*order) for order in OVERDUE.items()))


if __name__ == "__main__":
    print(*asyncio.run(main()), sep="\n")
