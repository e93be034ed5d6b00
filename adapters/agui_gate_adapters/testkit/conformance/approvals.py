"""Gated calls: shown, answered in every way, never run twice, and the provider never hears of the asking."""

import json
from pathlib import Path

import pytest

from agui_gate_adapters.testkit.agui import CARD_TOOL, AGUIClient, Stream
from agui_gate_adapters.testkit.conformance.ground import (
    NO,
    YES,
    Shop,
    Suite,
    refund,
    say,
    script,
    search,
    status,
    think,
    turn,
)

styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
SEVEN = (search("a"), refund("A1"), search("b"), refund("A2"), search("c"), refund("A3"), search("d"))


class Approvals(Suite):
    """What a person decides is what the model hears."""

    @styles
    async def test_approve(self, tools: list[dict[str, object]]) -> None:
        """S1, S12, B8: the tool runs once, its output is sent, a repeated answer changes nothing."""
        shop = Shop()
        async with self.ground(shop.tools, script(say("One moment."), refund())) as ground:
            client = ground.client(tools=tools)
            asked = await client.say("refund A1")
            assert (asked[0]["type"], asked[0]["threadId"]) == ("RUN_STARTED", client.thread_id)
            assert (asked.text, shop.refunds) == ("One moment.", [])
            done = await client.decide(asked, approved=True)
            assert (done.text, shop.refunds) == ("Done.", [("A1", 20.0)])
            assert [json.loads(output) for output in ground.newest.outputs] == [{"refunded": 20.0, "order": "A1"}]
            assert "confirm_changes" not in json.dumps([entry.body for entry in ground.requests])
            await client.decide(asked, approved=True)
            assert (await client.say("thanks")).text == "Done."
            assert len(shop.refunds) == 1

    @styles
    async def test_reject(self, tools: list[dict[str, object]]) -> None:
        """S9: the model hears that it was rejected, and why."""
        shop = Shop()
        async with self.ground(shop.tools, script(refund())) as ground:
            client = ground.client(tools=tools)
            done = await client.decide(await client.say("refund A1"), {"approved": False, "reason": "too much"})
            assert (done.text, shop.refunds) == ("Done.", [])
            (told,) = ground.newest.outputs
            assert (status(told), json.loads(told)["reason"]) == ("rejected", "too much")
            assert (await client.say("well")).text == "Done."

    @styles
    async def test_one_approved_one_rejected_one_ignored_and_something_said(
        self, tools: list[dict[str, object]]
    ) -> None:
        """B3, B12: one execution, one denial, one left behind, and the text reaches the model."""
        shop = Shop()
        async with self.ground(shop.tools, script(refund("A1"), refund("A2"), refund("A3"))) as ground:
            done = await self.hurried(ground.client(tools=tools))
            assert (done.text, shop.orders) == ("Done.", ["A1"])
            ran, denied, ignored = ground.newest.outputs
            assert json.loads(ran)["order"] == "A1"
            assert (status(denied), status(ignored)) == ("rejected", "superseded" if tools else "cancelled")
            assert ground.newest.users == ["refund all", "and hurry"]

    async def hurried(self, client: AGUIClient) -> Stream:
        """Of three questions one is approved, one rejected and one left, with something said. The run after it."""
        asked = await client.say("refund all")
        if asked.cards:
            first, second, _ = asked.cards
            for card, payload in ((first, YES), (second, NO)):
                message = {"id": f"a-{card}", "role": "tool", "toolCallId": card, "content": json.dumps(payload)}
                client.messages.append(message)
            return await client.say("and hurry")
        entries = [
            {"interruptId": ask["id"], "status": "resolved", "payload": payload}
            for ask, payload in zip(asked.interrupts, (YES, NO), strict=False)
        ]
        entries.append({"interruptId": asked.interrupts[2]["id"], "status": "cancelled"})
        return await client.say("and hurry", resume=entries)

    @pytest.mark.parametrize("ending", ["approve", "reject", "one by one", "talk"])
    async def test_seven_calls_of_which_three_are_gated(self, ending: str) -> None:
        """S10, B2: seven outputs, and every chip ends, whatever happens."""
        shop = Shop()
        async with self.ground(shop.tools, script(say("All of them."), *SEVEN)) as ground:
            client = ground.client()
            asked = await client.say("do it")
            assert (len(asked.interrupts), len(asked.results)) == (3, 4)
            if ending == "talk":
                left = [{"interruptId": ask["id"], "status": "cancelled"} for ask in asked.interrupts]
                done = await client.say("never mind", resume=left)
            elif ending == "one by one":
                ids = [ask["id"] for ask in asked.interrupts]
                await client.resume((ids[2], YES))
                await client.resume((ids[0], NO))
                done = await client.resume((ids[1], YES))
            else:
                done = await client.decide(asked, approved=ending == "approve")
            assert done.text == "Done."
            ran = {"approve": ["A1", "A2", "A3"], "reject": [], "one by one": ["A2", "A3"], "talk": []}
            assert shop.orders == ran[ending]
            assert len(ground.newest.outputs) == 7
            assert [json.loads(ground.newest.outputs[n]) for n in (0, 2, 4, 6)] == [[f"found {q}"] for q in "abcd"]
            results = {m["toolCallId"] for m in client.messages if m["role"] == "tool"}
            assert results >= asked.calls.keys()
            assert (await client.say("thanks")).text == "Done."

    async def test_edited_arguments_are_what_the_model_sees(self) -> None:
        """B11: in the call, or beside its output where the provider keeps its own copy of the call."""
        shop = Shop()
        async with self.ground(shop.tools, script(refund("A1", 20))) as ground:
            client = ground.client()
            asked = await client.say("refund")
            await client.decide(asked, {"approved": True, "editedArgs": {"order_id": "A1", "amount": 5}})
            assert shop.refunds == [("A1", 5.0)]
            seen = json.dumps([ground.newest.calls, [json.loads(output) for output in ground.newest.outputs]])
            assert '"amount": 5' in seen
            assert (await client.say("thanks")).text == "Done."

    async def test_reasoning_before_a_gated_call(self) -> None:
        """S19, S20, B16: it comes back whole or not at all, after the approval and in later turns."""
        shop = Shop()
        turns = [
            turn(think("Is it fair?"), refund("A1")),
            turn(think("It was."), say("Refunded."), search()),
            turn(think("All done."), say("Bye."), repeat=True),
        ]
        async with self.ground(shop.tools, turns) as ground:
            client = ground.client()
            asked = await client.say("refund A1")
            done = await client.decide(asked, approved=True)
            assert done.text == "Refunded.Bye."
            assert (await client.say("thanks")).text == "Bye."
            assert len(ground.newest.outputs) == 2

    async def test_the_provider_fails_after_the_tool_ran(self) -> None:
        """B10: going on uses the stored result; the tool does not run again."""
        shop = Shop()
        failing = {"kind": "status", "status": 500, "retry_after": 0, "times": 2}
        turns = [turn(refund()), turn(say("Refunded."), fault=failing), turn(say("Bye."), repeat=True)]
        async with self.ground(shop.tools, turns) as ground:
            client = ground.client()
            failed = await client.decide(await client.say("refund A1"), approved=True)
            assert failed.error == "provider_unavailable"
            assert (await client.go()).text == "Refunded."
            assert (shop.refunds, len(ground.newest.outputs)) == ([("A1", 20.0)], 1)
            assert (await client.say("thanks")).text == "Bye."

    async def test_a_restart_between_the_question_and_the_answer(self, tmp_path: Path) -> None:
        """B5: another process answers, with an adapter of its own."""
        shop = Shop()
        store = f"sqlite:///{tmp_path}/threads.db"
        async with self.ground(shop.tools, script(think(), say("Wait."), refund()), store=store) as first:
            client = first.client()
            asked = await client.say("refund A1")
        async with self.ground(shop.tools, [turn(say("Done."), repeat=True)], store=store) as second:
            # A provider that remembers would still be the same one; this one is asked to take everything anew.
            client.url, client.http = second.url, second.http
            done = await client.decide(asked, approved=True)
            assert (done.text, shop.refunds) == ("Done.", [("A1", 20.0)])
            assert second.newest.users == ["refund A1"]
            assert len(second.newest.outputs) == 1
