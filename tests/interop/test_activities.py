"""Both real clients hold the activities that the server keeps, from their events as from snapshots."""

import asyncio

import pytest

from agui_gate import ToolContext, tool
from tests.conforming import conforms
from tests.interop.replay import VERSIONS, Case, Run, assert_accepted, replay
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, product
from tests.product.live import connect
from tests.product.shop import call, script
from tests.requirements import shows

pytestmark = [pytest.mark.interop, shows("H1", "B14"), conforms("ACT-1", "STATE-2")]
Json = dict[str, object]


@tool
async def count(ctx: ToolContext) -> str:
    """Shows how far it is, by changes of many kinds."""
    content: dict[str, object] = {"of": ["a", "b", "c"], "a/b": {"~": 1}, "done": 0}
    await ctx.activity("progress", content)
    await ctx.activity("progress", content | {"done": 1, "of": ["b", "c", {"d": None}]})
    await ctx.activity("progress", content | {"done": 2, "a/b": {"~": [1.5]}})
    await ctx.activity("progress", content | {"constructor": 1})
    await ctx.activity("note", {})
    return "counted"


@tool(gate=True)
async def drop(ctx: ToolContext) -> str:
    """Shows something, if a person agrees."""
    await ctx.activity("progress", {"dropped": 1, "of": "everything"})
    await ctx.activity("progress", {"dropped": 2, "of": "everything"})
    return "dropped"


def shown(messages: list[Json]) -> list[Json]:
    return [message for message in messages if message["role"] == "activity"]


async def talk(p: Product) -> tuple[list[Run], list[Json], Run]:
    chat: Chat = p.chat(tools=[CARD_TOOL])
    p.emulator.load(script(call("count")))
    await chat.say("count")
    p.emulator.load(script(call("drop")))
    asked = await chat.say("drop")
    await chat.answer((next(iter(asked.cards)), {"accepted": True}))
    held = shown((await p.get(f"/threads/{chat.thread_id}"))["messages"])
    back = await connect(p, chat)
    return [Run(stream.raw, stream.input) for stream in chat.streams], held, Run(back.raw, back.input)


async def hold() -> tuple[list[Run], list[Json], Run]:
    async with product([count, drop]) as p, asyncio.timeout(3 * TIMEOUT):
        return await talk(p)


def test_they_hold_what_the_server_keeps() -> None:
    runs, held, back = asyncio.run(hold())
    assert [message["activityType"] for message in held] == ["progress", "note", "progress"]
    assert any("ACTIVITY_DELTA" in run.body for run in runs)
    results = replay([Case("told", runs), Case("brought back", [back])])
    assert [result.version for result in results] == [*VERSIONS, *VERSIONS]
    assert_accepted(results, warnings=True)
    for result in results:
        assert shown(result.last.messages) == held
