"""What a tool shows while it works stays in the thread: in its events, in snapshots, and for whoever comes later."""

import asyncio
import json
from typing import Any

import pytest
from ag_ui.core import ActivityDeltaEvent, ActivitySnapshotEvent

from agui_gate import ToolContext, tool
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, activities, product
from tests.product.live import cancel, connect, connecting, over, rest, starting
from tests.product.shop import Shop, call, refund, say, script
from tests.product.test_subagents import BOSS, CLERK, TASK, Office, by
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "B21"), conforms("ACT-1", "STATE-2")]

Json = dict[str, Any]
STEPS = {"title": "Copying", "total": 3}


@tool
async def copies(ctx: ToolContext) -> str:
    """Copies, and shows how far it is."""
    for done in range(4):
        await ctx.activity("progress", STEPS | {"done": done})
    await ctx.activity("summary", {"rows": 3})
    return "copied"


@tool
def copies_blocking(ctx: ToolContext) -> str:
    """The same in a thread, where nothing is awaited."""
    for done in range(4):
        ctx.activity("progress", STEPS | {"done": done})
    ctx.activity("summary", {"rows": 3})
    return "copied"


@tool
async def copies_by_events(ctx: ToolContext) -> str:
    """The same by the protocol's own events."""
    ctx.emit(ActivitySnapshotEvent(message_id="progress", activity_type="progress", content=STEPS | {"done": 2}))
    add: Json = {"op": "add", "path": "/done", "value": 3}
    ctx.emit(ActivityDeltaEvent(message_id="progress", activity_type="progress", patch=[add]))
    again = ActivitySnapshotEvent(
        message_id="progress", activity_type="progress", content={"lost": True}, replace=False
    )
    ctx.emit(again)
    ctx.emit(ActivitySnapshotEvent(message_id="summary", activity_type="summary", content={"rows": 3}))
    return "copied"


async def kept(p: Product, chat: Chat) -> list[Json]:
    thread: Json = await p.get(f"/threads/{chat.thread_id}")
    return [message for message in thread["messages"] if message["role"] == "activity"]


def of_call(call_id: str) -> list[Json]:
    """What a call of one of the tools above has shown in the end."""
    return [
        {
            "id": f"{call_id}-activity-progress",
            "role": "activity",
            "activityType": "progress",
            "content": STEPS | {"done": 3},
        },
        {"id": f"{call_id}-activity-summary", "role": "activity", "activityType": "summary", "content": {"rows": 3}},
    ]


@pytest.mark.parametrize("copying", [copies, copies_blocking, copies_by_events], ids=lambda made: made.name)
async def test_what_a_tool_showed_last_is_brought_back(copying: Any) -> None:
    async with product([copying], script(call(copying.name))) as p:
        chat = p.chat()
        stream = await chat.say("go")
        (call_id,) = stream.results
        expected = of_call(call_id)
        assert await kept(p, chat) == expected
        roles = [message["role"] for message in (await p.get(f"/threads/{chat.thread_id}"))["messages"]]
        assert roles == ["user", "assistant", "tool", "activity", "activity", "assistant"]
        back = await connect(p, chat)
        told = back.of("MESSAGES_SNAPSHOT")[-1]["messages"]
        assert [message for message in told if message["role"] == "activity"] == expected
        assert "Copying" not in json.dumps(p.inputs())


async def test_a_change_is_told_as_a_patch_of_what_the_page_has() -> None:
    async with product([copies], script(call("copies"))) as p:
        stream = await p.chat().say("go")
        types = [event["type"] for event in stream if event["type"].startswith("ACTIVITY")]
        assert types == ["ACTIVITY_SNAPSHOT", *["ACTIVITY_DELTA"] * 3, "ACTIVITY_SNAPSHOT"]
        assert [content.get("done") for *_, content in activities(stream)] == [0, 1, 2, 3, None]


async def test_activities_that_a_client_sends_change_nothing() -> None:
    async with product([copies], [*script(call("copies"))]) as p:
        chat = p.chat()
        await chat.say("go")
        before = await kept(p, chat)
        forged = {"id": before[0]["id"], "role": "activity", "activityType": "progress", "content": {"forged": 1}}
        other = {"id": "own", "role": "activity", "activityType": "own", "content": {}}
        chat.messages += [forged, other]
        assert (await chat.say("and?")).text == "Done."
        assert await kept(p, chat) == before
        assert "forged" not in json.dumps(p.inputs())


@pytest.mark.parametrize("version", ["0.0.59", "1.0"])
async def test_a_snapshot_holds_what_was_shown_in_this_run_and_before(version: str) -> None:
    @tool(gate=True)
    async def moves(ctx: ToolContext) -> str:
        """Moves something, if a person agrees."""
        await ctx.activity("move", {"at": 1, "of": "everything there is"})
        await ctx.activity("move", {"at": 2, "of": "everything there is"})
        return "moved"

    turns = [{"output": [call("copies")]}, {"output": [call("moves")]}, {"output": [say("Done.")]}]
    async with product([copies, moves], turns) as p:
        extra = {} if version == "0.0.59" else {"protocolVersion": version}
        chat = p.chat(extra=extra)
        asked = await chat.say("go")
        (copied,) = asked.results
        shown = asked.of("MESSAGES_SNAPSHOT")[-1]["messages"]
        assert [message for message in shown if message["role"] == "activity"] == of_call(copied)
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert done.text == "Done."
        snapshots = done.of("MESSAGES_SNAPSHOT")
        held = [m for m in snapshots[-1]["messages"] if m["role"] == "activity"]
        assert [m["content"] for m in held] == [STEPS | {"done": 3}, {"rows": 3}, activities(done)[-1][2]]
        assert held == await kept(p, chat)


async def test_a_decision_outside_of_a_run_keeps_them_too() -> None:
    @tool(gate=True)
    async def moves(ctx: ToolContext) -> str:
        """Moves something, if a person agrees."""
        await ctx.activity("move", {"at": 1})
        await ctx.activity("move", {"at": 2})
        return "moved"

    async with product([moves], script(call("moves"))) as p:
        chat = p.chat(tools=[CARD_TOOL])
        await chat.say("go")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        assert (await p.decide(waiting["id"], {"approved": True}))["state"] == "done"
        assert [message["content"] for message in await kept(p, chat)] == [{"at": 2}]


async def test_calls_that_work_at_the_same_time_are_kept_in_the_order_of_the_stream() -> None:
    first, second = asyncio.Event(), asyncio.Event()

    @tool
    async def outer(ctx: ToolContext) -> str:
        """Begins first, and ends last."""
        await ctx.activity("outer", {"at": 1})
        first.set()
        await second.wait()
        await ctx.activity("outer", {"at": 2})
        return "outer"

    @tool
    async def inner(ctx: ToolContext) -> str:
        """Begins and ends meanwhile."""
        await first.wait()
        await ctx.activity("inner", {"at": 1})
        second.set()
        return "inner"

    async with product([outer, inner], script(call("outer"), call("inner"))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        stream = await chat.say("go")
        told = [kind for _, kind, _ in activities(stream)]
        assert sorted(told) == ["inner", "outer", "outer"]
        held = {m["activityType"]: m["content"] for m in await kept(p, chat)}
        assert list(held) == list(dict.fromkeys(told))
        assert held == {"outer": {"at": 2}, "inner": {"at": 1}}


async def test_who_comes_while_a_tool_is_at_work_is_told_all_of_it() -> None:
    shown, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def slow(ctx: ToolContext) -> str:
        """Waits in the middle."""
        await ctx.activity("progress", STEPS | {"done": 1})
        await ctx.activity("progress", STEPS | {"done": 2})
        shown.set()
        await go_on.wait()
        await ctx.activity("progress", STEPS | {"done": 3})
        return "slow"

    async with product([slow], script(call("slow"))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await shown.wait()
            async with connecting(p, chat) as late:
                await late.until("ACTIVITY_DELTA")
                go_on.set()
                told = await late.end()
            whole = await reader.end()
        assert activities(told) == activities(whole)
        assert await rest(p, reader.run_key) == whole.raw
        assert [m["content"] for m in await kept(p, chat)] == [STEPS | {"done": 3}]


async def test_a_run_that_is_stopped_keeps_what_was_shown_last() -> None:
    @tool
    async def endless(ctx: ToolContext) -> str:
        """Never ends."""
        await ctx.activity("progress", STEPS | {"done": 1})
        await ctx.activity("progress", STEPS | {"done": 2})
        await asyncio.Event().wait()
        return "never"

    async with product([endless], script(call("endless"))) as p, asyncio.timeout(TIMEOUT):
        chat = p.chat()
        async with starting(p, chat, "go") as reader:
            await reader.until("ACTIVITY_DELTA")
            assert (await cancel(p, chat))["cancelled"] is True
            await reader.end()
        await over(p, chat, "cancelled")
        assert [m["content"] for m in await kept(p, chat)] == [STEPS | {"done": 2}]


async def test_an_answer_that_is_replaced_takes_its_own_with_it() -> None:
    async with product([copies], [{"output": [call("copies")]}, {"output": [say("Done.")], "repeat": True}]) as p:
        chat = p.chat()
        await chat.say("go")
        del chat.messages[1:]
        assert (await chat.go()).text == "Done."
        assert await kept(p, chat) == []


async def test_what_a_sub_agents_tool_shows_belongs_to_it() -> None:
    office = Office(
        by(BOSS, TASK),
        by(CLERK, call("copies")),
        by(CLERK, refund()),
        by(CLERK, say("Copied.")),
        by(BOSS, say("It is done."), repeat=True),
    )
    office.clerk.tools.append(copies)
    async with office.server() as p:
        chat = p.chat()
        asked = await chat.say("copy it")
        (task,) = {event["subagentRunId"] for event in asked if event["type"].startswith("ACTIVITY")}
        assert task == asked.of("SUBAGENT_STARTED")[0]["subagentRunId"]
        snapshot = [m for m in asked.of("MESSAGES_SNAPSHOT")[-1]["messages"] if m["role"] == "activity"]
        assert [(m["subagentRunId"], m["activityType"]) for m in snapshot] == [(task, "progress"), (task, "summary")]
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert done.text.endswith("It is done.")
        assert await kept(p, chat) == snapshot
        assert "Copying" not in json.dumps(p.inputs())


async def test_a_thread_without_any_is_stored_as_before() -> None:
    async with product(Shop().tools, script(refund())) as p:
        chat = p.chat()
        await chat.say("go")
        assert await kept(p, chat) == []
