"""Coming back, and saying a thing again, by the rules of the specification; the same for clients of 0.x."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agui_gate import ToolContext, tool
from agui_gate_adapters.testkit.agui.stream import apply
from tests.conforming import conforms
from tests.interop.replay import Case, Run, assert_accepted, replay
from tests.interop.validate import assert_valid
from tests.product.kit import CARD_TOOL, Chat, Product, Stream, product
from tests.product.live import connect, connecting, over, starting
from tests.product.shop import Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]

Json = dict[str, Any]
YES = {"approved": True}
SHAPE = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
LONG = {"output": [{"type": "message", "text": "word " * 60}], "fault": {"kind": "slow", "ms": 2}}
V1 = {"protocolVersion": "1.0"}
DIALECTS = pytest.mark.parametrize("says", [{}, V1], ids=["0.x", "1.0"])


@tool
async def note(ctx: ToolContext, text: str) -> str:
    """Keep a note in the shared state."""
    ctx.state.setdefault("notes", []).append(text)
    return "noted"


def ids(event: Json) -> tuple[str, str]:
    return event["threadId"], event["runId"]


# --- a run, whole -------------------------------------------------------------------------------------------------


@conforms("LIFE-1", "IN-1", "TR-1")
@DIALECTS
@pytest.mark.parametrize("state", [{}, {"mine": 1}])
async def test_an_unknown_thread_is_a_whole_run_without_words(says: Json, state: Json) -> None:
    """What the client holds as state stays: nobody holds another one."""
    async with product([], [{"output": [say("Hello.")]}]) as p:
        chat = p.chat(state=state)
        stream = await connect(p, chat, runId="mine", **says)
        assert_valid(stream.raw, resumed=False)
        assert stream.types() == SHAPE
        assert ids(stream[0]) == ids(stream[-1]) == (chat.thread_id, "mine")
        assert (stream[1]["messages"], stream[2]["snapshot"]) == ([], state)
        assert (await p.get("/threads"))["threads"] == [], "connecting makes no thread"
        assert (await chat.say("hello")).text == "Hello."


@conforms("IN-1")
@DIALECTS
async def test_a_run_that_goes_on_keeps_its_own_id(says: Json) -> None:
    async with product([], [LONG]) as p:
        chat = p.chat()
        async with starting(p, chat, "go", runId="first", **says) as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            joined = await connect(p, chat, runId="second", **says)
            stream = await first.end()
        assert ids(joined[0]) == ids(joined[-1]) == ids(stream[-1]) == (chat.thread_id, "first")
        assert joined[-1]["usage"] == stream[-1]["usage"]
        rested = await connect(p, chat, runId="third", **says)
        assert ids(rested[0]) == ids(rested[-1]) == (chat.thread_id, "third")


@conforms("IN-1")
@pytest.mark.parametrize("connects", ["by the provider's id", "by the client's id"])
async def test_a_thread_that_is_known_by_the_providers_id(connects: str) -> None:
    """The id that came in is said, at the beginning and at the end, whoever began the run under which one."""
    async with product([], [{"output": [say("Hello.")]}, LONG], mode="conversation") as p:
        chat = p.chat(thread_id='a "quoted" \\ thread')
        await chat.say("hello")
        other = p.chat(thread_id=p.inputs()[0]["conversation"])
        runs, joins = (chat, other) if connects == "by the provider's id" else (other, chat)
        runs.messages = chat.messages
        async with starting(p, runs, "go", runId="first") as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            joined = await connect(p, joins, runId="second")
            stream = await first.end()
        assert ids(stream[0]) == ids(stream[-1]) == (runs.thread_id, "first")
        assert ids(joined[0]) == ids(joined[-1]) == (joins.thread_id, "first")
        rested = await connect(p, joins, runId="third")
        assert ids(rested[0]) == ids(rested[-1]) == (joins.thread_id, "third")
        assert len(apply([], rested)) == 4


# --- the state at the start ---------------------------------------------------------------------------------------


@conforms("SNAP-1", "STATE-1", "IN-6")
@DIALECTS
async def test_a_client_that_holds_another_state_is_shown_it_at_once(says: Json) -> None:
    """Both clients say `{}` after a reload. That is shown what there is, and wipes nothing."""
    async with product([note], script(call("note", text="a"))) as p:
        chat = p.chat()
        first = await chat.say("note it", **says)
        assert first.types().count("STATE_DELTA") == 1
        kept = {"notes": ["a"]}
        for state in ({}, [], 0, ""):
            again = await chat.say("and?", state=state, **says)
            assert again.types()[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
            assert again[1]["snapshot"] == kept
        body = {k: v for k, v in chat.body(**says).items() if k != "state"}
        absent = await p.post("/", body)
        assert absent[1] == {"type": "STATE_SNAPSHOT", "snapshot": kept}
        for state in (kept, {"other": 1}):
            assert "STATE_SNAPSHOT" not in (await chat.say("and?", state=state, **says)).types()
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"other": 1}


@conforms("SNAP-1")
@pytest.mark.parametrize("state", [{}, {"mine": 1}])
async def test_where_both_hold_the_same_nothing_is_shown(state: Json) -> None:
    async with product([], script()) as p:
        chat = p.chat(state=state)
        for _ in range(2):
            assert "STATE_SNAPSHOT" not in (await chat.say("hello")).types()


# --- said again ---------------------------------------------------------------------------------------------------


async def answered_twice(p: Product, style: str, says: Json) -> tuple[Chat, Stream]:
    """A refund that was approved, and the same answer again: by a page that has not seen what came of the card, or by
    somebody who clicked twice.
    """
    chat = p.chat(tools=[CARD_TOOL] if style == "card" else [])
    asked = await chat.say("refund A1", **says)
    if style == "card":
        told = await chat.answer((next(iter(asked.cards)), {"accepted": True}), **says)
        chat.messages = list(told.input["messages"])
        return chat, await chat.go(**says)
    await chat.resume((asked.interrupts[0]["id"], YES), **says)
    return chat, await chat.resume((asked.interrupts[0]["id"], YES), **says)


@conforms("LIFE-8", "EVT-4")
@pytest.mark.parametrize(("style", "says"), [("card", {}), ("card", V1), ("interrupt", {}), ("interrupt", V1)])
async def test_a_repeated_answer_is_told_by_snapshot_alone(style: str, says: Json) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), after="Refunded.")) as p:
        _, again = await answered_twice(p, style, says)
        assert shop.orders == ["A1"]
        assert again.of("TOOL_CALL_RESULT") == []
        (snapshot,) = again.of("MESSAGES_SNAPSHOT")
        results = [m for m in snapshot["messages"] if m["role"] == "tool" and "refunded" in m["content"]]
        assert len(results) == 1
        assert again[-1]["type"] == "RUN_FINISHED"
        assert "outcome" not in again[-1]


# --- both clients -------------------------------------------------------------------------------------------------


async def held(says: Json) -> tuple[list[Case], dict[str, Sequence[Json]]]:
    cases, kept = [], {}
    async with product(Shop().tools, [LONG, LONG]) as p:
        chat = p.chat()
        async with starting(p, chat, "go", **says) as first:
            await first.until("TEXT_MESSAGE_CONTENT")
            async with connecting(p, chat, **says) as second:
                joined = await second.end()
        thread = await over(p, chat, "finished")
        nobody = p.chat(state={"mine": 1})
        empty = await connect(p, nobody, **says)
        body = {**nobody.body(**says), "messages": []}
        cases = [Case("joined", [Run(joined.raw, second.body or {})]), Case("empty", [Run(empty.raw, body)])]
        kept = {"joined": thread["messages"], "empty": []}
    for style in ("card", "interrupt"):
        async with product(Shop().tools, script(refund())) as p:
            chat, _ = await answered_twice(p, style, says)
            asked, told, again = (Run(s.raw, s.input) for s in chat.streams)
            cases.append(Case(style, [asked, told, replace(again, replace=style == "card")]))
            kept[style] = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
    return cases, kept


@pytest.mark.interop
@conforms("LIFE-8", "IN-1", "LIFE-1")
@DIALECTS
def test_both_clients_hold_what_the_server_has(says: Json) -> None:
    cases, kept = asyncio.run(held(says))
    results = replay(cases)
    assert_accepted(results)
    for result in results:
        messages = result.last.messages
        tools = [[m["id"] for m in some if m["role"] == "tool"] for some in (messages, kept[result.case])]
        assert sorted(tools[0]) == sorted(tools[1]), (result.case, result.version)
        assert len({m["id"] for m in messages}) == len(messages)
        assert [m.get("content") for m in messages if m["role"] == "assistant"] == [
            m.get("content") for m in kept[result.case] if m["role"] == "assistant"
        ]
