"""Any subset of answers, in any order, whatever is said between: nobody is ever locked out; the three policies."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.product.kit import CARD_TOOL, MODES, Chat, Product, Stream, product
from tests.product.shop import Shop, outputs, refund, script, status, users
from tests.requirements import shows
from tests.support.chance import examples

pytestmark = pytest.mark.anyio

YES, NO = {"approved": True}, {"approved": False}
ORDERS = ["A1", "A2", "A3", "A4"]
every_mode = pytest.mark.parametrize("mode", MODES)
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])

steps = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(ORDERS), st.sampled_from([YES, NO, {"approved": "maybe"}]), max_size=3),
        st.sampled_from(["resume", "card", "tool", "post", "mixed"]),
    ),
    min_size=1,
    max_size=4,
)


def asked_for(stream: Stream) -> list[str]:
    shown = [a["metadata"]["arguments"] for a in stream.interrupts]
    shown += [card["function_arguments"] for card in stream.cards.values()]
    return sorted(arguments["order_id"] for arguments in shown)


class Answering:
    """One chat with four waiting refunds, and what has to be true of them."""

    def __init__(self, p: Product, chat: Chat) -> None:
        self.p, self.chat = p, chat
        self.decided: dict[str, bool] = {}
        self.cards: dict[str, str] = {}
        self.ids: dict[str, dict[str, Any]] = {}

    async def begin(self, asked: Stream) -> None:
        """Answer what was ``asked``."""
        self.look(asked)
        listed = (await self.p.get("/approvals"))["approvals"]
        self.ids = {a["arguments"]["order_id"]: a for a in listed if a["thread_id"] == self.chat.thread_id}

    def look(self, stream: Stream) -> None:
        self.cards |= {card["function_arguments"]["order_id"]: i for i, card in stream.cards.items()}

    async def step(self, answers: dict[str, Any], path: str) -> Stream:
        entries = []
        for n, (order, answer) in enumerate(answers.items()):
            how = ("resume", "card", "tool", "post")[n % 4] if path == "mixed" else path
            if how == "card" and order not in self.cards:
                how = "resume"
            self.expect(order, answer)
            entries += await self.give(order, answer, how)
        stream = await self.chat.go(resume=entries)
        self.look(stream)
        return stream

    def expect(self, order: str, answer: dict[str, Any]) -> None:
        if isinstance(answer["approved"], bool):
            self.decided.setdefault(order, answer["approved"])

    async def give(self, order: str, answer: dict[str, Any], how: str) -> list[dict[str, Any]]:
        known = self.ids[order]
        if how == "resume":
            return [{"interruptId": known["id"], "status": "resolved", "payload": answer}]
        if how == "post":
            await self.p.decide(known["id"], answer)
            return []
        target = self.cards[order] if how == "card" else known["call_id"]
        held = [m for m in self.chat.messages if m.get("toolCallId") == target]
        if not held:
            message_id = f"{target}-{len(self.chat.messages)}"
            self.chat.messages.append({"id": message_id, "role": "tool", "toolCallId": target, "content": ""})
            held = self.chat.messages[-1:]
        held[0]["content"] = json.dumps(answer)
        return []


@pytest.mark.parametrize("mode", ["stateless", "chain"])
@pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
@shows("B2", "S9", "S10")
async def test_any_subset_in_any_order_and_never_a_lock_out(mode: str, tools: list[dict[str, Any]]) -> None:
    shop = Shop()
    async with product(shop.tools, script(), mode=mode) as p:

        async def play(plan: list[tuple[dict[str, Any], str]]) -> None:
            shop.refunds.clear()
            p.emulator.load(script(*(refund(order, 1) for order in ORDERS)))
            answering = Answering(p, p.chat(tools=tools))
            await answering.begin(await answering.chat.say("refund all"))
            for answers, path in plan:
                stream = await answering.step(answers, path)
                assert stream[-1]["type"] == "RUN_FINISHED"
                waiting = sorted(set(ORDERS) - set(answering.decided))
                assert asked_for(stream) == waiting
                if not waiting:
                    break
            rest = [order for order in ORDERS if order not in answering.decided]
            if rest:
                stream = await answering.step(dict.fromkeys(rest, YES), "resume")
            approved = sorted(order for order, yes in answering.decided.items() if yes)
            assert (stream.text, shop.orders) == ("Done.", approved)
            assert len(outputs(p.inputs()[-1])) == len(ORDERS)
            p.assert_clean()

        await explored(play)


async def explored(play: Any) -> None:
    """Let hypothesis pick the plans; its test function is synchronous, so it collects them first."""
    plans: list[Any] = []

    @examples(12)
    @given(steps)
    def collect(plan: Any) -> None:
        plans.append(plan)

    collect()
    for plan in plans:
        await play(plan)


@every_mode
@styles
@shows("B2", "B12")
async def test_supersede_with_text(mode: str, tools: list[dict[str, Any]]) -> None:
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), mode=mode, on_unanswered="supersede") as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund both")
        done = await chat.say("never mind")
        assert (done.text, asked_for(done), shop.refunds) == ("Done.", [], [])
        assert [status(o) for o in outputs(p.inputs()[-1])] == ["superseded"] * 2
        assert users(p.inputs()[-1])[-1] == "never mind"
        chips = {i for stream in (asked, done) for i in stream.calls}
        assert chips == set(done.results), "every chip has ended, every card too"
        p.assert_clean()


@every_mode
@styles
@shows("B2", "B12")
async def test_represent_keeps_what_was_typed_for_after_the_answers(mode: str, tools: list[dict[str, Any]]) -> None:
    shop = Shop()
    two = script(refund("A1"), refund("A2"))
    async with product(shop.tools, two, mode=mode, on_unanswered="represent") as p:
        chat = p.chat(tools=tools)
        await chat.say("refund both")
        again = await chat.say("quickly")
        assert asked_for(again) == ["A1", "A2"]
        third = await chat.say("please")
        assert asked_for(third) == ["A1", "A2"]
        assert len(p.inputs()) == 1
        answering = Answering(p, chat)
        await answering.begin(third)
        part = await answering.step({"A2": NO}, "card" if tools else "resume")
        assert asked_for(part) == ["A1"]
        answering.look(part)
        done = await answering.step({"A1": YES}, "card" if tools else "resume")
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert users(p.inputs()[-1])[-2:] == ["quickly", "please"]
        first, second = outputs(p.inputs()[-1])
        assert (json.loads(first)["order"], status(second)) == ("A1", "rejected")
        p.assert_clean()


@every_mode
@styles
@shows("B2", "B12")
async def test_refuse_is_the_strict_rule_and_loses_nothing(mode: str, tools: list[dict[str, Any]]) -> None:
    shop = Shop()
    two = script(refund("A1"), refund("A2"))
    async with product(shop.tools, two, mode=mode, on_unanswered="refuse") as p:
        chat = p.chat(tools=tools)
        asked = await chat.say("refund both")
        answering = Answering(p, chat)
        await answering.begin(asked)
        for refused in (await chat.say("quickly"), await answering.step({"A1": YES}, "resume"), await chat.go()):
            assert (refused.status, refused[-1]["error"]["code"]) == (409, "approval_pending")
            assert shop.refunds == []
        assert len((await p.get("/approvals"))["approvals"]) == 2
        done = await answering.step({"A1": YES, "A2": NO}, "card" if tools else "resume")
        assert (done.text, shop.orders) == ("Done.", ["A1"])
        assert users(p.inputs()[-1])[-1] == "quickly"
        p.assert_clean()


@pytest.mark.parametrize("policy", ["supersede", "represent"])
@styles
@shows("B2", "B1")
async def test_with_nothing_new_the_question_is_asked_again(policy: str, tools: list[dict[str, Any]]) -> None:
    """A page that was reloaded and runs its thread again."""
    shop = Shop()
    async with product(shop.tools, script(refund("A1"), refund("A2")), on_unanswered=policy) as p:
        chat = p.chat(tools=tools)
        await chat.say("refund both")
        again = await chat.go()
        assert asked_for(again) == ["A1", "A2"]
        assert len(p.inputs()) == 1
        answering = Answering(p, chat)
        await answering.begin(again)
        done = await answering.step({"A1": YES, "A2": YES}, "card" if tools else "resume")
        assert (done.text, shop.orders) == ("Done.", ["A1", "A2"])
        p.assert_clean()
