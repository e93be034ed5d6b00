"""Frontend calls belong to the frontend: what a client that declares 1.0 is told of cards and of its own tools.

The server never answers such a call (TOOL-4). What a run leaves without a result is what the page has to answer
(TOOL-6). What nobody can answer any more is withdrawn by a snapshot.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agui_gate import tool
from agui_gate.config.settings import Settings
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui.stream import apply
from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, product, streamed
from tests.product.live import cancel, connect, starting
from tests.product.shop import COLOR, PICK, SEARCH, Shop, call, outputs, refund, say, script, status
from tests.product.test_connect import at_every_event, the_same
from tests.product.test_expiry import Clock
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, conforms("TOOL-4", "TOOL-6"), shows("B15")]

Json = dict[str, Any]
YES, NO = {"accepted": True}, {"accepted": False}
V1 = {"protocolVersion": "1.0"}
FULL = Settings(dialect="1.0")
styles = pytest.mark.parametrize("card", [True, False], ids=["card", "interrupt"])


def page(p: Product, *tools: Json) -> Chat:
    """A page that declares 1.0."""
    return p.chat(tools=list(tools), extra=V1)


def id_of(stream: Stream, name: str) -> str:
    return next(i for i, made in stream.calls.items() if made == name)


def shown(messages: list[Json]) -> list[tuple[str, ...]]:
    """Names of calls, and roles of other messages."""
    return [tuple(c["function"]["name"] for c in m.get("toolCalls", ())) or (m["role"],) for m in messages]


def said(messages: list[Json]) -> list[Json]:
    """As streamed: a result event has no member for an error beside its content."""
    return [{k: v for k, v in message.items() if k != "error"} for message in streamed(messages)]


def assert_belong(chat: Chat) -> None:
    """No stream answers a call of the page's, and only such calls are left to it."""
    theirs = {tool["name"] for tool in chat.tools}
    names: dict[str, str] = {}
    for stream in chat.streams:
        names |= stream.calls
        assert not {names[i] for i in stream.results if i in names} & theirs
        sent = {m.get("toolCallId") for m in stream.input["messages"]}
        for snapshot in stream.of("MESSAGES_SNAPSHOT"):
            told = {m["toolCallId"] for m in snapshot["messages"] if m["role"] == "tool"}
            assert not {i for i in told - sent if names.get(i) in theirs}, "a made-up tool message"
        left = [i for i in stream.calls if i not in stream.results]
        if stream[-1]["type"] == "RUN_FINISHED" and not stream.interrupts:
            assert {names[i] for i in left} <= theirs
            outcome = stream[-1].get("outcome") or {}
            assert outcome.get("pendingToolCallIds") in (None, left)


async def assert_as_connected(p: Product, chat: Chat) -> Stream:
    """A page that comes back is shown what this one shows."""
    again = await connect(p, chat)
    assert said(apply([], again)) == said(chat.messages)
    assert_belong(chat)
    p.assert_clean()
    return again


async def accept(chat: Chat, asked: Stream, answer: Json = YES) -> Stream:
    return await chat.answer(*((card_id, answer) for card_id in asked.cards))


# --- cards ------------------------------------------------------------------------------------------------------------
@conforms("TOOL-2", "TOOL-5")
@pytest.mark.parametrize(("answer", "orders"), [(YES, ["A1"]), (NO, [])])
async def test_a_gated_call_is_shown_with_its_result_in_the_run_that_decides_it(
    answer: Json, orders: list[str]
) -> None:
    shop = Shop()
    async with product(shop.tools, script(say("Let me see."), SEARCH, refund()), settings=FULL) as p:
        chat = page(p, CARD_TOOL)
        asked = await chat.say("refund")
        (card_id,) = asked.cards
        assert sorted(asked.calls.values()) == ["confirm_changes", "search"]
        assert asked[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [card_id]}
        await assert_as_connected(p, chat)
        done = await accept(chat, asked, answer)
        (refunded,) = done.calls
        assert done.calls == {refunded: "refund"}
        assert list(done.results) == [refunded]
        assert json.loads(done.arguments(refunded)) == {"order_id": "A1", "amount": 20}
        assert (done.text, shop.orders) == ("Done.", orders)
        assert "outcome" not in done[-1]
        assert shown(chat.messages)[-5:] == [("confirm_changes",), ("tool",), ("refund",), ("tool",), ("assistant",)]
        await assert_as_connected(p, chat)


async def test_a_call_that_its_gate_lets_go_is_shown_at_once() -> None:
    shop = Shop(when=lambda arguments: arguments["amount"] > 10)
    turn = script(refund("A1", 5), say("And this."), PICK, refund("A2", 50))
    async with product(shop.tools, turn) as p:
        chat = page(p, CARD_TOOL, COLOR)
        asked = await chat.say("refund both")
        assert list(asked.calls.values()) == ["pick_color", "refund", "confirm_changes"]
        assert list(asked.results) == [id_of(asked, "refund")]
        assert shop.orders == ["A1"]
        await assert_as_connected(p, chat)
        done = await chat.answer((id_of(asked, "pick_color"), "green"), (next(iter(asked.cards)), YES))
        assert (done.text, shop.orders) == ("Done.", ["A1", "A2"])
        await assert_as_connected(p, chat)
        first, color, second = outputs(p.inputs()[-1])
        assert [json.loads(first)["order"], color, json.loads(second)["order"]] == ["A1", "green", "A2"]


async def typed_over(p: Product, chat: Chat, asked: Stream) -> Stream:
    return await chat.say("never mind")


async def decided_elsewhere(p: Product, chat: Chat, asked: Stream) -> Stream:
    (pending,) = (await p.get("/approvals"))["approvals"]
    await p.decide(pending["id"], {"approved": True})
    return await chat.go()


MOOT: dict[str, tuple[Callable[[Product, Chat, Stream], Awaitable[Stream]], str]] = {
    "typed over": (typed_over, "superseded"),
    "decided elsewhere": (decided_elsewhere, "done"),
}


@pytest.mark.parametrize("way", MOOT)
async def test_a_moot_card_is_retired_by_a_snapshot(way: str) -> None:
    act, state = MOOT[way]
    async with product(Shop().tools, script(refund())) as p:
        chat = page(p, CARD_TOOL)
        asked = await chat.say("refund")
        done = await act(p, chat, asked)
        assert list(done.calls.values()) == ["refund"]
        assert list(done.results) == list(done.calls)
        (snapshot,) = done.of("MESSAGES_SNAPSHOT")
        assert ("confirm_changes",) not in shown(snapshot["messages"])
        assert {m["metadata"]["agui-gate"]["state"] for m in snapshot["messages"] if m["role"] == "tool"} == {state}
        assert done.text == "Done."
        await assert_as_connected(p, chat)


@conforms("LIFE-8", "EVT-4")
async def test_what_a_page_came_back_to_is_not_sent_again() -> None:
    async with product(Shop().tools, script(refund())) as p:
        chat = page(p, CARD_TOOL)
        await chat.say("refund")
        (pending,) = (await p.get("/approvals"))["approvals"]
        await p.decide(pending["id"], {"approved": True})
        chat.messages = apply([], await connect(p, chat))
        assert shown(chat.messages) == [("user",), ("refund",), ("tool",)]
        done = await chat.go()
        assert (done.calls, done.results, done.text) == ({}, {}, "Done.")
        await assert_as_connected(p, chat)


@conforms("LIFE-8")
@styles
@pytest.mark.parametrize("state", ["done", "expired"])
async def test_what_a_page_came_back_to_stays_before_what_is_said_next(state: str, card: bool) -> None:
    clock = Clock()
    async with product(Shop(expires_after=3600).tools, script(refund()), store=MemoryStore(clock=clock)) as p:
        chat = page(p, *([CARD_TOOL] if card else []))
        await chat.say("refund")
        (pending,) = (await p.get("/approvals"))["approvals"]
        if state == "expired":
            clock.later()
        else:
            await p.decide(pending["id"], {"approved": True})
        assert (await p.get(f"/approvals/{pending['id']}"))["state"] == state
        chat.messages = apply([], await connect(p, chat))
        assert shown(chat.messages) == [("user",), ("refund",), ("tool",)]
        assert (await chat.say("and now?")).text == "Done."
        assert shown(chat.messages) == [("user",), ("refund",), ("tool",), ("user",), ("assistant",)]
        await assert_as_connected(p, chat)


@conforms("SNAP-1")
@styles
async def test_who_retries_an_answer_that_goes_on_is_shown_its_beginning(card: bool) -> None:
    """A page drops what stands behind a message that it sends again. Here that stays, since it is not answered yet."""
    shop = Shop()
    down = {"kind": "status", "status": 503, "retry_after": 0, "times": 2}
    turns = [{"output": [refund()]}, {"fault": down}, *script(say("Done."))]
    async with product(shop.tools, turns) as p:
        chat = page(p, *[CARD_TOOL] * card)
        asked = await chat.say("refund")
        failed = await chat.decide(asked, approved=True)
        assert failed[-1]["type"] == "RUN_ERROR"
        del chat.messages[1:]
        done = await chat.go()
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert said(apply([], await connect(p, chat))) == said(chat.messages)


async def test_what_is_asked_again_has_one_card() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), settings=FULL) as p:
        chat = page(p, CARD_TOOL)
        asked = await chat.say("refund both")
        first, second = asked.cards
        part = await chat.answer((first, YES))
        assert list(part.calls.values()) == ["refund", "confirm_changes"]
        assert part[-1]["outcome"]["pendingToolCallIds"] == list(part.cards)
        held = [c["id"] for m in chat.messages for c in m.get("toolCalls", ())]
        assert second not in held
        assert len(p.inputs()) == 1
        await assert_as_connected(p, chat)
        done = await accept(chat, part, NO)
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        await assert_as_connected(p, chat)


@pytest.mark.parametrize("act", ["accept", "type"])
async def test_who_joins_the_deciding_run_is_shown_the_same(act: str) -> None:
    async with product(Shop().tools, script(say("So."), refund(), PICK)) as p:
        chat = page(p, CARD_TOOL, COLOR)
        asked = await chat.say("refund and paint")
        if act == "accept":
            told = {"id": "a1", "role": "tool", "toolCallId": next(iter(asked.cards)), "content": json.dumps(YES)}
        else:
            told = {"id": "u1", "role": "user", "content": "never mind"}
        chat.messages.append(told)
        stream, clients = await at_every_event(p, chat)
        the_same(chat, stream, clients)


async def test_a_late_click_is_no_answer_and_leaves_no_card() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = page(p, CARD_TOOL)
        asked = await chat.say("refund")
        before = list(chat.messages)
        await chat.say("never mind")
        other = p.chat(thread_id=chat.thread_id, tools=chat.tools, extra=V1, messages=before)
        late = await accept(other, asked)
        assert (shop.orders, late.error) == ([], None)
        assert ("confirm_changes",) not in shown(other.messages)
        assert_belong(other)


@conforms("TOOL-5")
@pytest.mark.parametrize("mode", ["chain", "stateless"])
async def test_a_card_that_nobody_advertised_is_an_interrupt(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode, hitl="card") as p:
        chat = page(p)
        asked = await chat.say("refund")
        assert list(asked.calls.values()) == ["refund"]
        (ask,) = asked.interrupts
        done = await chat.resume((ask["id"], {"approved": True}))
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        await assert_as_connected(p, chat)


async def test_a_page_that_knows_no_cards_is_shown_the_call_instead() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = page(p, CARD_TOOL)
        await chat.say("refund")
        chat.tools = []
        again = await connect(p, chat)
        assert shown(apply([], again)) == [("user",), ("refund",)]
        assert again.interrupts
        chat.messages = apply([], again)
        done = await chat.resume((again.interrupts[0]["id"], {"approved": True}))
        assert (done.calls, list(done.results), shop.orders) == ({}, [again.interrupts[0]["toolCallId"]], ["A1"])
        assert shown(chat.messages) == [("user",), ("refund",), ("tool",), ("assistant",)]


async def test_what_was_held_back_outlives_its_server(tmp_path: Path) -> None:
    shop, emulator, store = Shop(), Emulator(script=script(refund())), f"sqlite:///{tmp_path / 't.db'}"
    async with product(shop.tools, emulator=emulator, store=store) as p:
        chat = page(p, CARD_TOOL)
        asked = await chat.say("refund")
    async with product(shop.tools, emulator=emulator, store=store) as p:
        chat.product, chat.url, chat.http = p, p.url, p.client
        done = await accept(chat, asked)
        assert list(done.calls.values()) == ["refund"]
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        await assert_as_connected(p, chat)


# --- the client's tools -----------------------------------------------------------------------------------------------
@conforms("INT-1", "TOOL-7", "INT-5")
@pytest.mark.parametrize("first", ["both", "resume", "tool"])
async def test_a_frontend_call_waits_beside_an_interrupt(first: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(PICK, refund(), SEARCH), settings=FULL) as p:
        chat = page(p, COLOR)
        asked = await chat.say("refund and paint")
        (ask,) = asked.interrupts
        assert set(asked.calls.values()) == {"pick_color", "refund", "search"}
        picked = (id_of(asked, "pick_color"), "green")
        entry = [{"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}]
        if first == "both":
            done = await chat.answer(picked, resume=entry)
        elif first == "resume":
            part = await chat.go(resume=entry)
            assert (shop.orders, "outcome" in part[-1]) == (["A1"], False)
            done = await chat.answer(picked)
        else:
            part = await chat.answer(picked)
            assert [a["id"] for a in part.interrupts] == [ask["id"]]
            done = await chat.go(resume=entry)
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert len(p.inputs()) == 2
        color, refunded, found = outputs(p.inputs()[-1])
        assert (color, json.loads(refunded)["order"], json.loads(found)) == ("green", "A1", ["found ada"])
        await assert_as_connected(p, chat)


@styles
async def test_several_cards_and_frontend_calls_share_a_run(card: bool) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), PICK, refund("A2"), PICK), settings=FULL) as p:
        chat = page(p, COLOR, *([CARD_TOOL] if card else []))
        asked = await chat.say("do it all")
        colors = [(i, "green") for i, name in asked.calls.items() if name == "pick_color"]
        if card:
            assert asked[-1]["outcome"]["pendingToolCallIds"] == [*(i for i, _ in colors), *asked.cards]
            done = await chat.answer(*colors, *((i, YES) for i in asked.cards))
        else:
            entries = [{"interruptId": a["id"], "status": "resolved", "payload": YES} for a in asked.interrupts]
            done = await chat.answer(*colors, resume=[e | {"payload": {"approved": True}} for e in entries])
        assert (done.text, shop.orders) == ("Done.", ["A1", "A2"])
        await assert_as_connected(p, chat)


async def test_a_frontend_call_that_was_typed_over_is_withdrawn() -> None:
    async with product([], script(say("Pick one."), PICK)) as p:
        chat = page(p, COLOR)
        asked = await chat.say("paint")
        done = await chat.say("never mind")
        assert (done.results, done.text) == ({}, "Done.")
        assert [status(o) for o in outputs(p.inputs()[-1])] == ["cancelled"]
        assert shown(chat.messages) == [("user",), ("assistant",), ("user",), ("assistant",)]
        late = await chat.answer((id_of(asked, "pick_color"), "green"))
        assert (late[-1]["type"], len(p.inputs())) == ("RUN_FINISHED", 2)


async def stopped_at_work(p: Product, chat: Chat, begun: asyncio.Event) -> Stream:
    """A run that is stopped while a tool is at work, as the page that reads it sees it."""
    async with starting(p, chat, "do it", **V1) as reader:
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
        await cancel(p, chat)
        stopped = await reader.end()
    stopped.input = reader.body or {}
    chat.streams.append(stopped)
    apply(chat.messages, stopped)
    assert stopped[-1]["outcome"] == {"type": "cancelled"}
    return stopped


def endless() -> tuple[Any, asyncio.Event]:
    begun = asyncio.Event()

    @tool
    async def slow() -> str:
        """Take for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    return slow, begun


@conforms("LIFE-4")
@pytest.mark.parametrize("text", [[], [say("Look.")]])
async def test_a_stop_withdraws_an_open_frontend_call(text: list[Json]) -> None:
    slow, begun = endless()
    async with product([slow], script(*text, PICK, call("slow"))) as p:
        chat = page(p, COLOR)
        stopped = await stopped_at_work(p, chat, begun)
        assert list(stopped.results) == [id_of(stopped, "slow")]
        assert ("pick_color", "slow") not in shown(chat.messages)
        await assert_as_connected(p, chat)
        assert (await chat.say("go on")).text == "Done."


@conforms("LIFE-4")
async def test_a_stop_shows_what_was_held_back_as_cancelled() -> None:
    slow, begun = endless()
    shop = Shop()
    async with product([slow, *shop.tools], script(refund(), call("slow"))) as p:
        chat = page(p, CARD_TOOL)
        stopped = await stopped_at_work(p, chat, begun)
        assert sorted(stopped.calls.values()) == ["refund", "slow"]
        assert status(stopped.results[id_of(stopped, "refund")]) == "cancelled"
        await assert_as_connected(p, chat)
        assert ((await chat.say("go on")).text, shop.orders) == ("Done.", [])


async def test_an_answer_that_breaks_off_shows_what_was_held_back() -> None:
    fault = {"kind": "cut", "after_events": 4}
    turns = [{"output": [refund()], "when": {"user": "refund"}, "fault": fault}, *script(after="Done.")[1:]]
    shop = Shop()
    async with product(shop.tools, turns) as p:
        chat = page(p, CARD_TOOL)
        broken = await chat.say("refund")
        assert broken.error == "provider_unavailable"
        assert list(broken.calls.values()) == ["refund"]
        assert list(broken.results) == list(broken.calls)
        assert json.loads(broken.arguments(id_of(broken, "refund"))) is not None
        assert ((await chat.say("again")).text, shop.orders) == ("Done.", [])
        await assert_as_connected(p, chat)


async def test_a_card_that_expired_is_retired() -> None:
    clock = Clock()
    async with product(Shop(expires_after=3600).tools, script(refund()), store=MemoryStore(clock=clock)) as p:
        chat = page(p, CARD_TOOL)
        asked = await chat.say("refund")
        clock.later()
        late = await accept(chat, asked)
        assert [status(result) for result in late.results.values()] == ["expired"]
        assert list(late.calls) == list(late.results)
        assert ("confirm_changes",) not in shown(chat.messages)
        await assert_as_connected(p, chat)


async def test_the_open_call_of_an_unknown_history_is_settled_for_the_model_alone() -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "pick_color", "arguments": "{}"}}
    async with product([], script(say("Hello."))) as p:
        chat = page(p, COLOR)
        chat.messages = [
            {"id": "u0", "role": "user", "content": "paint"},
            {"id": "m0", "role": "assistant", "content": "Pick.", "toolCalls": [made]},
        ]
        done = await chat.say("and?")
        assert (done.text, done.results) == ("Hello.", {})
        assert [status(o) for o in outputs(p.inputs()[-1])] == ["cancelled"]
        assert shown(chat.messages) == [("user",), ("assistant",), ("user",), ("assistant",)]
        await assert_as_connected(p, chat)


@conforms("TOOL-8")
async def test_a_frontend_call_that_is_no_object_is_told_to_the_model_alone() -> None:
    bad = {"type": "function_call", "name": "pick_color", "arguments": '["bright"]'}
    async with product([], script(bad)) as p:
        chat = page(p, COLOR)
        done = await chat.say("paint")
        assert (done.text, done.results) == ("Done.", {})
        assert "not a JSON object" in outputs(p.inputs()[-1])[0]
        assert shown(chat.messages) == [("user",), ("assistant",)]
        assert_belong(chat)


async def test_an_answer_that_breaks_off_in_a_frontend_call_withdraws_it() -> None:
    turns = [
        {"output": [PICK], "when": {"user": "paint"}, "fault": {"kind": "cut", "after_events": 4}},
        {"output": [say("Done.")], "repeat": True},
    ]
    async with product([], turns) as p:
        chat = page(p, COLOR)
        broken = await chat.say("paint")
        assert (broken.error, broken.results) == ("provider_unavailable", {})
        assert list(broken.calls.values()) == ["pick_color"]
        assert shown(chat.messages) == [("user",)]
        again = await chat.say("again")
        assert (again.error, again.text) == (None, "Done.")
        await assert_as_connected(p, chat)
