"""A conversation is handed from one agent to another: who answers, who may run what, and what the provider is told."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, SchemaTool, create_app
from agui_gate.agents.tool import Tool, ToolSource
from agui_gate.config.settings import Settings
from agui_gate.errors import Unavailable
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, MODES, Json, Product, Stream, client_of, running, streamed
from tests.product.shop import SEARCH, Shop, call, items, outputs, refund, say, status, users
from tests.product.test_hosted_approvals import LISTED, SERVER, asks
from tests.requirements import shows

pytestmark = pytest.mark.anyio
every_mode = pytest.mark.parametrize("mode", MODES)
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
YES, NO = {"approved": True}, {"approved": False}
TO_BILLING, BACK = call("transfer_to_billing"), call("transfer_to_support")
THOUGHT: Json = {"type": "reasoning", "summary": ["Whose is it?"], "encrypted_content": "sealed"}


def turn(*output: Json, **more: Any) -> Json:
    return {"output": list(output), **more}


def bye(text: str = "Bye.") -> Json:
    return turn(say(text), repeat=True)


class Desks:
    """`support`, which clients post to, and `billing`. Each has a `refund` of its own, and hands off to the other."""

    def __init__(self, *script: Json, mode: str = "chain", store: str = "memory://") -> None:
        self.mode, self.store = mode, store
        self.emulator = Emulator(script=list(script))
        self.support, self.billing = Shop(), Shop()
        self.more: Sequence[Tool | ToolSource] = ()
        self.hosted: Sequence[Json] = ()

    @asynccontextmanager
    async def server(self, *, alone: bool = False, **entry: Any) -> AsyncIterator[Product]:
        """A server with both; ``alone``: after a redeploy without `billing`."""
        async with serve(self.emulator) as url:
            common: Json = {"mode": self.mode, "base_url": url, "api_key": "k"}
            first = OpenAIResponses("gpt-a", hosted_tools=self.hosted, **common)
            second = OpenAIResponses("gpt-b", **common)
            support = Agent(name="support", model=first, instructions="S.", tools=self.support.tools, **entry)
            tools = [*self.billing.tools, *self.more]
            billing = Agent(name="billing", model=second, instructions="B.", tools=tools, handoffs=[support])
            if not alone:
                support.handoffs.append(billing)
            app = create_app(support, store=self.store, settings=Settings())
            async with running(app) as at, client_of() as client:
                yield Product(self.emulator, app, at, client)


def speakers(stream: Stream) -> list[str | None]:
    """Who says each text, as a page is told."""
    return [event.get("name") for event in stream.of("TEXT_MESSAGE_START")]


def named(stream: Stream) -> str:
    """Who asks, as the one card or interrupt says; "" for the entry agent, which isn't named."""
    shown = [(card, card["steps"][0]["description"]) for card in stream.cards.values()]
    shown += [(interrupt["metadata"], interrupt["message"]) for interrupt in stream.interrupts]
    ((told, question),) = shown
    agent: str = told.get("agent", "")
    assert question.startswith(f"{agent} asks:") if agent else " asks:" not in question
    return agent


def results(stream: Stream) -> list[str]:
    return list(stream.results.values())


@every_mode
@shows("S18", "S19", "S22")
async def test_the_heir_answers_from_then_on(mode: str) -> None:
    desks = Desks(turn(THOUGHT, say("One moment."), SEARCH, TO_BILLING), turn(say("Billing here.")), bye(), mode=mode)
    async with desks.server() as p:
        chat = p.chat()
        done = await chat.say("my invoice")
        assert (done.text, speakers(done)) == ("One moment.Billing here.", [None, "billing"])
        assert status(results(done)[0]) == "transferred"
        thanks = await chat.say("thanks")
        assert speakers(thanks) == ["billing"]
        first, second, third = p.inputs()
        assert [b["model"] for b in (first, second, third)] == ["gpt-a", "gpt-b", "gpt-b"]
        assert [b["instructions"] for b in (first, second, third)] == ["S.", "B.", "B."]
        assert "previous_response_id" not in second, "nothing that the first agent's provider remembers"
        assert second.get("conversation") != first.get("conversation") or mode != "conversation"
        assert not items(second, "reasoning")
        assert not any("id" in item for item in second["input"])
        assert (users(second), len(outputs(second))) == (["my invoice"], 2)
        if mode == "chain":
            assert third["previous_response_id"] == p.emulator.accepted[1].response_id, "its own it goes on from"
        assert desks.support.searches == ["ada"]
        shown = (await p.get(f"/threads/{chat.thread_id}"))["messages"]
        assert [m.get("name") for m in shown if m["role"] == "assistant"] == [None, "billing", "billing"]
        assert [m.get("content") for m in streamed(shown)] == [m.get("content") for m in chat.messages]
        p.assert_clean()


@every_mode
@styles
@shows("B1", "B5", "S1")
async def test_gates_on_both_sides_and_a_transfer_beside_one(mode: str, tools: list[Json], tmp_path: Path) -> None:
    """What the first agent asked is its own tool's, also once another one answers; with a restart at each pause."""
    store = f"sqlite:///{tmp_path}/threads.db"
    script = turn(refund("A1", 1), TO_BILLING), turn(say("Billing."), refund("B1", 2)), bye()
    desks = Desks(*script, mode=mode, store=store)
    async with desks.server() as p:
        chat = p.chat(tools=tools)
        first = await chat.say("refund both")
        assert (desks.support.orders, len(p.inputs())) == ([], 1)
    async with desks.server() as p:
        chat.product = p
        second = await chat.decide(first, approved=True)
        assert (second.text, speakers(second)) == ("Billing.", ["billing"])
        assert [named(stream) for stream in (first, second)] == ["", "billing"]
        assert (desks.support.orders, desks.billing.orders) == (["A1"], [])
    async with desks.server() as p:
        chat.product = p
        assert (await chat.decide(second, approved=True)).text == "Bye."
        assert (desks.support.orders, desks.billing.orders) == (["A1"], ["B1"])
        records = (await p.get(f"/threads/{chat.thread_id}"))["calls"]
        assert [(r["agent"], r["state"]) for r in records] == [("support", "done"), ("billing", "done")]
        p.assert_clean()


@shows("S23", "B15")
async def test_of_two_transfers_in_one_turn_the_first_counts() -> None:
    desks = Desks(turn(TO_BILLING, TO_BILLING), bye())
    async with desks.server() as p:
        done = await p.chat().say("my invoice")
        assert [status(content) for content in results(done)] == ["transferred", "not_transferred"]
        assert (speakers(done), len(outputs(p.inputs()[-1]))) == (["billing"], 2)
        p.assert_clean()


@every_mode
@shows("S22", "S18")
async def test_handing_back(mode: str) -> None:
    desks = Desks(
        turn(say("One."), TO_BILLING), turn(THOUGHT, say("Two."), BACK), turn(say("Three.")), bye(), mode=mode
    )
    async with desks.server() as p:
        chat = p.chat()
        done = await chat.say("my invoice")
        assert (done.text, speakers(done)) == ("One.Two.Three.", [None, "billing", None])
        back = p.inputs()[2]
        assert (back["model"], "previous_response_id" in back) == ("gpt-a", False)
        assert not items(back, "reasoning")
        assert speakers(await chat.say("thanks")) == [None]
        p.assert_clean()


@every_mode
@shows("S23")
async def test_a_circle_ends_at_the_limit_and_the_thread_goes_on(mode: str) -> None:
    desks = Desks(turn(TO_BILLING), turn(BACK), turn(TO_BILLING), bye(), mode=mode)
    async with desks.server(max_turns=3) as p:
        chat = p.chat()
        stopped = await chat.say("my invoice")
        assert "limit_reached" in str(stopped[-1])
        assert [status(content) for content in results(stopped)] == ["transferred"] * 3
        again = await chat.say("well?")
        assert (again.text, speakers(again)) == ("Bye.", ["billing"])
        p.assert_clean()


@shows("S27")
async def test_a_hand_off_to_nobody_has_a_clear_result() -> None:
    desks = Desks(turn(call("transfer_to_shipping")), bye())
    async with desks.server() as p:
        done = await p.chat().say("my parcel")
        assert "There is no agent to transfer to by transfer_to_shipping" in results(done)[0]
        assert "transfer_to_billing" in results(done)[0]
        assert (done.text, speakers(done)) == ("Bye.", [None])
        p.assert_clean()


@shows("B25")
async def test_a_transfer_that_was_cut_off_is_none() -> None:
    cut = turn(TO_BILLING, fault={"kind": "cut", "after_events": 6, "times": 0}, when={"user": "invoice"})
    desks = Desks(cut, bye("Still me."))
    async with desks.server() as p:
        chat = p.chat()
        broken = await chat.say("my invoice")
        assert broken[-1]["type"] == "RUN_ERROR"
        again = await chat.say("well?")
        assert (again.text, speakers(again)) == ("Still me.", [None])


@every_mode
@shows("S18", "S22", "B12")
async def test_going_back_over_a_hand_off_gives_the_conversation_back(mode: str) -> None:
    desks = Desks(turn(say("Hello.")), turn(TO_BILLING), turn(say("Billing.")), turn(say("Support.")), bye(), mode=mode)
    async with desks.server() as p:
        chat = p.chat()
        await chat.say("hello")
        assert speakers(await chat.say("my invoice")) == ["billing"]
        while chat.messages[-1]["role"] != "user":
            chat.messages.pop()
        again = await chat.go()
        assert (again.text, speakers(again)) == ("Support.", [None])
        body = p.inputs()[-1]
        assert body["model"] == "gpt-a"
        if mode == "chain":
            assert body["previous_response_id"] == p.emulator.accepted[0].response_id
        assert speakers(await chat.say("thanks")) == [None]
        p.assert_clean()


@shows("B1", "B10")
async def test_an_heir_s_call_is_approved_out_of_band_and_the_heir_goes_on() -> None:
    desks = Desks(turn(TO_BILLING), turn(refund("B1")), bye("Refunded."))
    async with desks.server() as p:
        chat = p.chat()
        asked = await chat.say("refund B1")
        decided = await p.decide(asked.interrupts[0]["id"], {**YES, "continue": True})
        assert (decided["status_code"], decided["state"]) == (200, "done")
        assert (desks.support.orders, desks.billing.orders) == ([], ["B1"])
        stream = await p.client.get(f"{p.url}/runs/{decided['run']['key']}/events")
        assert "Refunded." in stream.text
        assert '"name":"billing"' in stream.text
        assert p.inputs()[-1]["model"] == "gpt-b"
        p.assert_clean()


@shows("B5", "B28")
async def test_an_heir_that_is_gone_runs_nothing_and_the_entry_agent_answers(tmp_path: Path) -> None:
    desks = Desks(turn(TO_BILLING), turn(refund("B1")), bye(), store=f"sqlite:///{tmp_path}/threads.db")
    async with desks.server() as p:
        chat = p.chat()
        asked = await chat.say("refund B1")
    async with desks.server(alone=True) as p:
        chat.product = p
        approval_id = asked.interrupts[0]["id"]
        assert (await p.decide(approval_id, YES))["status_code"] == 503
        refused = await chat.decide(asked, approved=True)
        assert [i["id"] for i in refused.interrupts] == [approval_id], "it goes on waiting"
        assert "which asked" in refused.interrupts[0]["message"]
        done = await chat.decide(refused, approved=False)
        assert (done.text, speakers(done)) == ("Bye.", [None])
        assert (desks.support.orders, desks.billing.orders) == ([], [])
        assert p.inputs()[-1]["model"] == "gpt-a"
        p.assert_clean()


@shows("B15", "B4")
async def test_calls_beside_a_transfer_are_those_of_who_made_them() -> None:
    """A free one runs, a gated one waits, a page's goes to the page; then the heir answers."""
    pick = {"name": "pick_color", "description": "Pick.", "parameters": {"type": "object"}}
    desks = Desks(turn(SEARCH, refund("A1"), call("pick_color"), TO_BILLING), bye())
    async with desks.server() as p:
        chat = p.chat(tools=[pick, CARD_TOOL])
        asked = await chat.say("all of it")
        assert (len(asked.results), desks.support.searches) == (2, ["ada"])
        (picked,) = [i for i, name in asked.calls.items() if name == "pick_color"]
        ((card, _),) = asked.cards.items()
        done = await chat.answer((picked, "red"), (card, {"accepted": True}))
        assert (speakers(done), desks.support.orders, desks.billing.orders) == (["billing"], ["A1"], [])
        assert len(outputs(p.inputs()[-1])) == 4
        p.assert_clean()


class Ledger:
    """A source of tools that may be away. ``paid`` is what its gated `pay` did."""

    name = "ledger"

    def __init__(self) -> None:
        self.away, self.paid = False, 0

    async def tools(self) -> Sequence[Tool]:
        if self.away:
            raise Unavailable("away")

        async def pay(arguments: Json, context: Any) -> str:
            self.paid += 1
            return "paid"

        schema = {"type": "object", "properties": {}}
        return [SchemaTool(pay, name="pay", description="Pay.", parameters=schema, gate=True, origin=self.name)]

    async def check(self) -> Sequence[Any]:
        return []

    async def aclose(self) -> None: ...


@shows("B1", "B28")
async def test_tools_of_the_heir_s_own_source() -> None:
    """They are found when it answers; away, an approval waits, out of band too."""
    desks, ledger = Desks(turn(TO_BILLING), turn(call("pay")), bye()), Ledger()
    desks.more = [ledger]
    async with desks.server() as p:
        chat = p.chat()
        asked = await chat.say("pay it")
        assert "pay" in [tool["name"] for tool in p.inputs()[1]["tools"]]
        ledger.away = True
        assert (await p.decide(asked.interrupts[0]["id"], YES))["status_code"] == 503
        waits = await chat.decide(asked, approved=True)
        assert ([i["id"] for i in waits.interrupts], ledger.paid) == ([asked.interrupts[0]["id"]], 0)
        ledger.away = False
        done = await chat.decide(waits, approved=True)
        assert (speakers(done), ledger.paid) == (["billing"], 1)
        p.assert_clean()


@every_mode
@shows("S22", "B28")
async def test_what_the_first_provider_holds_back_is_not_told_to_another(mode: str) -> None:
    """Approved or not: the heir's provider knows nothing of it, so it never runs, and that is said."""
    script = turn(LISTED, asks(), TO_BILLING), turn(say("Not paid."), repeat=True)
    desks = Desks(*script, mode=mode)
    desks.hosted = [SERVER]
    async with desks.server() as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        done = await chat.decide(asked, approved=True)
        assert done.text == "Not paid."
        (record,) = (await p.get(f"/threads/{chat.thread_id}"))["calls"]
        assert (record["state"], record["agent"]) == ("failed", "support")
        assert not items(p.inputs()[-1], "mcp_approval_response")
        assert "was not executed" in str(p.inputs()[-1])
        p.assert_clean()


@shows("B15")
async def test_a_page_s_tools_are_offered_by_whoever_answers_but_for_what_the_server_has() -> None:
    """A page can't take the place of a hand-off."""
    theirs = [
        {"name": "transfer_to_billing", "description": "Mine.", "parameters": {"type": "object"}},
        {"name": "pick_color", "description": "Pick.", "parameters": {"type": "object"}},
    ]
    desks = Desks(turn(TO_BILLING), turn(call("pick_color")), bye())
    async with desks.server() as p:
        chat = p.chat(tools=theirs)
        asked = await chat.say("my invoice")
        first, second = p.inputs()
        assert [t["name"] for t in first["tools"]] == ["refund", "ship", "search", "transfer_to_billing", "pick_color"]
        assert "Mine." not in str(first)
        assert "transfer_to_support" in str(second["tools"])
        (pick,) = [c for c in asked.calls if c not in str(results(asked))][-1:]
        assert (await chat.answer((pick, "red"))).text == "Bye."
        p.assert_clean()


@shows("B19")
async def test_the_usage_is_that_of_both() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    desks = Desks(turn(TO_BILLING, usage=usage), turn(say("Hello."), usage=usage), bye())
    async with desks.server() as p:
        done = await p.chat().say("my invoice")
        told = done[-1]["usage"]
        assert len(told) == len({one["model"] for one in told}) == 2
        assert [one["inputTokens"] for one in told] == [10, 10]
