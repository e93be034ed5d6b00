"""Calls that needed nobody's consent, and whose process died while they ran."""

import json

import pytest

from agui_gate import Agent, adapter, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.core.transcript import CallPart, Output, ResultEntry, Text, TurnEntry, UserEntry
from agui_gate.stores.base import Change
from agui_gate.stores.memory import MemoryStore
from tests.conforming import conforms
from tests.product.inprocess import Parrot, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio

TURN = TurnEntry("turn", tuple(CallPart(i, i, "mail", "{}", "m") for i in ("sent", "perhaps")), Parrot.origin)
SHOWN = {
    "id": "m",
    "role": "assistant",
    "toolCalls": [
        {"id": i, "type": "function", "function": {"name": "mail", "arguments": "{}"}} for i in ("sent", "perhaps")
    ],
}


async def died(store) -> None:
    """A thread whose process died while the second of two calls ran."""
    await store.start()
    thread = await store.lease_thread("local", "t", "a", "run_1")
    entries = [UserEntry("u1", (Text("mail them"),)), TURN, ResultEntry("sent", "sent-result", Output("sent"))]
    await store.commit(thread, Change(entries=entries), "run_1")
    await store.aclose()


@shows("B9", "S10", "S29", "S30")
@pytest.mark.parametrize("more", [[], [SHOWN], [SHOWN, user("and now?", "u2")]], ids=["retry", "as shown", "new text"])
async def test_it_is_reported_and_not_forgotten(more) -> None:
    @tool
    async def mail() -> str:
        """Mail them."""
        raise AssertionError("it runs again if the model wants that, and not by itself")

    store, model = MemoryStore(), Parrot([[*says("Not sure."), adapter.TurnDone()]])
    await died(store)
    app = create_app(Agent(name="a", model=model, tools=[mail]), store=store, settings=Settings())
    async with started(app):
        events = (await run(app, run_body("t", user("mail them", "u1"), *more))).events()
    results = {event["toolCallId"]: event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"}
    assert json.loads(results["perhaps"])["status"] == "unknown"
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "Not sure." in [event.get("delta") for event in events]
    (request,) = model.requests
    told = {call.part.id: call.output.content for call in request.transcript[1].calls}
    assert told == {"sent": "sent", "perhaps": results["perhaps"]}


@conforms("LIFE-8")
async def test_a_page_that_was_told_that_nobody_knows_is_told_by_snapshot() -> None:
    @tool
    async def mail() -> str:
        """Mail them."""
        raise AssertionError("it does not run again")

    store, model = MemoryStore(), Parrot([[*says("Not sure."), adapter.TurnDone()]])
    await died(store)
    app = create_app(Agent(name="a", model=model, tools=[mail]), store=store, settings=Settings())
    held = [{"id": f"{i}-result", "role": "tool", "toolCallId": i, "content": "{}"} for i in ("sent", "perhaps")]
    body = run_body("t", user("mail them", "u1"), SHOWN, *held, user("and now?", "u2"), protocolVersion="1.0")
    async with started(app):
        events = (await run(app, body)).events()
    assert [event for event in events if event["type"] == "TOOL_CALL_RESULT"] == []
    (snapshot,) = [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    (result,) = [message for message in snapshot if message.get("toolCallId") == "perhaps"]
    assert json.loads(result["content"])["status"] == "unknown"
    assert events[-1]["type"] == "RUN_FINISHED"
