"""A desk for tests: people with tokens, tools that say for whom they ran, and one server in-process."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request

from agui_gate import Agent, Gate, Principal, ToolContext, create_app, tool
from agui_gate import adapter as ad
from agui_gate.config.settings import Settings
from tests.product.inprocess import Answer, Parrot, calls, request, run, run_body, says, started, user

Json = dict[str, Any]


class Desk:
    """``people`` are principals by their tokens; None: a token that was taken back."""

    def __init__(self, people: dict[str, Any], **gate: Any) -> None:
        self.people = people
        self.ran: list[ToolContext] = []
        self.free: list[ToolContext] = []
        self.amounts: list[int] = []
        self.gate = Gate(**gate)
        self.app: Any = None

    def auth(self, request: Request) -> Any:
        """Who has the token."""
        return self.people.get(request.headers.get("authorization", ""))

    def agent(self) -> Agent:
        """An agent with a gated tool and a free one."""

        @tool(gate=self.gate)
        async def refund(order_id: str, amount: int, ctx: ToolContext) -> str:
            """Refund an order."""
            self.ran.append(ctx)
            self.amounts.append(amount)
            return "refunded"

        @tool
        async def look(ctx: ToolContext) -> str:
            """Look."""
            self.free.append(ctx)
            return "seen"

        return Agent(name="support", model=Model(), tools=[refund, look])

    @asynccontextmanager
    async def open(self, store: Any = "memory://", bus: Any = None, **more: Any) -> AsyncIterator["Desk"]:
        """Within: it serves."""
        agent, set_to = self.agent(), Settings(**more)
        async with started(create_app(agent, store=store, bus=bus, auth=self.auth, settings=set_to)) as self.app:
            yield self

    async def say(self, who: str, text: str, thread: str = "t", **more: Any) -> list[Json]:
        """The events of a run that somebody begins with a message."""
        body = run_body(thread, user(text), **more)
        answer = await run(self.app, body, headers={"authorization": who})
        assert answer.status == 200, answer.body
        return answer.events()

    async def ask(self, who: str, text: str = "refund", thread: str = "t") -> str:
        """The id of the approval that a run asks for."""
        outcome = (await self.say(who, text, thread))[-1]["outcome"]
        approval_id: str = outcome["interrupts"][0]["id"]
        return approval_id

    async def get(self, who: str, path: str, query: str = "") -> Answer:
        """A `GET`."""
        return await request(self.app, "GET", path, headers={"authorization": who}, query=query)

    async def post(self, who: str, path: str, body: Any) -> Answer:
        """A `POST`."""
        return await request(self.app, "POST", path, json.dumps(body).encode(), {"authorization": who})

    async def decide(self, who: str, approval_id: str, approved: bool = True, **more: Any) -> Answer:
        """`POST /approvals/{id}`."""
        return await self.post(who, f"/approvals/{approval_id}", {"approved": approved, **more})

    async def trail(self) -> list[Any]:
        """The events of the audit trail, oldest first."""
        store = self.app.state.engine.store
        return list((await store.read_events(limit=1000)).events)


class Model(Parrot):
    """Calls `refund` or `look` where the newest text says so."""

    amount = 20

    def _turn(self, request: ad.TurnRequest) -> list[Any]:
        last = request.transcript[-1] if request.transcript else None
        text = "".join(p.text for p in last.content if isinstance(p, ad.Text)) if isinstance(last, ad.UserTurn) else ""
        done = [ad.TurnDone()]
        asked = request.transcript[0] if request.transcript else None
        if not text and "twice" in str(asked) and sum(isinstance(t, ad.AssistantTurn) for t in request.transcript) == 1:
            return [*calls("refund", {"order_id": "A1", "amount": 20}), *done]
        if "refund" in text:
            return [*calls("refund", {"order_id": "A1", "amount": self.amount}), *done]
        return [*(calls("look", {}) if "look" in text else says("ok")), *done]


def ids(answer: Answer) -> Sequence[str]:
    """The ids of a list of approvals."""
    assert answer.status == 200, answer.body
    return [one["id"] for one in answer.json()["approvals"]]


__all__ = ["Desk", "Json", "Principal", "ids"]
