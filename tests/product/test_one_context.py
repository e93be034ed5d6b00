"""A tool can't tell which button was pressed: it sees the same whichever way its call was approved."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from dataclasses import fields
from typing import Any

import pytest

from agui_gate import ToolContext, tool
from agui_gate.stores.base import provider_id
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, product
from tests.product.shop import call, script
from tests.requirements import shows

pytestmark = pytest.mark.anyio

YES = {"approved": True}
THREAD, ASKING_RUN = "the-thread", "the-asking-run"

Way = Callable[[Product, Chat, Stream], Awaitable[Any]]


async def by_card(p: Product, chat: Chat, asked: Stream) -> None:
    await chat.answer((next(iter(asked.cards)), {"accepted": True}))


async def by_tool_message(p: Product, chat: Chat, asked: Stream) -> None:
    await chat.answer(("call_note", YES))


async def by_resume(p: Product, chat: Chat, asked: Stream) -> None:
    await chat.resume((asked.interrupts[0]["id"], YES))


async def by_resume_under_the_providers_id(p: Product, chat: Chat, asked: Stream) -> None:
    thread = await p.app.state.engine.store.read_thread("local", THREAD)
    chat.thread_id = provider_id(thread.ref) or ""
    await chat.resume((asked.interrupts[0]["id"], YES))


async def out_of_band(p: Product, chat: Chat, asked: Stream) -> None:
    assert (await p.decide(asked.interrupts[0]["id"], YES))["state"] == "done"


async def out_of_band_and_going_on(p: Product, chat: Chat, asked: Stream) -> None:
    decided = await p.decide(asked.interrupts[0]["id"], {**YES, "continue": True})
    followed = await p.client.get(f"{p.url}/runs/{decided['run']['key']}/events", timeout=TIMEOUT)
    assert "RUN_FINISHED" in followed.text


WAYS: dict[str, Way] = {
    "card": by_card,
    "tool message": by_tool_message,
    "resume": by_resume,
    "provider's id": by_resume_under_the_providers_id,
    "out of band": out_of_band,
    "out of band, going on": out_of_band_and_going_on,
}


@shows("B1", "S2")
@pytest.mark.parametrize("way", WAYS)
async def test_what_a_tool_sees_does_not_depend_on_how_its_call_was_approved(way: str) -> None:
    seen: list[dict[str, Any]] = []

    @tool(gate=True)
    async def note(text: str, ctx: ToolContext) -> str:
        """Note something down."""
        assert ctx.tell is not None
        seen.append({f.name: deepcopy(getattr(ctx, f.name)) for f in fields(ctx) if f.name not in ("tell", "_emitter")})
        await ctx.activity("progress", {"done": 1})
        ctx.state["note"] = text
        return "noted"

    turn = script(call("note", "call_note", text="hello"))
    async with product([note], turn, mode="conversation") as p:
        chat = p.chat(thread_id=THREAD, state={"user": "ada"}, tools=[CARD_TOOL] if way == "card" else [])
        asked = await chat.say("note hello", runId=ASKING_RUN)
        async with asyncio.timeout(TIMEOUT):
            await WAYS[way](p, chat, asked)
        key = (await p.app.state.engine.store.read_thread("local", THREAD)).key
        assert seen == [
            {
                "thread_id": THREAD,
                "run_id": ASKING_RUN,
                "call_id": "call_note",
                "principal": "local",
                "idempotency_key": f"{key}:call_note",
                "owner": "local",
                "state": {"user": "ada"},
            }
        ]
        assert (await p.get(f"/threads/{THREAD}"))["state"] == {"user": "ada", "note": "hello"}
        p.assert_clean()
