"""The page of the inbox, `/inbox`, as people use it who decide: `inbox_page.test.mjs` has the cases."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from agui_gate import Agent, Gate, Grant, Principal, create_app, tool
from agui_gate import adapter as ad
from agui_gate.config.settings import Settings
from tests.e2e.components.node_tests import run_cases
from tests.product.inprocess import Parrot, calls, says
from tests.product.kit import running
from tests.requirements import shows

SECONDS = 240.0
FINANCE = ("user", "approver", "finance")
PEOPLE = {
    "Bearer ada": Principal("ada", "acme"),
    "Bearer ben": Principal("ben", "acme", FINANCE),
    "Bearer cat": Principal("cat", "acme", FINANCE),
    "Bearer dan": Principal("dan", "acme", ("approver",)),
    "Bearer oli": Principal("oli", "acme", ("operator",)),
    "Bearer zoe": Principal("zoe", "acme", ("break-glass",)),
}


@tool(gate=Gate(approvers="finance", needs=2, editable=["amount"], message="Refund {amount} € for order {order_id}?"))
async def refund(order_id: str, amount: float) -> str:
    """Refund an order."""
    return "refunded"


@tool(gate=Gate(approvers="finance", max_auth_age=300))
async def close_account(customer: str) -> str:
    """Close an account."""
    return "closed"


@tool(gate=Gate(grants=[Grant.arguments("to", hours=8, times=3), Grant.thread(hours=1)]))
async def send_mail(to: str, subject: str) -> str:
    """Send a mail."""
    return "sent"


class Model(Parrot):
    """Calls the tool that the newest text names: "refund A1 20", "close_account Zoe", "send_mail anna Hello"."""

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        last = request.transcript[-1]
        text = "".join(p.text for p in last.content if isinstance(p, ad.Text)) if isinstance(last, ad.UserTurn) else ""
        name, *words = text.split() or [""]
        match name:
            case "refund":
                turn = calls("refund", {"order_id": words[0], "amount": float(words[1])})
            case "close_account":
                turn = calls("close_account", {"customer": words[0]})
            case "send_mail":
                turn = calls("send_mail", {"to": words[0], "subject": words[1]})
            case _:
                turn = says("Done.")
        return [*turn, ad.TurnDone()]


def auth(request: Request) -> Principal | None:
    return PEOPLE.get(request.headers.get("authorization", ""))


@shows("T6")
@pytest.mark.anyio
async def test_people_decide_in_the_inbox() -> None:
    agent = Agent(name="support", model=Model(), tools=[refund, close_account, send_mail])
    app = create_app(agent, store="memory://", auth=auth, settings=Settings())
    async with running(app) as url, asyncio.timeout(SECONDS):
        await run_cases(url, "inbox_page.test.mjs")
