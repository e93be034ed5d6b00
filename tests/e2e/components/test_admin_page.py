"""The page of operators, `/admin`: `admin_page.test.mjs` has the cases."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from agui_gate import Agent, Principal, create_app, tool
from agui_gate import adapter as ad
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from tests.e2e.components.node_tests import run_cases
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, user
from tests.product.kit import running

SECONDS = 120.0
PEOPLE = {
    "Bearer ada": Principal("ada", "acme"),
    "Bearer olga": Principal("olga", "acme", ["operator"]),
    "Bearer otto": Principal("otto", roles=["operator"]),
}
ADA = {"authorization": "Bearer ada"}


@tool(gate=True)
async def refund(order_id: str) -> str:
    """Refund an order."""
    return "refunded"


class Model(Parrot):
    """Asks for a refund, or hangs where the text says so."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = asyncio.Event()

    async def stream(self, turn: ad.TurnRequest) -> Any:
        if "hang" in str(turn.transcript[-1]):
            self.hangs.set()
            await asyncio.Event().wait()
        async for batch in super().stream(turn):
            yield batch

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        done = ad.TurnDone(usage=ad.Usage(provider="parrots", model="parrot", input_tokens=40, output_tokens=7))
        asks = isinstance(request.transcript[-1], ad.UserTurn)
        return [*(calls("refund", {"order_id": "A1"}) if asks else says("Done.")), done]


def auth(request: Request) -> Principal | None:
    return PEOPLE.get(request.headers.get("authorization", ""))


@pytest.mark.anyio
async def test_an_operator_uses_the_page() -> None:
    model = Model()
    settings = Settings(budgets=("principal:100000",))
    app = create_app(
        Agent(name="support", model=model, tools=[refund]), store="memory://", auth=auth, settings=settings
    )
    async with running(app) as url, asyncio.timeout(SECONDS):
        for thread in ("waits", "broke"):
            await run(app, run_body(thread, user("refund")), headers=ADA)
        listed = (await request(app, "GET", "/approvals", headers=ADA)).json()["approvals"]
        (broke,) = [one["id"] for one in listed if one["thread_id"] == "broke"]
        store = app.state.engine.store
        await store.move(broke, State.CLAIMED, decision=Decision(True, "ada", way="http"))
        await store.move(broke, State.UNKNOWN, output=Output('{"status":"unknown"}', True))
        hanging = asyncio.create_task(run(app, run_body("hangs", user("hang")), headers=ADA))
        await model.hangs.wait()
        await run_cases(url, "admin_page.test.mjs")
        await hanging
