"""A provider's conversation after a request that we were not told the end of."""

import asyncio
import json

import pytest

from agui_gate import Agent, adapter, create_app, tool
from agui_gate.approvals.execution import HeldCalls
from agui_gate.config.settings import Settings
from agui_gate.errors import ProviderRejected, ProviderUnavailable, RateLimited
from agui_gate.protocol.request_decoder import decode
from tests.product.inprocess import Parrot, calls, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio

CONVERSATION = adapter.ConversationRef(turn_id="", origin=Parrot.origin, conversation_id="conv_1")
CHAIN = adapter.ConversationRef(turn_id="", origin=Parrot.origin, previous_response_id="resp_1")
STOPPED = asyncio.CancelledError


class Silent(Parrot):
    """A request is never answered if the plan says so: ``asked`` is set then. ``stored``: the refs saved at each."""

    def __init__(self, plan) -> None:
        super().__init__(plan)
        self.asked = asyncio.Event()
        self.app = None
        self.stored = []

    async def stream(self, request):
        thread = await self.app.state.engine.store.read_thread("local", "t")
        self.stored.append(thread.ref)
        if self.plan and self.plan[0] is STOPPED:
            self.plan.pop(0)
            self.requests.append(request)
            self.asked.set()
            await asyncio.Event().wait()
        async for batch in super().stream(request):
            yield batch


@tool
async def look() -> str:
    """Look."""
    return "seen"


@shows("B10", "S17", "S30")
@pytest.mark.parametrize(
    ("ref", "how", "continued"),
    [
        (CONVERSATION, STOPPED, False),
        (CONVERSATION, ProviderUnavailable("Away."), False),
        (CONVERSATION, RateLimited("Slower."), True),
        (CONVERSATION, ProviderRejected("No."), True),
        (CHAIN, STOPPED, True),
        (CHAIN, ProviderUnavailable("Away."), True),
    ],
)
async def test_a_conversation_that_may_hold_a_request_already_is_not_continued(ref, how, continued: bool) -> None:
    asks = [*calls("look", {}), adapter.TurnDone(ref=ref)]
    model = Silent([asks, STOPPED if how is STOPPED else [how], [*says("ok"), adapter.TurnDone(ref=ref)]])
    agent = Agent(name="a", model=model, tools=[look])
    app = create_app(agent, store="memory://", settings=Settings())
    model.app = app
    async with started(app), asyncio.timeout(60):
        for _ in range(2):
            body = json.dumps(run_body("t", user("go", "u1"))).encode()
            live = await app.state.engine.run(agent, decode(body), "local")
            if STOPPED in model.plan:
                await model.asked.wait()
                live.cancel()
            await asyncio.wait([live.task])
    first, unanswered, again = model.requests
    assert first.ref is None
    issued = unanswered.transcript[-1]
    assert unanswered.ref.turn_id == issued.id
    if ref is CONVERSATION:
        assert model.stored[1].turn_id == "", "a crash now must not continue it either"
    assert (again.ref.turn_id == issued.id) is continued
    assert again.transcript[-1].calls[0].output.content == "seen"


async def test_an_adapter_that_begins_at_once_is_asked_only_when_the_store_has_agreed(monkeypatch) -> None:
    """`stream` need not wait for who reads it: a request that says yes must not be made where the lease was lost."""
    order = []

    class Eager(Parrot):
        def stream(self, request):
            order.append("asked")
            return super().stream(request)

    async def begin(self):
        order.append("agreed")

    monkeypatch.setattr(HeldCalls, "begin", begin)
    app = create_app(Agent(name="a", model=Eager()), store="memory://", settings=Settings())
    async with started(app):
        await run(app, run_body("t", user("hi", "1")))
    assert order == ["agreed", "asked"]
