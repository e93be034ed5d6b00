"""The shared state while a tool holds in it what is not JSON: nothing else of the run suffers from that."""

import asyncio

import pytest

from agui_gate import Agent, ToolContext, adapter, create_app, tool
from agui_gate.config.settings import Settings
from tests.product.inprocess import Parrot, calls, request, run, run_body, says, started, user
from tests.requirements import shows

pytestmark = pytest.mark.anyio
DONE = adapter.TurnDone()


def served(tools, first):
    model = Parrot([[*first, DONE], [*says("ok"), DONE]])
    return create_app(Agent(name="a", model=model, tools=tools), store="memory://", settings=Settings())


async def thread(app):
    return (await request(app, "GET", "/threads/t")).json()


@shows("S29", "S30", "B14")
async def test_a_tool_that_is_stopped_then() -> None:
    spoilt = asyncio.Event()

    @tool
    async def spoil(ctx: ToolContext) -> str:
        """Puts something into the state, and goes on."""
        ctx.state |= {"user": "ada", "connection": object()}
        spoilt.set()
        return await asyncio.Event().wait()

    app = served([spoil], calls("spoil", {}))
    async with started(app), asyncio.timeout(60):
        body = run_body("t", user("go", "u1"), state={"good": 1})
        running = asyncio.ensure_future(run(app, body))
        await spoilt.wait()
        assert (await request(app, "POST", "/threads/t/cancel")).json() == {"cancelled": True}
        last = (await running).events()[-1]
        assert (last["type"], last["code"]) == ("RUN_ERROR", "abort")
        kept = await thread(app)
        assert (kept["run"]["status"], kept["state"]) == ("cancelled", {"good": 1})
        assert [message["role"] for message in kept["messages"]] == ["user", "assistant", "tool"]
        again = await run(app, run_body("t", user("go", "u1"), user("more", "u2")))
        assert again.events()[-1]["type"] == "RUN_FINISHED"


@shows("B4", "B14")
async def test_what_else_is_saved_then() -> None:
    @tool
    async def spoil(ctx: ToolContext) -> str:
        """Has something in the state for a moment."""
        ctx.state["connection"] = object()
        for _ in range(20):  # the other call's result is saved meanwhile
            await asyncio.sleep(0)
        del ctx.state["connection"]
        ctx.state["spoilt"] = False
        return "fine"

    app = served([spoil], [*calls("spoil", {}), *calls("nothing", {}, "call_2", "d")])
    async with started(app):
        events = (await run(app, run_body("t", user("go", "u1"), state={"good": 1}))).events()
        results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
        assert len(results) == 2
        assert "no tool called nothing" in results[0]
        assert results[1] == "fine"
        told = [event["delta"] for event in events if event["type"] == "STATE_DELTA"]
        assert told == [[{"op": "add", "path": "/spoilt", "value": False}]]
        assert events[-1]["type"] == "RUN_FINISHED"
        assert (await thread(app))["state"] == {"good": 1, "spoilt": False}


@shows("S30")
async def test_a_state_that_a_tool_puts_in_the_place_of_the_shared_one_means_nothing() -> None:
    @tool
    async def replace(ctx: ToolContext) -> str:
        """Mistakes the state for its own."""
        ctx.state = object()
        return "fine"

    app = served([replace], calls("replace", {}))
    async with started(app):
        events = (await run(app, run_body("t", user("go", "u1"), state={"good": 1}))).events()
        assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["fine"]
        assert events[-1]["type"] == "RUN_FINISHED"
        assert (await thread(app))["state"] == {"good": 1}
