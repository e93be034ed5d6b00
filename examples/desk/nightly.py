"""The desk's nightly job: it asks for the refund of each overdue order. Finance decides on the desk, or nobody does.

python nightly.py
"""

import asyncio

from desk import agent, ask

from agui_gate import Principal

JOB = Principal("nightly", roles=("user",))


async def main() -> list[str]:
    """Asks for all of them, side by side; returns the ids of the approvals that wait."""
    orders = await ask("SELECT id, amount::float FROM orders WHERE overdue ORDER BY id")
    async with agent.session(principal=JOB) as session:
        asked = (session.run(f"Refund {order['amount']:g} € of order {order['id']}.") for order in orders)
        return [approval.id for result in await asyncio.gather(*asked) for approval in result.pending]


if __name__ == "__main__":
    print(*asyncio.run(main()), sep="\n")
