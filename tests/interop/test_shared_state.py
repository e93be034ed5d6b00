"""Both real clients make the same state of what they are told as the server keeps, run after run."""

import asyncio
from typing import Any

import pytest

from agui_gate import ToolContext, tool
from tests.interop.replay import VERSIONS, Case, Run, assert_accepted, replay
from tests.interop.validate import decode
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, product
from tests.product.shop import call, script
from tests.requirements import shows

pytestmark = [pytest.mark.interop, shows("H1", "B14")]
Json = dict[str, Any]
HELD: Json = {"rows": [{"id": n, "a/b": {"~": n}, "text": "x" * 40} for n in range(20)], "tab": "a"}


@tool
async def shuffle(ctx: ToolContext) -> str:
    """Changes the state in many places."""
    rows = ctx.state["rows"]
    rows.insert(0, {"id": -1})
    del rows[5]
    rows[7]["a/b"] = {"~": None, "": True}
    rows.append(rows.pop(2))
    ctx.state["tab"] = ["b", {"c": 1.5}]
    return "shuffled"


@tool
async def forge(ctx: ToolContext) -> str:
    """Uses a name that JavaScript has a meaning for."""
    ctx.state["constructor"] = {"prototype": 1}
    return "forged"


@tool(gate=True)
async def drop(ctx: ToolContext) -> str:
    """Empties it, if a person agrees."""
    ctx.state["rows"] = ctx.state["rows"][:2]
    return "dropped"


async def talk(p: Product) -> tuple[list[Run], list[Json]]:
    chat: Chat = p.chat(state=HELD, tools=[CARD_TOOL])
    states = []
    for turn, answer in (("shuffle", None), ("forge", None), ("drop", {"accepted": True})):
        p.emulator.load(script(call(turn)))
        stream = await chat.say(turn)
        states.append((await p.get(f"/threads/{chat.thread_id}"))["state"])
        chat.state = states[-1]
        if answer is not None:
            await chat.answer((next(iter(stream.cards)), answer))
            states.append((await p.get(f"/threads/{chat.thread_id}"))["state"])
            chat.state = states[-1]
    return [Run(stream.raw, stream.input, replace=True) for stream in chat.streams], states


async def hold() -> tuple[list[Run], list[Json]]:
    async with product([shuffle, forge, drop]) as p, asyncio.timeout(3 * TIMEOUT):
        return await talk(p)


def test_they_hold_what_the_server_keeps() -> None:
    runs, states = asyncio.run(hold())
    assert any("STATE_DELTA" in run.body for run in runs)
    results = replay([Case("state", runs)])
    assert [result.version for result in results] == list(VERSIONS)
    assert_accepted(results, warnings=True)
    for result in results:
        assert [run.state for run in result.runs] == states


def test_every_run_can_be_folded_by_itself() -> None:
    """As CopilotKit's Node runtime does when a run is over: it begins with no state, whatever the page has sent."""
    runs, _ = asyncio.run(hold())
    for run in runs:
        told = [event for event in decode(run.body) if event["type"].startswith("STATE_")]
        assert not told or told[0]["type"] == "STATE_SNAPSHOT"
