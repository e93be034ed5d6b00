"""A thread that goes from one agent to another: a provider gets a whole history or its own continuation, no mix."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agui_gate import Agent, create_app
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Decision, State
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, MODES, Product, client_of, product, running
from tests.product.shop import SEARCH, Shop, call, items, outputs, refund, say, script, status, users
from tests.requirements import shows

pytestmark = pytest.mark.anyio
every_mode = pytest.mark.parametrize("mode", MODES)
YES = {"approved": True}


@asynccontextmanager
async def two_agents(mode: str, one: Emulator, two: Emulator, *shops: Shop) -> AsyncIterator[tuple[Product, Product]]:
    """Agents of different providers in one application, as two views of it."""
    async with serve(one) as first, serve(two) as second:
        models = [OpenAIResponses("m", mode=mode, base_url=url, api_key="k") for url in (first, second)]  # type: ignore[arg-type]  # parametrized
        agents = [Agent(name=f"agent{n}", model=model, tools=shops[n].tools) for n, model in enumerate(models)]
        app = create_app(*agents, store="memory://", settings=Settings())
        async with running(app) as url, client_of() as client:
            yield Product(one, app, url, client), Product(two, app, url, client)


@every_mode
@shows("S22", "S18", "S16", "S15")
async def test_another_agent_takes_over_and_gives_back(mode: str) -> None:
    """Nothing of one provider's continuation reaches the other; each replays what it has not seen itself."""
    shop = Shop()
    one = Emulator(script=script(SEARCH, after="One says so."))
    two = Emulator(script=script(SEARCH, after="Two says so."))
    async with two_agents(mode, one, two, shop, shop) as (first, second):
        chat = first.chat()
        assert (await chat.say("first question")).text == "One says so."
        chat.path = "/agents/agent1"
        assert (await chat.say("second question")).text == "Two says so."
        taken_over = second.inputs()[0]
        assert "previous_response_id" not in taken_over
        assert users(taken_over) == ["first question", "second question"]
        assert len(items(taken_over, "function_call")) == len(outputs(taken_over)) == 1
        assert (await chat.say("third question")).text == "Two says so."
        chat.path = "/"
        assert (await chat.say("fourth question")).text == "One says so."
        assert users(first.inputs()[-1])[-3:] == ["second question", "third question", "fourth question"]
        first.assert_clean()
        second.assert_clean()


@every_mode
@shows("S22", "S13", "S14", "S17", "S23")
async def test_merely_responding_continues(mode: str) -> None:
    shop = Shop()
    async with product(shop.tools, script(SEARCH, refund()), mode=mode) as p:
        chat = p.chat()
        asked = await chat.say("question")
        await chat.resume((asked.interrupts[0]["id"], YES))
        await chat.say("thanks")
        first, second, third = p.inputs()
        if mode == "stateless":
            assert not any("previous_response_id" in b or "conversation" in b for b in (first, second, third))
            assert len(items(third, "function_call")) == len(outputs(third)) == 2
        else:
            key = "previous_response_id" if mode == "chain" else "conversation"
            assert second[key]
            assert third[key]
            assert [item["type"] for item in second["input"]] == ["function_call_output"] * 2
            assert users(third) == ["thanks"]
            assert len(third["input"]) == 1
        p.assert_clean()


@every_mode
@shows("S22", "S18", "S15")
async def test_going_back_resets_the_continuation(mode: str) -> None:
    """A regenerated answer never builds on what was thrown away."""
    async with product([], [{"output": [say("Answer.")], "repeat": True}], mode=mode) as p:
        chat = p.chat()
        await chat.say("first")
        await chat.say("second")
        del chat.messages[-1]
        await chat.go()
        body = p.inputs()[-1]
        if mode == "chain":
            assert body["previous_response_id"] == p.emulator.accepted[0].response_id
        else:
            assert users(body) == ["first", "second"]
        if mode == "conversation":
            assert body["conversation"] != p.inputs()[0]["conversation"]
        await chat.say("third")
        p.assert_clean()


@shows("B28", "B2")
async def test_an_approval_never_runs_another_agents_tool_of_that_name() -> None:
    """Two agents may call different things `refund`; what a person approved is the one of the agent that asked."""
    asking, other = Shop(), Shop()
    one, two = Emulator(script=script(refund())), Emulator(script=script(after="Two says so."))
    async with two_agents("chain", one, two, asking, other) as (first, _):
        chat = first.chat()
        asked = await chat.say("refund A1")
        answer = (asked.interrupts[0]["id"], YES)
        chat.path = "/agents/agent1"
        again = await chat.resume(answer)
        assert (len(again.interrupts), asking.refunds, other.refunds) == (1, [], [])
        assert "agent0" in again.interrupts[0]["message"]
        chat.path = "/"
        done = await chat.resume(answer)
        assert (done.text, asking.orders, other.refunds) == ("Done.", ["A1"], [])
        first.assert_clean()


@shows("B28", "B10")
async def test_what_a_dead_process_had_claimed_is_never_run_by_another_agent() -> None:
    """Not even where both call it `ship` and say that it may run twice: it is not the same tool."""
    asking, other = Shop(), Shop()
    one, two = Emulator(script=script(call("ship", order_id="A1"))), Emulator(script=[{"output": [say("Two.")]}])
    async with two_agents("chain", one, two, asking, other) as (first, second):
        chat = first.chat()
        (ask,) = (await chat.say("ship A1")).interrupts
        yes = Decision(True, "local", None, None)
        await first.app.state.engine.store.move(ask["id"], State.CLAIMED, decision=yes)
        chat.path = "/agents/agent1"
        done = await chat.say("and?")
        assert status(done.results[ask["toolCallId"]]) == "unknown"
        assert (done.text, asking.shipped, other.shipped) == ("Two.", [], [])
        second.assert_clean()


@shows("B28", "B2", "B12")
async def test_another_agent_may_take_a_no_and_goes_on() -> None:
    asking, other = Shop(), Shop()
    one, two = Emulator(script=script(refund())), Emulator(script=[{"output": [say("Two.")], "repeat": True}])
    async with two_agents("chain", one, two, asking, other) as (first, second):
        chat = first.chat()
        asked = await chat.say("refund A1")
        chat.path = "/agents/agent1"
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": False}))
        assert (done.text, asking.refunds, other.refunds) == ("Two.", [], [])
        second.assert_clean()


@shows("B1", "B21")
async def test_a_second_page_that_answers_late_is_told_what_came_of_it() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        chat = p.chat(tools=[CARD_TOOL])
        asked = await chat.say("refund A1")
        (card_id,) = asked.cards
        other = p.chat(thread_id=chat.thread_id, tools=[CARD_TOOL], messages=json.loads(json.dumps(chat.messages)))
        done = await chat.answer((card_id, {"accepted": True}))
        late = await other.answer((card_id, {"accepted": False}))
        (result,) = done.of("TOOL_CALL_RESULT")[:1]
        told = {m["id"]: m["content"] for m in other.messages if m["role"] == "tool"}
        assert told[result["messageId"]] == result["content"]
        assert late.results == {}, "a snapshot says it"
        assert late[-1]["type"] == "RUN_FINISHED"
        assert {m["id"] for m in chat.messages} <= {m["id"] for m in other.messages}
        again = await other.go()
        assert again.results == {}, "once told, not again"
        assert len(shop.refunds) == 1
        p.assert_clean()


@shows("S1")
async def test_arguments_are_asked_about_in_the_tools_order() -> None:
    """S1: people read them."""
    shop = Shop()
    async with product(shop.tools, script(refund())) as p:
        asked = await p.chat(tools=[CARD_TOOL]).say("refund A1")
        assert list(next(iter(asked.cards.values()))["function_arguments"]) == ["order_id", "amount"]
