"""Gates that name people."""

from typing import Any

from starlette.requests import Request

from agui_gate import Agent, Gate, Principal, create_app, tool
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot


def shop(gate: Gate) -> Agent:
    @tool(gate=gate)
    async def refund(order_id: str) -> str:
        """Refund an order."""
        return order_id

    return Agent(name="shop", model=Parrot(), tools=[refund])


class Directory:
    """An application's own ``auth``, with members of its own."""

    def __call__(self, request: Request) -> Any:
        return Principal("cat", roles=("approver", "finance"))

    def principals(self) -> list[str]:
        """Which is no part of what an ``auth`` has."""
        return ["cat"]


by_role = shop(Gate(approvers="finance"))
by_id = shop(Gate(approvers=["cat"]))
by_two = shop(Gate(approvers=["cat", "dan"], needs=2))
by_own_id = shop(Gate(approvers=["cat"], self_approval=True))
by_own_two = shop(Gate(needs=2, self_approval=True))
by_login = shop(Gate(approvers=["cat"], max_auth_age=300))
own_auth = create_app(by_role, store="sqlite:///own.db", auth=Directory(), settings=Settings())
