"""Messages are the same however one learns of them: streamed, in a snapshot, or from the thread (B21)."""

import json
from typing import Any

import pytest

from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product
from tests.product.shop import SEARCH, Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B21")]
every_mode = pytest.mark.parametrize("mode", MODES)
YES, NO = {"approved": True}, {"approved": False}

TURN = [say("One moment."), SEARCH, refund("A1"), call("search", q="b"), refund("A2")]


async def same_everywhere(p: Product, chat: Chat) -> list[dict[str, Any]]:
    """The messages, once it is clear that stream, snapshots and thread agree on every one of them."""
    view = await p.get(f"/threads/{chat.thread_id}")
    assert [plain(m) for m in streamed(chat)] == [plain(m) for m in view["messages"]]
    for stream in chat.streams:
        for event in stream.of("MESSAGES_SNAPSHOT"):
            shown = {m["id"]: plain(m) for m in event["messages"]}
            now = {m["id"]: plain(m) for m in view["messages"] if m["id"] in shown}
            assert list(now) == list(shown), "nothing that was shown goes away or moves"
    found = view["messages"]
    assert isinstance(found, list)
    return found


def streamed(chat: Chat) -> list[dict[str, Any]]:
    """What a client would hold that ignores snapshots: what it sent, and what was streamed, in order."""
    messages: list[dict[str, Any]] = []
    for stream in chat.streams:
        known = {m["id"] for m in messages}
        sent = [m for m in stream.input["messages"] if m["id"] not in known and m["role"] in ("user", "tool")]
        answered = {m.get("toolCallId") for m in messages}
        for message in sent:
            if message["role"] == "user":
                messages.append(json.loads(json.dumps(message)))
            elif message["toolCallId"] not in answered and message["toolCallId"] not in stream.results:
                apply(messages, [{"type": "TOOL_CALL_RESULT", "messageId": message["id"], **message}])
        apply(messages, stream, snapshots=False)
    return messages


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what only one side has: a mark of failure, the text of a message that only makes calls.

    What the ledger says of a call (`metadata`) is known when the call has been streamed already.
    """
    kept = {k: v for k, v in message.items() if k not in ("error", "metadata") and (k, v) != ("content", "")}
    calls = [{k: v for k, v in call.items() if k != "metadata"} for call in message.get("toolCalls", ())]
    return kept | {"toolCalls": calls} if calls else kept


@every_mode
@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
async def test_a_conversation_with_gated_calls(mode: str, tools: list[dict[str, Any]]) -> None:
    shop = Shop()
    async with product(shop.tools, script(*TURN), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("do it")
        await same_everywhere(p, chat)
        if asked.interrupts:
            await chat.resume(*zip([a["id"] for a in asked.interrupts], (YES, NO), strict=True))
        else:
            await chat.answer(*zip(asked.cards, (YES, NO), strict=True))
        await same_everywhere(p, chat)
        await chat.say("thanks")
        messages = await same_everywhere(p, chat)
        assert len({m["id"] for m in messages}) == len(messages)
        assert messages[-2]["content"] == "thanks"
        p.assert_clean()


@every_mode
async def test_turn_after_turn_with_reasoning(mode: str) -> None:
    shop = Shop()
    thought = {"type": "reasoning", "summary": ["The order exists.", "It was paid."]}
    hidden = {"type": "reasoning", "summary": []}
    turns = [
        {"output": [thought, say("First I look."), SEARCH]},
        {"output": [hidden, refund("A1")]},
        {"output": [thought, refund("A2")]},
        {"output": [hidden, say("Done."), say("Really.")], "repeat": True},
    ]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        stream = await chat.say("do it")
        while stream.interrupts:
            await same_everywhere(p, chat)
            stream = await chat.resume((stream.interrupts[0]["id"], YES))
        assert shop.orders == ["A1", "A2"]
        await same_everywhere(p, chat)
        p.assert_clean()


@every_mode
async def test_superseded_and_decided_elsewhere(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("do it")
        listed = (await p.get("/approvals"))["approvals"]
        decided = await p.decide(listed[1]["id"], YES)
        assert decided["state"] == "done"
        view = await p.get(f"/threads/{chat.thread_id}")
        results = {m["toolCallId"]: m["content"] for m in view["messages"] if m["role"] == "tool"}
        assert results == {listed[1]["call_id"]: decided["result"]}, "the thread knows before any run tells"
        done = await chat.say("never mind the other")
        assert set(done.results) == set(asked.calls)
        await same_everywhere(p, chat)
        p.assert_clean()


def snapshots(stream: Stream) -> int:
    return len(stream.of("MESSAGES_SNAPSHOT"))


async def test_only_where_it_is_needed() -> None:
    """Before an interrupt, and after a gated call's real result; a plain run costs nothing extra."""
    shop = Shop()
    async with product(shop.tools, script(SEARCH, refund())) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        assert snapshots(asked) == 1
        resumed = await chat.resume((asked.interrupts[0]["id"], YES))
        assert snapshots(resumed) == 1
        kinds = resumed.types()
        assert kinds.index("TOOL_CALL_RESULT") < kinds.index("MESSAGES_SNAPSHOT") < kinds.index("TEXT_MESSAGE_START")
        for _ in range(2):
            assert snapshots(await chat.say("thanks")) == 0


@shows("S10")
async def test_a_client_that_left_before_a_result_was_told_is_shown_it_by_its_next_run() -> None:
    """It shows a call without a result, which looks as if it still ran."""
    async with product(Shop().tools, script(SEARCH)) as p:
        chat = p.chat()
        (call_id,) = (await chat.say("look")).results
        chat.messages = [message for message in chat.messages if message["role"] != "tool"]
        (snapshot,) = (await chat.say("thanks")).of("MESSAGES_SNAPSHOT")
        assert [m["toolCallId"] for m in snapshot["messages"] if m["role"] == "tool"] == [call_id]


async def test_the_state_is_saved_and_found_under_the_clients_id() -> None:
    from agui_gate import ToolContext, tool

    @tool(gate=True)
    async def count(ctx: ToolContext) -> int:
        """Count."""
        ctx.state["count"] = ctx.state.get("count", 0) + 1
        return ctx.state["count"]

    async with product([count], script(call("count"))) as p:
        chat = p.chat(state={"count": 4})
        asked = await chat.say("count")
        chat.state = {}
        done = await chat.resume((asked.interrupts[0]["id"], YES))
        assert [e["snapshot"] for e in done.of("STATE_SNAPSHOT")] == [{"count": 4}]
        assert [e["delta"] for e in done.of("STATE_DELTA")] == [[{"op": "replace", "path": "/count", "value": 5}]]
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"count": 5}
