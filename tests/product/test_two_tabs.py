"""One thread in two tabs, or in a tab and a shell: what counts, what comes too late, and what is said of it (T4)."""

import json
from typing import Any

import pytest

from tests.product.kit import CARD_TOOL, Chat, Product, Stream, product
from tests.product.shop import Shop, refund, say, script
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T4")]
YES, NO = {"approved": True}, {"approved": False}
ACCEPT, DECLINE = {"accepted": True}, {"accepted": False}


def tab(chat: Chat) -> Chat:
    """Another tab with the thread as ``chat`` has it now."""
    messages = json.loads(json.dumps(chat.messages))
    return Chat(chat.http, chat.url, chat.thread_id, chat.tools, messages, product=chat.product)


def notices(stream: Stream) -> list[dict[str, Any]]:
    return [event["value"] for event in stream.of("CUSTOM") if event["name"] == "agui-gate:answer_refused"]


def card_of(stream: Stream) -> str:
    return list(stream.cards)[-1]


def call_of(stream: Stream) -> str:
    return next(call_id for call_id, name in stream.calls.items() if name == "refund")


async def shown(p: Product, chat: Chat, call_id: str) -> dict[str, Any]:
    """The result of a call, or of a card, as the thread has it."""
    view = await p.get(f"/threads/{chat.thread_id}")
    (found,) = [m for m in view["messages"] if m.get("toolCallId") == call_id]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("way", ["card", "resume", "call", "message"])
async def test_a_no_that_comes_after_a_yes_elsewhere_is_told_the_truth(way: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat(tools=[CARD_TOOL] if way == "card" else [])
        asked = await chat.say("refund A1")
        (waiting,) = (await p.get("/approvals"))["approvals"]
        await p.decide(waiting["id"], YES)
        match way:
            case "card":
                late = await chat.answer((card_of(asked), DECLINE))
            case "resume":
                late = await chat.resume((waiting["id"], NO))
            case "call":
                late = await chat.answer((call_of(asked), NO))
            case _:
                item = {"call_id": call_of(asked), **NO}
                chat.messages.append({"id": "late", "role": "user", "content": "", "function_approvals": [item]})
                late = await chat.go()
        record = await p.get(f"/approvals/{waiting['id']}")
        del record["status_code"]
        (notice,) = notices(late)
        assert notice["message"] == f"Already approved at {record['decision']['at'][11:16]} UTC. It ran."
        assert notice["record"] == record
        assert late.results[call_of(asked)] == record["result"]
        assert shop.refunds == [("A1", 20)]
        (snapshot,) = late.of("MESSAGES_SNAPSHOT")
        assert '"accepted": false' not in json.dumps(snapshot).replace("\\", "")
        told = [m["metadata"]["agui-gate"]["state"] for m in snapshot["messages"] if m["role"] == "tool"]
        assert set(told) == {"done"}
        assert len(told) == (2 if way == "card" else 1)
        again = await chat.say("and now?")
        assert (notices(again), again.results) == ([], {}), "it was told once"


async def test_a_client_that_keeps_its_own_click_is_not_told_again_and_again() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        stale = tab(chat)
        await chat.answer((card_of(asked), ACCEPT))
        click = {"id": "no", "role": "tool", "toolCallId": card_of(asked), "content": '{"accepted": false}'}
        history = [*stale.messages, click]
        for number, expected in enumerate([1, 0, 0]):
            stale.messages = json.loads(json.dumps(history))
            assert len(notices(await stale.go())) == expected, number
        assert shop.refunds == [("A1", 20)]
        assert (await shown(p, chat, card_of(asked)))["content"] == '{"accepted": true}', "what closed it"


async def test_an_answer_to_a_card_that_was_asked_again_counts() -> None:
    """A yes in one tab was dropped without a word after the run of another tab had replaced the card."""
    shop = Shop()
    async with product(shop.tools, script(refund()), on_unanswered="represent") as p:
        one = p.chat(tools=[CARD_TOOL])
        asked = await one.say("refund A1")
        two = tab(one)
        again = await two.say("hurry")
        assert card_of(again) != card_of(asked)
        done = await one.answer((card_of(asked), ACCEPT))
        assert (shop.refunds, notices(done), done.cards) == ([("A1", 20)], [], {})
        record = (await p.get(f"/threads/{one.thread_id}"))["calls"][0]
        assert (record["state"], record["decision"]["way"]) == ("done", "card")
        assert (await shown(p, one, card_of(asked)))["content"] == '{"accepted": true}'
        assert (await shown(p, one, card_of(again)))["content"] == record["result"]
        late = await two.answer((card_of(again), DECLINE))
        assert [n["record"]["state"] for n in notices(late)] == ["done"]
        assert shop.refunds == [("A1", 20)]


async def test_the_note_of_a_replaced_card_is_no_answer_to_it() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), on_unanswered="represent") as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        for text in ("hurry", "please", "now"):
            again = await chat.say(text)
            assert (notices(again), len(again.cards)) == ([], 1)
        noted = [m for m in chat.messages if m.get("toolCallId") == card_of(asked)]
        assert json.loads(noted[0]["content"])["status"] == "replaced"
        again = await chat.go()
        assert (notices(again), shop.refunds) == ([], [])
        await chat.answer((card_of(again), ACCEPT))
        assert shop.refunds == [("A1", 20)]


async def test_a_card_that_an_answer_closed_stays_closed() -> None:
    """A refused answer closed it, and its question was asked again: whoever still shows the old card is told so."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        one = p.chat(tools=[CARD_TOOL])
        asked = await one.say("refund A1")
        two = tab(one)
        forbidden = {**ACCEPT, "edited_arguments": {"order_id": "A2", "amount": 20}}
        again = await one.answer((card_of(asked), forbidden))
        assert "may not be edited" in notices(again)[0]["message"]
        third = await two.answer((card_of(asked), ACCEPT))
        assert "answered before" in notices(third)[0]["message"]
        assert (shop.refunds, len(third.cards)) == ([], 1)
        quiet = await one.go()
        assert notices(quiet) == [], "an answer that was refused is not refused again with every run"
        await one.answer((card_of(quiet), ACCEPT))
        assert shop.refunds == [("A1", 20)]


async def test_an_old_card_and_a_new_one_that_say_yes_and_no_decide_nothing() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), on_unanswered="represent") as p:
        one = p.chat(tools=[CARD_TOOL])
        asked = await one.say("refund A1")
        again = await tab(one).say("hurry")
        third = await one.answer((card_of(asked), ACCEPT), (card_of(again), DECLINE))
        assert "contradict" in notices(third)[0]["message"]
        assert (shop.refunds, len(third.cards)) == ([], 1)
        await one.answer((card_of(third), ACCEPT))
        assert shop.refunds == [("A1", 20)]


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_the_same_answer_again_is_not_called_late(style: str) -> None:
    """Both tabs said yes, or one request was sent twice: the result says it all."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        one = p.chat(tools=[CARD_TOOL] if style == "card" else [])
        asked = await one.say("refund A1")
        two = tab(one)
        for chat in (one, two):
            done = await chat.decide(asked, {"accepted": True, **YES} if style == "interrupt" else ACCEPT)
            assert notices(done) == []
            told = [m["content"] for m in chat.messages if m.get("toolCallId") == call_of(asked)]
            assert told == ['{"refunded":20.0,"order":"A1"}']
        assert shop.refunds == [("A1", 20)]


async def test_what_was_closed_without_a_decision_is_told_as_it_is() -> None:
    shop = Shop()
    async with product(shop.tools, [{"output": [refund()]}, {"output": [say("Well.")], "repeat": True}]) as p:
        one = p.chat(tools=[CARD_TOOL])
        asked = await one.say("refund A1")
        two = tab(one)
        await one.say("never mind")
        late = await two.answer((card_of(asked), ACCEPT))
        (notice,) = notices(late)
        assert notice["message"].startswith("This was closed at ")
        assert (notice["record"]["state"], notice["record"]["decision"]) == ("superseded", None)
        assert shop.refunds == []
