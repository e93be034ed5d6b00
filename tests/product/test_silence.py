"""A missing answer is not a decision: what happens to a pending call when a run does not answer it (ADR 0016)."""

import asyncio
import json
from typing import Any

import pytest

from tests.conforming import conforms
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, Chat, Product, Stream, product
from tests.product.shop import Shop, call, outputs, refund, say, script, status, users
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B2", "B12")]

Json = dict[str, Any]
YES, NO = {"approved": True}, {"approved": False}
SYSTEM = {"id": "s1", "role": "system", "content": "Be brief."}
both_dialects = pytest.mark.parametrize("version", [None, "1.0"], ids=["0.x", "1.x"])
every_mode = pytest.mark.parametrize("mode", MODES)
every_style = pytest.mark.parametrize("hitl", ["auto", "interrupt"])


def chat_of(p: Product, version: str | None, **more: Any) -> Chat:
    return p.chat(extra={} if version is None else {"protocolVersion": version}, **more)


def asked(stream: Stream) -> list[str]:
    return [ask["id"] for ask in stream.interrupts]


def notices(stream: Stream) -> list[tuple[str, Json]]:
    return [(event["name"], event["value"]) for event in stream.of("CUSTOM")]


async def states(p: Product, chat: Chat) -> list[str]:
    return [record["state"] for record in (await p.get(f"/threads/{chat.thread_id}"))["calls"]]


def cancelled(*ids: str) -> list[Json]:
    return [{"interruptId": i, "status": "cancelled"} for i in ids]


# --- by style ---------------------------------------------------------------------------------------------------


@conforms("INT-5")
@every_mode
@both_dialects
async def test_an_interrupt_is_asked_again_and_what_was_typed_is_told_after_the_answer(
    mode: str, version: str | None
) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = chat_of(p, version)
        first = await chat.say("refund")
        again = await chat.say("quickly")
        assert (asked(again), again.results, len(p.inputs())) == (asked(first), {}, 1)
        assert await states(p, chat) == ["pending"]
        done = await chat.resume((asked(first)[0], YES))
        assert (done.text, shop.orders, users(p.inputs()[-1])[-1]) == ("Done.", ["A1"], "quickly")
        p.assert_clean()


@both_dialects
@pytest.mark.parametrize("hitl", ["auto", "card"])
async def test_a_card_is_closed_when_the_user_goes_on(hitl: str, version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), hitl=hitl) as p:
        chat = chat_of(p, version, tools=[CARD_TOOL])
        await chat.say("refund")
        assert (await chat.say("never mind")).text == "Done."
        assert await states(p, chat) == ["superseded"]
        assert status(outputs(p.inputs()[-1])[0]) == "superseded"


@conforms("INT-5")
@both_dialects
async def test_the_style_is_that_of_the_question_and_not_of_the_page_that_goes_on(version: str | None) -> None:
    """A page with cards opens a chat that was asked by interrupt: typing there decides nothing."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = chat_of(p, version)
        await chat.say("refund")
        chat.tools = [CARD_TOOL]
        again = await chat.say("and now?")
        (card_id,) = again.cards
        assert await states(p, chat) == ["pending"]
        done = await chat.answer((card_id, YES))
        assert (done.text, shop.orders, users(p.inputs()[-1])[-1]) == ("Done.", ["A1"], "and now?")


@conforms("INT-5")
@both_dialects
async def test_a_page_without_cards_leaves_none_behind(version: str | None) -> None:
    """It is asked by interrupt about what was a card elsewhere, and an interrupt is not left behind."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = chat_of(p, version, tools=[CARD_TOOL])
        await chat.say("refund")
        chat.tools = []
        (ask,) = asked(await chat.say("hello?"))
        assert await states(p, chat) == ["pending"]
        assert (await chat.resume((ask, NO))).text == "Done."
        assert await states(p, chat) == ["rejected"]


@both_dialects
@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
async def test_a_named_policy_is_for_every_style(tools: list[Json], version: str | None) -> None:
    for policy, state in (("supersede", "superseded"), ("represent", "pending")):
        shop = Shop()
        async with product(shop.tools, script(refund()), on_unanswered=policy) as p:
            chat = chat_of(p, version, tools=tools)
            await chat.say("refund")
            await chat.say("never mind")
            assert await states(p, chat) == [state]


@conforms("INT-5", "INT-6")
@every_mode
@both_dialects
async def test_some_answered_beside_a_message(mode: str, version: str | None) -> None:
    """What is answered is done, the rest stays open, and the message waits for it."""
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2"), refund("A3")), mode=mode) as p:
        chat = chat_of(p, version)
        one, two, three = asked(await chat.say("refund all"))
        entry = {"interruptId": one, "status": "resolved", "payload": YES}
        part = await chat.say("and hurry", resume=[entry, *cancelled(two)])
        assert (asked(part), shop.orders, len(p.inputs())) == ([three], ["A1"], 1)
        done = await chat.resume((three, NO))
        assert (done.text, users(p.inputs()[-1])[-1]) == ("Done.", "and hurry")
        assert await states(p, chat) == ["done", "cancelled", "rejected"]
        p.assert_clean()


@conforms("INT-6")
@both_dialects
async def test_what_is_cancelled_with_a_message_is_left_behind(version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2"))) as p:
        chat = chat_of(p, version)
        ids = asked(await chat.say("refund both"))
        done = await chat.say("never mind", resume=cancelled(*ids))
        assert (done.text, users(p.inputs()[-1])[-1]) == ("Done.", "never mind")
        assert [status(output) for output in outputs(p.inputs()[-1])] == ["cancelled"] * 2
        assert await states(p, chat) == ["cancelled"] * 2


@conforms("INT-5")
@every_style
@both_dialects
@pytest.mark.parametrize("role", ["system", "developer"])
async def test_a_system_message_is_no_going_on(role: str, hitl: str, version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), hitl=hitl) as p:
        chat = chat_of(p, version)
        first = await chat.say("refund")
        chat.messages.append({**SYSTEM, "role": role})
        assert asked(await chat.go()) == asked(first)
        assert (await chat.resume((asked(first)[0], YES))).text == "Done."


@both_dialects
async def test_a_system_message_closes_no_card(version: str | None) -> None:
    async with product(Shop().tools, script(refund())) as p:
        chat = chat_of(p, version, tools=[CARD_TOOL])
        await chat.say("refund")
        chat.messages.append(SYSTEM)
        assert len((await chat.go()).cards) == 1
        assert await states(p, chat) == ["pending"]


# --- going back -------------------------------------------------------------------------------------------------


@conforms("INT-5")
@every_mode
@both_dialects
@pytest.mark.parametrize("policy", [None, "represent"])
async def test_another_answer_is_not_given_over_an_open_interrupt(
    policy: str | None, mode: str, version: str | None
) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode, on_unanswered=policy) as p:
        chat = chat_of(p, version)
        first = await chat.say("refund")
        whole = json.loads(json.dumps(chat.messages))
        chat.messages = chat.messages[:1]
        again = await chat.go()
        ((name, said),) = notices(again)
        assert (name, said["approvalIds"]) == ("agui-gate:branch_refused", asked(first))
        assert (asked(again), len(p.inputs())) == (asked(first), 1)
        assert [m["id"] for m in chat.messages] == [m["id"] for m in whole], "the page shows what stands"
        done = await chat.resume((asked(first)[0], YES))
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        p.assert_clean()


@conforms("INT-5")
@every_mode
@both_dialects
async def test_other_words_for_an_old_message_are_told_after_the_answer(mode: str, version: str | None) -> None:
    """The call that waits was made for the old words, so the model is told both. The page shows the new ones."""
    shop = Shop()
    async with product(shop.tools, script(refund()), mode=mode) as p:
        chat = chat_of(p, version)
        first = await chat.say("refund A1")
        for text, told in (("refund A0", ["agui-gate:branch_refused"]), ("refund A2", []), ("refund A2", [])):
            chat.messages = [{**chat.messages[0], "content": text}]
            again = await chat.go()
            assert (asked(again), [name for name, _ in notices(again)]) == (asked(first), told)
            shown = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
            assert [(m["role"], m.get("content")) for m in shown] == [("user", text), ("assistant", None)]
        done = await chat.resume((asked(first)[0], NO))
        assert (done.text, shop.orders) == ("Done.", [])
        told_of_it = users(p.inputs()[-1])
        assert (told_of_it[-1], "refund A0" in told_of_it) == ("refund A2", False)
        assert [m["content"] for m in chat.messages if m["role"] == "user"] == ["refund A2"]
        assert (await chat.say("thanks")).text == "Done."
        p.assert_clean()


@conforms("INT-6")
@every_mode
@both_dialects
@pytest.mark.parametrize("text", ["refund", "refund A2"], ids=["again", "edited"])
async def test_going_back_is_done_where_what_waits_is_cancelled(text: str, mode: str, version: str | None) -> None:
    """As our pages send it: the history up to there, and an entry for each open interrupt."""
    shop = Shop()
    turns = [{"output": [refund("A1"), refund("A3")]}, {"output": [say("Better not.")], "repeat": True}]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = chat_of(p, version)
        ids = asked(await chat.say("refund"))
        chat.messages = [{**chat.messages[0], "content": text}]
        done = await chat.go(resume=cancelled(*ids))
        assert (done.text, done.results, users(p.inputs()[-1])[-1]) == ("Better not.", {}, text)
        assert await states(p, chat) == ["cancelled"] * 2
        assert [m["content"] for m in chat.messages] == [text, "Better not."]
        p.assert_clean()


@conforms("INT-5")
async def test_going_back_is_not_done_where_only_some_are_cancelled() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2"))) as p:
        chat = p.chat()
        one, two = asked(await chat.say("refund"))
        chat.messages = chat.messages[:1]
        again = await chat.go(resume=cancelled(one))
        assert (asked(again), await states(p, chat)) == ([two], ["cancelled", "pending"])
        assert (await chat.resume((two, YES))).text == "Done."
        assert shop.orders == ["A2"]


@conforms("INT-5")
async def test_what_was_typed_meanwhile_may_be_changed() -> None:
    """Going back to it drops no question."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat()
        first = await chat.say("refund")
        await chat.say("quick")
        place = next(i for i, m in enumerate(chat.messages) if m.get("content") == "quick")
        chat.messages = [*chat.messages[:place], {**chat.messages[place], "content": "quickly"}]
        again = await chat.go()
        assert (asked(again), notices(again)) == (asked(first), [])
        await chat.resume((asked(first)[0], YES))
        assert users(p.inputs()[-1])[-1] == "quickly"
        p.assert_clean()


@both_dialects
async def test_a_card_in_the_way_is_closed_by_going_back(version: str | None) -> None:
    turns = [{"output": [refund()]}, {"output": [say("Better not.")], "repeat": True}]
    async with product(Shop().tools, turns) as p:
        chat = chat_of(p, version, tools=[CARD_TOOL])
        await chat.say("refund")
        chat.messages = chat.messages[:1]
        assert (await chat.go()).text == "Better not."
        assert await states(p, chat) == ["superseded"]


# --- answers to nothing -----------------------------------------------------------------------------------------

FOREIGN = {"interruptId": "int_elsewhere", "status": "resolved", "payload": YES}


def told_of(stream: Stream) -> list[str]:
    ((name, said),) = notices(stream)
    assert name == "agui-gate:answer_unknown"
    ids: list[str] = said["ids"]
    return ids


@conforms("INT-4")
@both_dialects
@pytest.mark.parametrize("known", [True, False])
async def test_an_answer_to_nothing_ends_well_and_runs_nothing(known: bool, version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(say("Hello."))) as p:
        chat = chat_of(p, version)
        if known:
            await chat.say("hello")
        stream = await chat.go(resume=[FOREIGN])
        assert told_of(stream) == ["int_elsewhere"]
        assert (stream[-1]["type"], stream[-1].get("outcome"), stream.text) == ("RUN_FINISHED", None, "")
        assert (len(p.inputs()), shop.refunds) == (known, [])
        assert (await chat.say("still there?")).error is None


@conforms("INT-4")
@both_dialects
async def test_an_answer_to_nothing_beside_a_message_is_left_aside(version: str | None) -> None:
    async with product([], script(say("Hello."))) as p:
        for _ in ("an unknown thread", "a known one"):
            chat = chat_of(p, version)
            stream = await chat.say("hello", resume=[FOREIGN])
            assert (told_of(stream), stream.error) == (["int_elsewhere"], None)
            stream = await chat.say("and now?", resume=[FOREIGN, FOREIGN])
            assert (told_of(stream), stream.text) == (["int_elsewhere"], "Done.")


@conforms("INT-4")
@both_dialects
async def test_an_answer_to_nothing_beside_a_good_one_is_left_aside(version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = chat_of(p, version)
        (ask,) = asked(await chat.say("refund"))
        done = await chat.resume((ask, YES), ("int_elsewhere", YES))
        assert (told_of(done), done.text, shop.orders) == (["int_elsewhere"], "Done.", ["A1"])


@conforms("INT-4", "INT-5")
@both_dialects
async def test_an_answer_to_nothing_leaves_open_what_is_open(version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = chat_of(p, version)
        first = await chat.say("refund")
        again = await chat.go(resume=[FOREIGN])
        assert (told_of(again), asked(again), shop.refunds) == (["int_elsewhere"], asked(first), [])


async def test_what_is_told_of_answers_to_nothing_is_bounded() -> None:
    async with product([], script(say("Hello."))) as p:
        entries = [{**FOREIGN, "interruptId": f"{n}" * 250} for n in range(50)]
        assert [len(name) for name in told_of(await p.chat().go(resume=entries))] == [200] * 20


# --- a crash in between -----------------------------------------------------------------------------------------


async def test_it_is_still_asked_after_a_restart(tmp_path: Any) -> None:
    """What was typed is kept with it."""
    store = f"sqlite:///{tmp_path / 'house.db'}"
    shop = Shop()
    turns = [{"output": [call("refund", order_id="A1", amount=1)]}]
    async with product(shop.tools, turns, store=store) as p:
        chat = p.chat()
        first = await chat.say("refund")
        await chat.say("quickly")
        messages, thread_id = chat.messages, chat.thread_id
    async with product(shop.tools, [{"output": [say("Done.")], "repeat": True}], store=store) as p:
        chat = p.chat(thread_id=thread_id, messages=messages)
        assert asked(await chat.say("are you there?")) == asked(first)
        done = await chat.resume((asked(first)[0], YES))
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert users(p.inputs()[-1])[-2:] == ["quickly", "are you there?"]


# --- refused ----------------------------------------------------------------------------------------------------


@conforms("INT-5")
@both_dialects
@pytest.mark.parametrize("path", ["/", "/agents/support", "/copilotkit/agent/support/run"])
async def test_a_refused_run_is_an_http_error_and_changes_nothing(path: str, version: str | None) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), on_unanswered="refuse") as p:
        chat = chat_of(p, version, path=path)
        one, two = asked(await chat.say("refund both"))
        before = await p.get(f"/threads/{chat.thread_id}")
        messages = list(chat.messages)
        entry = {"interruptId": one, "status": "resolved", "payload": YES}
        typed, part, nothing, system = (
            await chat.say("quickly"),
            await chat.go(resume=[entry]),
            await chat.go(resume=[FOREIGN]),
            await chat.go(messages=[*messages, SYSTEM]),
        )
        back = await chat.go(messages=messages[:1])
        for refused in (typed, part, nothing, system, back):
            assert (refused.status, refused[-1]["error"]["code"]) == (409, "approval_pending")
        assert await p.get(f"/threads/{chat.thread_id}") == before, "its run key, too"
        done = await chat.resume((one, YES), (two, NO))
        assert (done.text, shop.orders, users(p.inputs()[-1])[-1]) == ("Done.", ["A1"], "quickly")
        p.assert_clean()


@conforms("INT-5")
async def test_it_is_looked_at_again_under_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something may have been asked since it was looked at first."""

    async def too_early(*args: object) -> None:
        """Nothing waited then."""

    monkeypatch.setattr("agui_gate.approvals.run_refusal.refuse_early", too_early)
    shop = Shop()
    async with product(shop.tools, script(refund()), on_unanswered="refuse") as p:
        chat = p.chat()
        (ask,) = asked(await chat.say("refund"))
        refused = await chat.say("quickly")
        assert (refused.status, refused[-1]["error"]["code"]) == (409, "approval_pending")
        assert (await p.get(f"/threads/{chat.thread_id}"))["run"]["status"] == "waiting", "the lease went back"
        assert (await chat.resume((ask, YES))).text == "Done."


async def test_what_has_expired_refuses_nothing() -> None:
    shop = Shop(expires_after=0.01)
    async with product(shop.tools, script(refund()), on_unanswered="refuse") as p:
        chat = p.chat()
        await chat.say("refund")
        async with asyncio.timeout(TIMEOUT):
            while await states(p, chat) == ["pending"]:
                pass
        assert (await chat.say("and now?")).text == "Done."
