"""The heart of it: gated calls, shown in both styles, answered one by one, together, and again; in all three modes."""

import json

import pytest

from agui_gate.config.settings import Settings
from tests.product.kit import CARD_TOOL, MODES, Chat, Stream, product
from tests.product.live import connect
from tests.product.shop import SEARCH, Shop, call, calls, outputs, refund, say, script, status, users
from tests.requirements import shows

V1 = {"protocolVersion": "1.0"}
pytestmark = pytest.mark.anyio
every_mode = pytest.mark.parametrize("mode", MODES)

YES, NO = {"approved": True}, {"approved": False}
THREE = [refund("A1", 1), refund("A2", 2), refund("A3", 3)]


def card_ids(stream: Stream) -> dict[str, str]:
    """The card's call id by the order that it asks about."""
    return {card["function_arguments"]["order_id"]: card_id for card_id, card in stream.cards.items()}


def interrupt_ids(stream: Stream) -> dict[str, str]:
    """The interrupt's id by the order that it asks about."""
    return {ask["metadata"]["arguments"]["order_id"]: ask["id"] for ask in stream.interrupts}


async def decide(chat: Chat, asked: Stream, **answers: object) -> Stream:
    """Answer in the style in which it was asked, by order."""
    if asked.interrupts:
        ids = interrupt_ids(asked)
        return await chat.resume(*((ids[order], answer) for order, answer in answers.items()))
    ids = card_ids(asked)
    return await chat.answer(*((ids[order], answer) for order, answer in answers.items()))


styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])


@every_mode
@shows("S1", "S9", "S12", "B13")
async def test_an_interrupt_is_approved(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(say("One moment."), refund()), mode=mode) as p:
        chat = p.chat()
        first = await chat.say("refund A1")
        assert (first[0]["type"], first[0]["threadId"]) == ("RUN_STARTED", chat.thread_id)
        assert first.text == "One moment."
        (ask,) = first.interrupts
        assert ask["reason"] == "tool_call"
        assert ask["metadata"]["arguments"] == {"order_id": "A1", "amount": 20}
        assert shop.refunds == []
        second = await chat.resume((ask["id"], YES))
        assert json.loads(second.results[ask["toolCallId"]]) == {"refunded": 20.0, "order": "A1"}
        assert second.text == "Done."
        assert shop.call_ids == [ask["toolCallId"]]
        again = await chat.resume((ask["id"], YES))
        assert again[-1]["type"] == "RUN_FINISHED"
        assert again.text == ""
        assert len(shop.refunds) == 1
        third = await chat.say("thanks")
        assert third.text == "Done."
        p.assert_clean()


@every_mode
@shows("S1", "B8", "B4")
async def test_a_card_is_approved(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), SEARCH), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL])
        first = await chat.say("refund A1")
        ((card_id, card),) = first.cards.items()
        assert card["function_name"] == "refund"
        assert card["function_arguments"] == {"order_id": "A1", "amount": 20}
        assert card["steps"] == [{"description": "Execute refund", "status": "enabled"}]
        assert first.interrupts == []
        assert shop.searches == ["ada"], "a free sibling does not wait for a person"
        second = await chat.answer((card_id, {"accepted": True}))
        assert json.loads(second.results[card["function_call_id"]])["refunded"] == 20.0
        assert second.text == "Done."
        assert len(shop.refunds) == 1
        await chat.say("thanks")
        assert "confirm_changes" not in json.dumps(p.inputs())
        p.assert_clean()


@every_mode
@styles
@shows("S9", "S10")
async def test_a_rejected_call_gets_an_output_that_says_so(mode: str, tools: list[dict]) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund A1")
        done = await decide(chat, asked, A1={"approved": False, "reason": "too much"})
        (content,) = [c for i, c in done.results.items() if i not in asked.cards]
        assert (status(content), json.loads(content)["reason"]) == ("rejected", "too much")
        assert outputs(p.inputs()[-1]) == [content]
        assert done.text == "Done."
        assert shop.refunds == []
        p.assert_clean()


@every_mode
@styles
@shows("B2", "B8")
async def test_approve_all_with_two_calls(mode: str, tools: list[dict]) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund both")
        done = await decide(chat, asked, A1=YES, A2=YES)
        assert (shop.orders, done.text) == (["A1", "A2"], "Done.")
        assert [json.loads(o)["order"] for o in outputs(p.inputs()[-1])] == ["A1", "A2"]
        await chat.say("thanks")
        assert shop.orders == ["A1", "A2"]
        assert "confirm_changes" not in json.dumps(p.inputs())
        p.assert_clean()


@every_mode
@styles
@shows("B2", "S9")
async def test_a_mixed_batch(mode: str, tools: list[dict]) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), mode=mode) as p:
        chat = p.chat(tools=tools)
        done = await decide(chat, await chat.say("refund both"), A1=NO, A2=YES)
        assert (shop.orders, done.text) == (["A2"], "Done.")
        first, second = outputs(p.inputs()[-1])
        assert (status(first), json.loads(second)["order"]) == ("rejected", "A2")
        p.assert_clean()


@every_mode
@styles
@shows("B3", "B12")
async def test_one_approved_one_rejected_one_ignored_and_something_said(mode: str, tools: list[dict]) -> None:
    shop = Shop()
    async with product(shop.tools, script(*THREE), mode=mode, on_unanswered="supersede") as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund all")
        entries = []
        if asked.interrupts:
            ids = interrupt_ids(asked)
            entries = [
                {"interruptId": ids["A1"], "status": "resolved", "payload": YES},
                {"interruptId": ids["A2"], "status": "resolved", "payload": NO},
            ]
        else:
            ids = card_ids(asked)
            chat.messages += [
                {"id": f"answer-{ids[order]}", "role": "tool", "toolCallId": ids[order], "content": json.dumps(answer)}
                for order, answer in (("A1", YES), ("A2", NO))
            ]
        done = await chat.say("and what is the weather?", resume=entries)
        assert shop.orders == ["A1"]
        body = p.inputs()[-1]
        first, second, third = outputs(body)
        assert (json.loads(first)["order"], status(second), status(third)) == ("A1", "rejected", "superseded")
        assert users(body)[-1] == "and what is the weather?"
        assert done.text == "Done."
        assert done.interrupts == []
        snapshot = await p.get(f"/threads/{chat.thread_id}")
        assert snapshot["approvals"] == []
        p.assert_clean()


@every_mode
@shows("S10", "B3", "B12")
async def test_an_ignored_card_ends_when_something_else_is_said(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        ((card_id, card),) = asked.cards.items()
        done = await chat.say("never mind")
        assert status(done.results[card["function_call_id"]]) == "superseded"
        assert status(done.results[card_id]) == "superseded"
        assert users(p.inputs()[-1])[-1] == "never mind"
        late = await chat.answer((card_id, YES))
        assert shop.refunds == []
        assert late[-1]["type"] == "RUN_FINISHED"
        p.assert_clean()


@every_mode
@shows("B2")
async def test_cards_are_shown_again_while_one_is_open(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), mode=mode) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund both")
        ids = card_ids(asked)
        part = await chat.answer((ids["A1"], YES))
        assert shop.orders == ["A1"]
        assert list(card_ids(part)) == ["A2"]
        assert status(part.results[ids["A2"]]) == "replaced"
        assert len(p.inputs()) == 1, "the model is not asked while somebody has to answer"
        done = await chat.answer((card_ids(part)["A2"], YES))
        assert (shop.orders, done.text) == (["A1", "A2"], "Done.")
        p.assert_clean()


@every_mode
@styles
@shows("B10", "S1")
async def test_an_answer_repeated_after_the_provider_failed_uses_the_stored_result(
    mode: str, tools: list[dict]
) -> None:
    shop = Shop()
    down = {"fault": {"kind": "status", "status": 503, "times": 5}, "output": [say("Done.")]}
    async with product(shop.tools, [{"output": [refund()]}, down], mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund A1")
        failed = await decide(chat, asked, A1=YES)
        assert failed[-1] | {"message": ""} == {
            "type": "RUN_ERROR",
            "code": "provider_unavailable",
            "message": "",
        }
        assert shop.orders == ["A1"]
        p.emulator.load([{"output": [say("Refunded.")], "repeat": True}])
        again = await chat.resume((asked.interrupts[0]["id"], YES)) if asked.interrupts else await chat.go()
        assert again.text == "Refunded."
        assert shop.orders == ["A1"]
        assert [json.loads(o)["order"] for o in outputs(p.inputs()[-1])] == ["A1"]
        p.assert_clean()


@every_mode
@styles
@shows("S24", "B2")
async def test_one_id_twice_in_one_turn_is_two_calls(mode: str, tools: list[dict]) -> None:
    shop = Shop()
    twice = [call("refund", "call_same", order_id=o, amount=1) for o in ("A1", "A2")]
    async with product(shop.tools, script(*twice), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund both")
        assert len(set(asked.calls)) == len(asked.of("TOOL_CALL_START"))
        done = await decide(chat, asked, A1=NO, A2=YES)
        assert (shop.orders, done.text) == (["A2"], "Done.")
        p.assert_clean()


@every_mode
@shows("S24", "S28")
async def test_the_same_id_in_a_later_turn_is_another_call(mode: str) -> None:
    shop = Shop()
    turns = [
        {"output": [call("refund", "call_same", order_id="A1", amount=1)]},
        {"output": [say("Done.")]},
        {"output": [call("refund", "call_same", order_id="A2", amount=1)]},
        {"output": [say("Done again.")], "repeat": True},
    ]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        await decide(chat, asked, A1=YES)
        other = await chat.say("refund A2")
        assert not set(asked.calls) & set(other.calls)
        await chat.resume((asked.interrupts[0]["id"], YES))
        assert shop.orders == ["A1"], "the first approval is no approval of the second call"
        done = await decide(chat, other, A2=NO)
        assert (shop.orders, done.text) == (["A1"], "Done again.")
        p.assert_clean()


@every_mode
@styles
@shows("B11")
async def test_only_some_calls_are_gated(mode: str, tools: list[dict]) -> None:
    shop = Shop(when=lambda arguments: arguments["amount"] > 10)
    async with product(shop.tools, script(refund("A1", 5), refund("A2", 50)), mode=mode) as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund both")
        assert shop.orders == ["A1"]
        done = await decide(chat, asked, A2=YES)
        assert (shop.orders, done.text) == (["A1", "A2"], "Done.")
        assert calls(p.inputs()[-1]) == (
            [("refund", {"order_id": "A1", "amount": 5}), ("refund", {"order_id": "A2", "amount": 50})]
            if mode == "stateless"
            else []
        )
        p.assert_clean()


@pytest.mark.parametrize("when", [lambda _: None, lambda _: 1 / 0, lambda _: "no"])
@shows("S9")
async def test_a_predicate_that_says_anything_but_false_gates(when: object) -> None:
    shop = Shop(when=when)
    async with product(shop.tools, script(refund())) as p:
        assert len((await p.chat().say("refund A1")).interrupts) == 1
        assert shop.refunds == []


@shows("B1")
async def test_the_question_is_the_gates() -> None:
    shop = Shop(message="Refund {amount} for {order_id}? {no place}", expires_after=60)
    async with product(shop.tools, script(refund())) as p:
        (ask,) = (await p.chat().say("refund A1")).interrupts
        assert ask["message"] == "Refund 20 for A1? {no place}"
        assert "expiresAt" not in ask, "old clients can't get past an interrupt that has expired"
        card_chat = p.chat(tools=[CARD_TOOL])
        p.emulator.load(script(refund()))
        (card,) = (await card_chat.say("refund A1")).cards.values()
        assert card["steps"][0]["description"] == "Refund 20 for A1? {no place}"
        assert set(card) >= {"expires_at"}
        listed = (await p.get("/approvals"))["approvals"]
        assert [a["message"] for a in listed] == ["Refund 20 for A1? {no place}"] * 2
        assert [a["expires_at"] > a["asked_at"] for a in listed] == [True, True]


@shows("B1")
@pytest.mark.parametrize("dialect", ["auto", "1.0"])
async def test_an_interrupt_says_when_it_expires_where_the_operator_says_that_clients_take_it(dialect: str) -> None:
    async with product(Shop(expires_after=60).tools, script(refund()), settings=Settings(dialect=dialect)) as p:
        chat = p.chat(extra=V1)
        (ask,) = (await chat.say("refund A1")).interrupts
        wanted = ask["metadata"]["expires_at"] if dialect == "1.0" else None
        assert ask.get("expiresAt") == wanted
        (again,) = (await connect(p, chat, runId="back")).interrupts
        assert again.get("expiresAt") == wanted


@shows("B28")
async def test_what_a_model_wrote_into_one_argument_pulls_no_other_into_the_question() -> None:
    shop = Shop(message="Refund {amount} for {order_id}?")
    async with product(shop.tools, script(refund(order_id="{amount}", amount=20))) as p:
        asked = await p.chat().say("refund")
        assert asked.interrupts[0]["message"] == "Refund 20 for {amount}?"
    async with product(shop.tools, script(refund(order_id="A1 {order_id}", amount=20))) as p:
        asked = await p.chat().say("refund")
        assert asked.interrupts[0]["message"] == "Refund 20 for A1 {order_id}?"
