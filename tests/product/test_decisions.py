"""Deciding outside any run: what the tool leaves behind, what can't be decided here, and what needs no waiting."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, Tool, ToolContext, create_app, tool
from agui_gate.adapter import Finding
from agui_gate.approvals.out_of_band import DECIDE_SECONDS
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import Approval
from agui_gate.errors import Unavailable
from agui_gate.stores.memory import MemoryStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.product.kit import client_of, product, running
from tests.product.live import cancel, starting
from tests.product.shop import Shop, call, refund, say, script
from tests.requirements import shows

pytestmark = pytest.mark.anyio
YES = {"approved": True}


@shows("B1")
async def test_what_the_tool_wrote_into_the_shared_state_is_kept() -> None:
    @tool(gate=True)
    async def note(text: str, ctx: ToolContext) -> str:
        """Note something down."""
        ctx.state["note"] = text
        return "noted"

    async with product([note], script(call("note", text="hello"))) as p:
        chat = p.chat()
        asked = await chat.say("note hello")
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] in (None, {})
        decided = await p.decide(asked.interrupts[0]["id"], YES)
        assert (decided["state"], decided["result"]) == ("done", "noted")
        assert (await p.get(f"/threads/{chat.thread_id}"))["state"] == {"note": "hello"}
        assert (await chat.go()).text == "Done."


@shows("B1")
async def test_where_a_client_of_0_x_answers_what_was_decided_elsewhere_is_told_behind_that() -> None:
    shop = Shop()
    async with product(shop.tools, script(refund(), refund("A2"))) as p:
        chat = p.chat()
        one, two = (await chat.say("refund both")).interrupts
        await p.decide(one["id"], YES)
        done = await chat.resume((two["id"], YES))
        assert [result["toolCallId"] for result in done.of("TOOL_CALL_RESULT")] == [
            two["toolCallId"],
            one["toolCallId"],
        ]
        assert shop.orders == ["A1", "A2"]


class Full(MemoryStore):
    """A store that has room for leases alone."""

    full = False

    async def move(self, *args: Any, **more: Any) -> Approval:
        if self.full:
            raise Unavailable("The disk is full.")
        return await super().move(*args, **more)


@shows("B1", "B19")
async def test_a_store_that_can_not_take_the_decision_is_what_the_answer_says() -> None:
    shop, store = Shop(), Full()
    async with product(shop.tools, script(refund()), store=store) as p:
        (ask,) = (await p.chat().say("refund A1")).interrupts
        store.full = True
        for payload in (YES, {"approved": False}):
            refused = await p.decide(ask["id"], payload)
            assert (refused["status_code"], refused["error"]["code"]) == (503, "unavailable")
        store.full = False
        assert shop.orders == []
        assert (await p.decide(ask["id"], YES))["state"] == "done"


@shows("B1", "B26")
async def test_of_an_agent_that_is_not_served_any_more_nothing_is_approved(tmp_path: Path) -> None:
    shop, store = Shop(), f"sqlite:///{tmp_path / 't.db'}"
    async with product(shop.tools, script(refund()), store=store) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
    other = Agent(name="other", model=OpenAIResponses("m", base_url="http://127.0.0.1:9/v1", api_key="k"))
    async with running(create_app(other, store=store, settings=Settings())) as url, client_of() as client:
        reply = await client.post(f"{url}/approvals/{ask['id']}", json=YES)
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unavailable")
        assert "'support'" in reply.json()["error"]["message"]
    async with product(shop.tools, script(refund()), store=store) as p:
        assert (await p.decide(ask["id"], YES))["state"] == "done"
        assert shop.orders == ["A1"]


@shows("B6")
async def test_what_is_decided_is_said_at_once_while_a_run_goes_on() -> None:
    """A decision waits for the thread's run; there is nothing to wait for where nothing is left to decide."""
    shop = Shop()
    hangs = {"output": [say("x")], "when": {"user": "talk"}, "fault": {"kind": "hang", "after_events": 0}}
    async with product(shop.tools, [{"output": [refund()]}, hangs]) as p:
        chat = p.chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        assert (await p.decide(ask["id"], YES))["state"] == "done"
        async with starting(p, chat, "talk") as reader, asyncio.timeout(DECIDE_SECONDS / 2):
            await reader.until("RUN_STARTED")
            late = await p.decide(ask["id"], YES)
            assert (late["status_code"], late["state"]) == (409, "done")
            missing = await p.decide("apr_nothing", YES)
            assert missing["status_code"] == 404
            assert p.app.state.engine.following("local", chat.thread_id) is not None, "the run still goes on"
            await cancel(p, chat)
            await reader.end()


class Shelf:
    """A source of a shop's tools, which can be away."""

    name = "shelf"

    def __init__(self, shop: Shop) -> None:
        self._tools, self.away = shop.tools, False

    async def tools(self) -> Sequence[Tool]:
        if self.away:
            raise Unavailable("away")
        return self._tools

    async def check(self) -> Sequence[Finding]:
        return []

    async def aclose(self) -> None:
        return


@shows("B1", "B26")
async def test_while_the_tool_s_source_is_away_a_yes_waits_and_a_no_counts() -> None:
    shop = Shop()
    shelf = Shelf(shop)
    async with product([shelf], [{"output": [refund(), refund("A2")]}, {"output": [say("Done.")]}]) as p:
        chat = p.chat()
        one, two = (await chat.say("refund both")).interrupts
        shelf.away = True
        refused = await p.decide(one["id"], YES)
        assert (refused["status_code"], refused["error"]["code"]) == (503, "unavailable")
        assert "shelf can't be reached" in refused["error"]["message"]
        assert (await p.decide(two["id"], {"approved": False}))["state"] == "rejected"
        assert [a["id"] for a in (await p.get("/approvals"))["approvals"]] == [one["id"]]
        shelf.away = False
        assert (await p.decide(one["id"], YES))["state"] == "done"
        assert shop.orders == ["A1"]
        assert (await chat.go()).text == "Done."
        p.assert_clean()
