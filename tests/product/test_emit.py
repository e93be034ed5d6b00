"""Events of a tool's own (`ctx.emit`), in the stream of a run, for whoever reads it and whenever."""

import asyncio
import threading

import pytest
from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    CustomEvent,
    RunFinishedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
)

from agui_gate import ToolContext, tool
from agui_gate.core.json_changes import patched
from tests.interop.validate import assert_valid
from tests.product.kit import CARD_TOOL, TIMEOUT, product
from tests.product.live import connecting, rest, starting
from tests.product.shop import call, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("H1")]


def add(path: str, value: object) -> dict[str, object]:
    return {"op": "add", "path": path, "value": value}


def states_of(stream, state=None):
    """The shared state as a client has it after each of these events."""
    for event in stream:
        if event["type"] == "STATE_SNAPSHOT":
            state = event["snapshot"]
        elif event["type"] == "STATE_DELTA":
            state = patched(state, event["delta"])
        yield state


def state_of(stream):
    """As it has it after all of them."""
    return [None, *states_of(stream)][-1]


def emit_all(ctx: ToolContext) -> None:
    ctx.emit(CustomEvent(name="shop.looking", value={"shelf": 3}))
    ctx.emit(ActivitySnapshotEvent(message_id="search", activity_type="progress", content={"done": 1}))
    ctx.emit(ActivityDeltaEvent(message_id="search", activity_type="progress", patch=[add("/done", 2)]))
    ctx.emit(StateSnapshotEvent(snapshot={"found": []}))
    ctx.emit(StateDeltaEvent(delta=[add("/found/-", "A1")]))


@tool
async def search(ctx: ToolContext) -> str:
    """Searches, and says so as it goes."""
    emit_all(ctx)
    return "found"


@tool
def search_blocking(ctx: ToolContext) -> str:
    """The same in a thread."""
    assert threading.current_thread() is not threading.main_thread()
    emit_all(ctx)
    return "found"


KINDS = ["CUSTOM", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "STATE_SNAPSHOT", "STATE_DELTA"]


@pytest.mark.parametrize("looking", [search, search_blocking], ids=["async", "in a thread"])
async def test_they_are_in_the_stream_between_the_call_and_its_result(looking) -> None:
    async with product([looking], script(call(looking.name))) as p:
        chat = p.chat()
        stream = await chat.say("go")
        types = [event["type"] for event in stream]
        start = types.index("CUSTOM")
        assert types[start : start + 5] == KINDS
        assert types.index("TOOL_CALL_END") < start < types.index("TOOL_CALL_RESULT")
        assert stream.of("CUSTOM")[0]["value"] == {"shelf": 3}
        (call_id,) = stream.results
        assert stream.of("ACTIVITY_DELTA")[0]["messageId"] == f"{call_id}-activity-search"
        assert state_of(stream) == {"found": ["A1"]}
        assert_valid(stream.raw, resumed=False)
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"found": ["A1"]}
        assert "shelf" not in str(p.inputs())


async def test_who_comes_later_is_told_the_same() -> None:
    emitted, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def search_slowly(ctx: ToolContext) -> str:
        """Waits after it has emitted."""
        emit_all(ctx)
        emitted.set()
        await go_on.wait()
        return "found"

    async with product([search_slowly], script(call("search_slowly"))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            await emitted.wait()
            async with connecting(p, chat) as late:
                await late.until("STATE_DELTA")
                go_on.set()
                told = await late.end()
            whole = await first.end()
        assert [e["type"] for e in told if e["type"] in KINDS[:3]] == KINDS[:3]
        assert state_of(told) == {"found": ["A1"]}
        assert_valid(told.raw, resumed=True)
        assert await rest(p, first.run_key) == whole.raw


async def test_another_kind_fails_the_call_alone_and_is_not_sent() -> None:
    @tool
    async def forge(ctx: ToolContext) -> str:
        """Tries to end the run."""
        ctx.emit(RunFinishedEvent(thread_id="t", run_id="r"))
        return "forged"

    async with product([forge], script(call("forge"))) as p:
        stream = await p.chat().say("go")
        assert list(stream.results.values()) == ['{"status":"error","error":"forge failed: TypeError."}']
        assert (stream.text, len(stream.of("RUN_FINISHED"))) == ("Done.", 1)


async def test_what_comes_after_the_tools_end_goes_nowhere() -> None:
    kept: list[ToolContext] = []

    @tool
    async def keep(ctx: ToolContext) -> str:
        """Keeps its context."""
        kept.append(ctx)
        return "kept"

    @tool
    async def misuse() -> str:
        """Uses the other's context."""
        kept[0].emit(CustomEvent(name="late", value=1))
        return "misused"

    async with product(
        [keep, misuse], [{"output": [call("keep")]}, {"output": [call("misuse")]}, {"output": [say("Done.")]}]
    ) as p:
        stream = await p.chat().say("go")
        assert list(stream.results.values()) == ["kept", "misused"]
        assert stream.of("CUSTOM") == []


async def test_a_decision_outside_of_a_run_changes_the_state_all_the_same() -> None:
    @tool(gate=True)
    async def move(ctx: ToolContext) -> str:
        """Moves something."""
        emit_all(ctx)
        return "moved"

    async with product([move], script(call("move"))) as p:
        chat = p.chat(tools=[CARD_TOOL])
        await chat.say("go")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        assert (await p.decide(waiting["id"], {"approved": True}))["state"] == "done"
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"found": ["A1"]}


async def test_a_state_that_was_too_large_is_taken_back_and_the_client_told() -> None:
    @tool
    async def fill(ctx: ToolContext) -> str:
        """Fills the state up."""
        for place in range(5):
            ctx.emit(StateDeltaEvent(delta=[add(f"/{place}", "x" * 150_000)]))
        return "filled"

    async with product([fill], script(call("fill"))) as p:
        chat = p.chat(state={"a": 1})
        stream = await chat.say("go")
        assert state_of(stream) == {"a": 1}
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"a": 1}
