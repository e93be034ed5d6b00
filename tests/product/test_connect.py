"""Coming back with nothing but the thread's id: the same conversation as one that was there from the start (B17)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agui_gate import ToolContext, tool
from agui_gate.config.settings import Settings
from agui_gate_adapters.testkit import Emulator
from agui_gate_adapters.testkit.agui.stream import apply
from tests.interop.validate import assert_valid
from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product, streamed
from tests.product.live import cancel, connect, connecting, over, quiet, starting
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.requirements import shows
from tests.support.chance import some

pytestmark = [pytest.mark.anyio, shows("B17")]

Json = dict[str, Any]
YES = {"approved": True}


def slow(*items: Json, **more: Any) -> Json:
    return {"output": list(items), "fault": {"kind": "slow", "ms": 2}, **more}


def words(count: int) -> Json:
    return {"type": "message", "text": "word " * count}


@tool
async def note(ctx: ToolContext, text: str) -> str:
    """Keep a note in the shared state."""
    ctx.state.setdefault("notes", []).append(text)
    return "noted"


def two_turns(count: int) -> list[Json]:
    thought = {"type": "reasoning", "summary": ["Hm.", "Well."]}
    first = slow(thought, words(count), SEARCH, call("note", text="a"), call("note", text="b"))
    return [first, slow(words(count)), slow(words(count))]


async def joined(p: Product, chat: Chat) -> Stream:
    """A client that connects now and stays to the end."""
    stream = await connect(p, chat)
    assert_valid(stream.raw, resumed=True)
    return stream


async def at_every_event(p: Product, chat: Chat, *, every: int = 1, **more: Any) -> tuple[Stream, list[Stream]]:
    """A run that is read from the start, and one client more for each of its frames, which connects when it came.

    ``every``: or for every n-th.
    """
    clients: list[asyncio.Future[Stream]] = []
    async with starting(p, chat, **more) as first:
        while '"type":"RUN_FINISHED"' not in first.raw:
            await first.count(len(first.frames) + every)
            clients.append(asyncio.ensure_future(joined(p, chat)))
        stream = await first.end()
    apply(chat.messages, stream)
    return stream, list(await asyncio.gather(*clients))


def of_each(messages: list[Json]) -> dict[str, list[Json]]:
    """Messages by the task that wrote them, "" for the agent itself: those of tasks at work at the same time are in the
    order of their beginning in a stream, and of their end in the thread.
    """
    by_task: dict[str, list[Json]] = {}
    for message in messages:
        by_task.setdefault(message.get("subagentRunId", ""), []).append(message)
    return by_task


def the_same(chat: Chat, stream: Stream, clients: list[Stream]) -> None:
    """All of them have the conversation, the state and the outcome of the first one."""
    state = [e["snapshot"] for e in stream.of("STATE_SNAPSHOT")][-1:]
    for client in clients:
        assert of_each(streamed(apply([], client))) == of_each(streamed(chat.messages))
        assert client[0]["type"] == "RUN_STARTED"
        assert client.types().count("RUN_STARTED") == 1
        assert client[0]["runId"] == client[-1].get("runId", client[0]["runId"])
        assert client[-1]["type"] == stream[-1]["type"]
        assert client[-1].get("outcome") == stream[-1].get("outcome")
        assert not state or [e["snapshot"] for e in client.of("STATE_SNAPSHOT")][-1:] == state


@pytest.mark.parametrize("mode", [MODES[0], *(pytest.param(mode, marks=pytest.mark.spare) for mode in MODES[1:])])
async def test_at_every_event_of_two_turns_with_tools(mode: str) -> None:
    async with product([*Shop().tools, note], two_turns(40), mode=mode) as p:
        chat = p.chat()
        chat.messages.append({"id": "u1", "role": "user", "content": "go"})
        stream, clients = await at_every_event(p, chat)
        assert len(clients) > 50
        the_same(chat, stream, clients)
        assert len({len(c.of("TEXT_MESSAGE_CONTENT")) for c in clients}) >= 2, "some came in the second turn"
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        assert chat.messages == snapshot["messages"]
        assert snapshot["state"] == {"notes": ["a", "b"]}
        p.assert_clean()
        await quiet(p)


async def test_at_every_event_of_a_run_that_says_more_than_is_kept() -> None:
    """Where the beginning of what is being said is gone, the conversation goes on at the next turn."""
    async with product([*Shop().tools, note], two_turns(300), settings=Settings(events_bytes=16 * 1024)) as p:
        chat = p.chat()
        chat.messages.append({"id": "u1", "role": "user", "content": "go"})
        stream, clients = await at_every_event(p, chat, every=some(24, 12))
        the_same(chat, stream, clients)
        assert any(len(c.of("MESSAGES_SNAPSHOT")) == 2 for c in clients), "some had to wait"
        await quiet(p)


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_at_every_event_of_a_resumed_run(style: str) -> None:
    shop = Shop()
    turns = [slow(refund(), SEARCH), slow(words(20), refund("B2")), slow(words(20))]
    async with product([*shop.tools, note], turns, hitl=style) as p:
        chat = p.chat(tools=[CARD_TOOL] if style == "card" else [])
        chat.messages.append({"id": "u1", "role": "user", "content": "go"})
        asked, clients = await at_every_event(p, chat)
        the_same(chat, asked, clients)
        if style == "card":
            (card,) = asked.cards
            chat.messages.append({"id": "a1", "role": "tool", "toolCallId": card, "content": '{"accepted": true}'})
            stream, clients = await at_every_event(p, chat)
        else:
            (ask,) = asked.interrupts
            entry = {"interruptId": ask["id"], "status": "resolved", "payload": YES}
            stream, clients = await at_every_event(p, chat, resume=[entry])
        assert shop.orders == ["A1"]
        assert stream.cards or stream.interrupts
        for client in clients:
            assert without_cards(apply([], client)) == without_cards(chat.messages)
            assert client[-1].get("outcome") == stream[-1].get("outcome")
        p.assert_clean()


def without_cards(messages: list[Json]) -> list[Json]:
    """A client's own answer to a card is its own: the server tells others what came of the card."""
    return [m for m in streamed(messages) if not m.get("toolCallId", "").startswith("card_")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_what_waits_comes_back_on_another_device_days_later(tmp_path: Path, mode: str, style: str) -> None:
    store, shop = f"sqlite:///{tmp_path / 'gate.db'}", Shop()
    emulator = Emulator(script=script(say("Look:"), refund(), after="Refunded."))
    tools = [CARD_TOOL] if style == "card" else []
    async with product(shop.tools, emulator=emulator, store=store, mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund A1")
    async with product(shop.tools, emulator=emulator, store=store, mode=mode) as p:
        other = p.chat(thread_id=chat.thread_id, tools=tools)
        back = await connect(p, other)
        assert_valid(back.raw, resumed=True)
        assert back[0]["threadId"] == chat.thread_id
        assert streamed(apply(other.messages, back)) == streamed(chat.messages)
        assert [i["id"] for i in back.interrupts] == [i["id"] for i in asked.interrupts]
        if style == "card":
            (card,) = asked.cards
            assert back[-1].get("outcome") is None
            done = await other.answer((card, {"accepted": True}))
        else:
            assert back.interrupts == asked.interrupts
            done = await other.resume((back.interrupts[0]["id"], YES))
        assert done.text == "Refunded."
        assert shop.orders == ["A1"]
        again = await connect(p, other)
        assert again[-1] == {**again[-1], "type": "RUN_FINISHED"}
        assert not again.interrupts
        assert without_cards(apply([], again)) == without_cards(other.messages)
        p.assert_clean()


async def test_a_card_that_was_decided_elsewhere_has_its_outcome_and_the_thread_goes_on() -> None:
    shop = Shop()
    async with product(shop.tools, script(say("Look:"), refund(), after="Refunded.")) as p:
        chat = p.chat(tools=[CARD_TOOL])
        (card,) = (await chat.say("refund A1")).cards
        (approval,) = (await p.get("/approvals"))["approvals"]
        assert (await p.decide(approval["id"], YES))["state"] == "done"
        back = await connect(p, chat)
        assert_valid(back.raw, resumed=True)
        chat.messages = apply([], back)
        results = {m["toolCallId"]: m["content"] for m in chat.messages if m["role"] == "tool"}
        assert results[card] == results[approval["call_id"]]
        assert (await chat.say("and now?")).text == "Refunded."
        assert shop.orders == ["A1"]
        p.assert_clean()


async def test_anothers_thread_is_an_unknown_one() -> None:
    async with product([], script(after="secret"), auth=lambda r: r.headers.get("x-user")) as p:
        chat = p.chat(headers={"x-user": "alice"})
        await chat.say("hello")
        thief = p.chat(thread_id=chat.thread_id, headers={"x-user": "bob"})
        nobody = p.chat(headers={"x-user": "bob"})
        seen, nothing = await connect(p, thief), await connect(p, nobody)
        assert seen.types() == nothing.types()
        assert seen[1:-1] == nothing[1:-1]
        mine = await connect(p, chat)
        assert apply([], mine) == chat.messages


async def test_after_a_cancel_and_after_a_failure() -> None:
    turns: list[Json] = [
        {"output": [words(40)], "when": {"user": "hang"}, "fault": {"kind": "hang", "after_events": 9}},
        {"output": [words(40)], "when": {"user": "fail"}, "fault": {"kind": "failed", "after_events": 9}},
        {"output": [say("Back.")], "repeat": True},
    ]
    async with product([], turns) as p:
        chat = p.chat()
        async with starting(p, chat, "hang") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            joining = asyncio.ensure_future(connect(p, chat))
            async with asyncio.timeout(60):
                while p.app.state.engine.following("local", chat.thread_id)._readers < 2:
                    await p.get("/healthz")
            assert (await cancel(p, chat))["cancelled"] is True
            apply(chat.messages, await reader.end())
        watched = await joining
        assert (watched[-1]["type"], watched[-1]["code"]) == ("RUN_ERROR", "abort")
        assert apply([], watched) == chat.messages
        after = await connect(p, chat)
        assert (after[-1]["type"], after[-1]["code"]) == ("RUN_ERROR", "abort")
        assert streamed(apply([], after)) == chat.messages
        newer = await connect(p, p.chat(thread_id=chat.thread_id, extra={"protocolVersion": "1.0"}))
        assert (newer[-1]["type"], newer[-1]["outcome"]) == ("RUN_FINISHED", {"type": "cancelled"})
        failed = await chat.say("fail")
        assert failed[-1]["type"] == "RUN_ERROR"
        for extra in ({}, {"protocolVersion": "1.0"}):
            after = await connect(p, p.chat(thread_id=chat.thread_id, extra=extra))
            assert after[-1] == {**after[-1], **{key: failed[-1][key] for key in ("type", "code", "message")}}
            assert streamed(apply([], after)) == chat.messages
        assert (await chat.say("go on")).text == "Back."
        assert (await connect(p, chat))[-1]["type"] == "RUN_FINISHED", "an old end is not told again"
        p.assert_clean()
        await quiet(p)


async def test_a_client_that_connects_to_a_run_keeps_it_going_and_can_resume_its_own_stream() -> None:
    turns: list[Json] = [slow(words(60))]
    async with product([], turns, settings=Settings(disconnect_grace=30)) as p:
        chat = p.chat()
        async with starting(p, chat, "go") as first:
            await first.until("TEXT_MESSAGE_CONTENT")
        async with connecting(p, chat) as second:
            assert second.run_key == first.run_key
            await second.until("TEXT_MESSAGE_CONTENT")
        response = await p.client.get(f"{p.url}/runs/{first.run_key}/events", headers={"last-event-id": second.last_id})
        whole = "".join(second.frames) + response.text
        assert whole.endswith((await p.client.get(f"{p.url}/runs/{first.run_key}/events")).text[-200:])
        thread = await over(p, chat, "finished")
        assert thread["messages"][-1]["content"] == words(60)["text"]
        await quiet(p)
