"""After a backup was restored: what waited is asked again, and no answer to the old question is carried out."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.extras.inbox import feed as inbox
from agui_gate.stores.memory import MemoryStore
from tests.product.kit import CARD_TOOL, Chat, Product, Stream, product
from tests.product.live import connect
from tests.product.shop import SEARCH, Shop, call, outputs, refund, say, script, status
from tests.product.test_approval_events import watching
from tests.product.test_subagents import BOSS, CLERK, TASK, Office, by, requests
from tests.requirements import shows
from tests.stores.trails import kinds

pytestmark = [pytest.mark.anyio, shows("K2")]

YES = {"approved": True}


async def pending(p: Product) -> dict[str, Any]:
    """The one record that waits."""
    (found,) = (await p.get("/approvals"))["approvals"]
    assert isinstance(found, dict)
    return found


def call_id(asked: Stream) -> str:
    return next(i for i, name in asked.calls.items() if name == "refund")


async def by_card(chat: Chat, asked: Stream, old: str) -> Stream:
    return await chat.answer((next(iter(asked.cards)), {"accepted": True}))


async def by_tool_message(chat: Chat, asked: Stream, old: str) -> Stream:
    return await chat.answer((call_id(asked), YES))


async def by_resume(chat: Chat, asked: Stream, old: str) -> Stream:
    return await chat.resume((old, YES))


async def by_resume_of_the_call(chat: Chat, asked: Stream, old: str) -> Stream:
    return await chat.resume((call_id(asked), YES))


async def by_command(chat: Chat, asked: Stream, old: str) -> Stream:
    return await chat.go(forwardedProps={"command": {"resume": YES, "interruptEvent": {"id": old}}})


async def by_user_message(chat: Chat, asked: Stream, old: str) -> Stream:
    item = {
        "id": old,
        "call_id": call_id(asked),
        "name": "refund",
        "arguments": {"order_id": "A1", "amount": 20},
        **YES,
    }
    chat.messages.append({"id": "u9", "role": "user", "content": "Yes.", "function_approvals": [item]})
    return await chat.go()


Path = Callable[[Chat, Stream, str], Awaitable[Stream]]
PATHS: dict[str, Path] = {
    "card": by_card,
    "tool message": by_tool_message,
    "resume": by_resume,
    "resume of the call": by_resume_of_the_call,
    "command": by_command,
    "user message": by_user_message,
}


@pytest.mark.parametrize("v1", [False, True])
@pytest.mark.parametrize("path", PATHS)
async def test_no_answer_of_before_is_carried_out_and_the_new_question_is(path: str, v1: bool) -> None:
    shop, store = Shop(), MemoryStore()
    extra = {"protocolVersion": "1.0"} if v1 else {}
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat(tools=[CARD_TOOL] if path == "card" else [], extra=extra)
        asked = await chat.say("refund A1")
        before = await pending(p)
        old = before["id"]
        epoch = await store.begin_epoch()
        assert (epoch.asked_again, epoch.settled) == (1, 0)
        again = await PATHS[path](chat, asked, old)
        assert shop.refunds == []
        (refused,) = (e["value"] for e in again if e.get("name") == "agui-gate:answer_refused")
        assert "backup" in refused["message"]
        waits = await pending(p)
        assert (waits["restored"], waits["call_id"]) == (True, before["call_id"])
        assert waits["id"] != old
        assert (
            waits["message"]
            == "Run refund? (From a restored backup: it may have been answered before, and may have run then.)"
        )
        if path == "card":
            done = await chat.answer((next(iter(again.cards)), {"accepted": True}))
        else:
            (interrupt,) = again.interrupts
            assert (interrupt["id"], interrupt["metadata"]["restored"]) == (waits["id"], True)
            assert "backup" in interrupt["message"]
            done = await chat.resume((waits["id"], YES))
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert (await chat.say("and?")).interrupts == []
        assert shop.orders == ["A1"]
        p.assert_clean()


async def test_out_of_band_the_old_question_is_refused_with_the_new_one() -> None:
    shop, store = Shop(), MemoryStore()
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        await chat.say("refund A1")
        old = (await pending(p))["id"]
        await store.begin_epoch()
        new = (await pending(p))["id"]
        for answer in (YES, {"approved": False}):
            refused = await p.decide(old, answer)
            assert (refused["status_code"], refused["error"]["code"]) == (409, "approval_refused")
            assert "asked again" in refused["error"]["message"]
            assert (refused["error"]["record"]["id"], refused["error"]["record"]["state"]) == (new, "pending")
        assert shop.refunds == []
        assert await kinds(store, new) == ["asked", "refused", "refused"]
        assert (await p.get(f"/approvals/{old}"))["id"] == new
        assert (await p.decide(new, YES))["state"] == "done"
        late = await p.decide(old, YES)
        assert (late["status_code"], late["state"], shop.orders) == (409, "done", ["A1"])
        assert (await chat.say("and?")).text == "Done."
        p.assert_clean()


async def test_a_stream_that_stayed_open_is_told_that_the_old_question_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 0.05)
    store = MemoryStore()
    async with product(Shop().tools, script(refund()), store=store) as p:
        await p.chat().say("refund A1")
        async with watching(p) as seen:
            _, old = await seen.next()
            assert await seen.next() == ("waiting", {"ids": [old["id"]]})
            await store.begin_epoch()
            told = [await seen.next(), await seen.next()]
            assert [name for name, _ in told] == ["approval", "gone"]
            assert (told[0][1]["restored"], told[1][1]) == (True, {"id": old["id"]})
            await p.decide(told[0][1]["id"], {"approved": False})
            name, rejected = await seen.next()
            assert (name, rejected["id"], rejected["state"]) == ("approval", told[0][1]["id"], "rejected")


async def test_a_second_restore_asks_once_more() -> None:
    shop, store = Shop(), MemoryStore()
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        await chat.say("refund A1")
        old = (await pending(p))["id"]
        await store.begin_epoch()
        first = (await pending(p))["id"]
        await store.begin_epoch()
        second = (await pending(p))["id"]
        assert len({old, first, second}) == 3
        assert (await p.decide(old, YES))["status_code"] == 409
        assert (await p.decide(first, YES))["status_code"] == 404
        again = await chat.resume((first, YES))
        assert [i["id"] for i in again.interrupts] == [second]
        assert shop.refunds == []
        assert (await chat.resume((second, YES))).text == "Done."
        assert shop.orders == ["A1"]


@pytest.mark.parametrize("cards", [True, False])
async def test_a_page_that_connects_shows_the_new_question_only(cards: bool) -> None:
    store = MemoryStore()
    async with product(Shop().tools, script(refund()), store=store) as p:
        chat = p.chat(tools=[CARD_TOOL] if cards else [])
        await chat.say("refund A1")
        await store.begin_epoch()
        shown = await connect(p, chat)
        (interrupt,) = shown.interrupts
        assert interrupt["id"] == (await pending(p))["id"]


async def test_going_on_without_an_answer_supersedes_it_as_ever() -> None:
    store, shop = MemoryStore(), Shop()
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        await store.begin_epoch()
        after = await chat.say("never mind")
        assert status(after.results[call_id(asked)]) == "superseded"
        assert (after.text, shop.refunds) == ("Done.", [])
        p.assert_clean()


@pytest.mark.parametrize("mode", ["chain", "conversation"])
async def test_what_was_claimed_is_unknown_also_where_its_tool_is_idempotent(mode: str) -> None:
    shop, store = Shop(), MemoryStore()
    async with product(shop.tools, script(call("ship", order_id="A1")), store=store, mode=mode) as p:
        chat = p.chat()
        await chat.say("ship A1")
        await store.move((await pending(p))["id"], State.CLAIMED, decision=Decision(True, "local", way="http"))
        epoch = await store.begin_epoch()
        assert (epoch.asked_again, epoch.settled) == (0, 1)
        after = await chat.say("and?")
        assert (after.text, shop.shipped) == ("Done.", [])
        (told,) = outputs(p.inputs()[-1])
        assert status(told) == "unknown"
        assert "backup" in told
        p.assert_clean()


@pytest.mark.parametrize("cards", [False, True])
@pytest.mark.parametrize("begun", [False, True])
async def test_a_yes_to_a_task_of_before_begins_nothing(begun: bool, cards: bool) -> None:
    """What had begun of it in the backup goes on: it is the same beginning."""
    store = MemoryStore()
    turns = [by(CLERK, refund()), by(CLERK, say("Refunded."))] if begun else [by(CLERK, SEARCH)]
    office = Office(by(BOSS, TASK), *turns, by(BOSS, say("Done."), repeat=True), store=store)
    office.gates = {"clerk": True}
    async with office.server(hitl="card" if cards else "interrupt") as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        task = (await pending(p))["id"]
        assert (await p.decide(task, YES))["state"] == "done"
        if begun:
            await chat.go()
        await store.begin_epoch()
        record = await p.get(f"/approvals/{task}")
        assert (record["state"], "restored" in record) == ("done", False)
        after = await chat.go()
        closed = [name for name in after.results if name in asked.cards]
        assert len(closed) == (cards and not begun), "its card, once"
        if begun:
            assert (await chat.decide(after, approved=True)).text == "Refunded.Done."
            assert office.clerk.orders == ["A1"]
        else:
            (told,) = outputs(requests(p, BOSS)[-1])
            assert (after.text, status(told), requests(p, CLERK)) == ("Done.", "unknown", [])
            assert "backup" in told
        p.assert_clean()
