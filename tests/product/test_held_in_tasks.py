"""Calls that a sub-agent's provider holds back until a person agreed: asked inside a task, and told in it alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, Json, Product, client_of, running, streamed
from tests.product.live import cancel, starting
from tests.product.shop import Shop, call, items, outputs, refund, say, status
from tests.product.test_hosted_approvals import LISTED, LOST, NO, RAN, SERVER, YES, asks, consents, decide, held, tried
from tests.product.test_subagents import BOSS, CLERK, PACKER, by, dialects, requests, told
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B1")]
every_mode = pytest.mark.parametrize("mode", MODES)
styles = pytest.mark.parametrize("tools", [[], [CARD_TOOL]], ids=["interrupts", "cards"])
TASK = call("clerk", task="Pay ada.")
FIRST = [by(BOSS, TASK), by(CLERK, LISTED, asks())]
LAST = by(BOSS, say("All done."), repeat=True)


def paid(**more: Any) -> Json:
    """The provider runs what it was told to, and the clerk has done its task."""
    return {"when": {"model": CLERK, "approves": True}, "output": [RAN, say("Paid.")], **more}


@asynccontextmanager
async def served(emulator: Emulator, url: str, mode: str, store: str, **boss: Any) -> AsyncIterator[Product]:
    """A boss who delegates to a clerk, whose provider asks before it runs the tools of a server of its own."""
    common: Json = {"mode": mode, "base_url": url, "api_key": "k"}
    packer = Agent(name="packer", model=OpenAIResponses(PACKER, **common), tools=Shop().tools)
    model = OpenAIResponses(CLERK, hosted_tools=[SERVER], **common)
    clerk = Agent(name="clerk", model=model, tools=[packer.as_tool()])
    entry = Agent(name="support", model=OpenAIResponses(BOSS, **common), tools=[clerk.as_tool()], **boss)
    app = create_app(entry, store=store)
    async with running(app) as at, client_of() as client:
        yield Product(emulator, app, at, client)


@asynccontextmanager
async def office(script: list[Json], mode: str = "chain", **boss: Any) -> AsyncIterator[Product]:
    """The same, with a provider that plays this script."""
    emulator = Emulator(script=script)
    async with serve(emulator) as url, served(emulator, url, mode, "memory://", **boss) as p:
        yield p


async def states(p: Product, thread_id: str) -> list[str]:
    """Those of the thread's records."""
    return [record["state"] for record in (await p.get(f"/threads/{thread_id}"))["calls"]]


@every_mode
@styles
@dialects
@shows("B1", "S1")
async def test_approving_lets_the_provider_run_it_in_the_task(mode: str, tools: list[Json], version: Json) -> None:
    async with office([*FIRST, paid(), LAST], mode) as p:
        chat = p.chat(tools=tools, extra=version)
        asked = await chat.say("pay ada")
        assert told(asked) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        done = await decide(chat, asked, YES)
        assert done.text == "Paid.All done."
        assert told(done) == [("STARTED", "clerk"), ("FINISHED", "clerk")]
        assert outputs(requests(p, BOSS)[-1]) == ["Paid."]
        assert ([said for _, said in consents(p)], await states(p, chat.thread_id)) == ([True], ["done"])
        assert not any(items(body, "mcp_approval_response") for body in requests(p, BOSS))
        await chat.say("thanks")
        assert tried(p) == 1
        p.assert_clean()


@every_mode
async def test_rejecting_is_told_in_the_task(mode: str) -> None:
    async with office([*FIRST, by(CLERK, say("Not paid.")), LAST], mode) as p:
        chat = p.chat()
        done = await decide(chat, await chat.say("pay ada"), NO)
        assert done.text == "Not paid.All done."
        # A provider's conversation is begun anew after a pause, but for a yes: the history says that it was a no.
        assert [said for _, said in consents(p)] == ([] if mode == "conversation" else [False])
        assert "reject" in str(requests(p, CLERK)[-1]["input"]) or mode != "conversation"
        assert await states(p, chat.thread_id) == ["rejected"]
        p.assert_clean()


@every_mode
@pytest.mark.parametrize("first", [0, 1])
@shows("B2")
async def test_two_tasks_of_one_agent_are_told_each_its_own(mode: str, first: int) -> None:
    script = [
        by(BOSS, TASK, TASK),
        by(CLERK, LISTED, asks(to="ada")),
        by(CLERK, LISTED, asks(to="bob")),
        paid(),
        paid(),
    ]
    async with office([*script, LAST], mode) as p:
        chat = p.chat()
        asked = await chat.say("pay both")
        ids = [ask["id"] for ask in asked.interrupts]
        half = await chat.resume((ids[first], YES))
        assert (len(half.interrupts), tried(p), len(requests(p, BOSS))) == (1, 1, 1)
        done = await chat.resume((ids[1 - first], YES))
        assert outputs(requests(p, BOSS)[-1]) == ["Paid.", "Paid."]
        assert done.text.endswith("All done.")
        assert [said for _, said in consents(p)] == [True, True]
        p.assert_clean()


@every_mode
@shows("B5")
async def test_decided_elsewhere_and_told_after_a_restart(mode: str, tmp_path: Path) -> None:
    emulator, store = Emulator(script=[*FIRST, paid(), LAST]), f"sqlite:///{tmp_path}/office.db"
    async with serve(emulator) as url:
        async with served(emulator, url, mode, store) as p:
            chat = p.chat()
            asked = await chat.say("pay ada")
            assert (await p.decide(asked.interrupts[0]["id"], YES))["state"] == "claimed"
        async with served(emulator, url, mode, store) as p:
            chat.product = p
            assert (await chat.go()).text == "Paid.All done."
            assert (tried(p), await states(p, chat.thread_id)) == (1, ["done"])
            p.assert_clean()


@every_mode
@pytest.mark.parametrize("fault", LOST, ids=["cut", "502", "no reply"])
@shows("B9")
async def test_a_yes_that_may_have_arrived_ends_the_task(mode: str, fault: Json) -> None:
    """The person is told that nobody knows, and the boss that the clerk could not finish."""
    async with office([*FIRST, paid(fault=fault), LAST], mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        failed = await decide(chat, asked, YES)
        assert (failed.text, told(failed)) == ("All done.", [("STARTED", "clerk"), ("ERROR", "clerk")])
        assert status(failed.results[held(asked)]) == "unknown"
        assert "could not finish" in outputs(requests(p, BOSS)[-1])[0]
        await chat.say("well?")
        assert (tried(p), await states(p, chat.thread_id)) == (1, ["unknown"])
        p.assert_clean()


@every_mode
async def test_a_yes_that_surely_did_not_arrive_ends_with_the_task(mode: str) -> None:
    """429: nothing was done. The clerk could not finish, so nobody will ask its provider again."""
    fault = {"kind": "status", "status": 429, "retry_after": 60}
    async with office([*FIRST, paid(fault=fault), LAST], mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        failed = await decide(chat, asked, YES)
        assert (failed.text, told(failed)) == ("All done.", [("STARTED", "clerk"), ("ERROR", "clerk")])
        assert status(failed.results[held(asked)]) == "cancelled"
        await chat.say("well?")
        assert (tried(p), await states(p, chat.thread_id)) == (1, ["failed"])
        p.assert_clean()


@every_mode
@styles
async def test_going_on_with_something_else_ends_what_was_approved_with_the_task(mode: str, tools: list[Json]) -> None:
    """Of two questions one is agreed to, and the other left for something else: the task ends, and neither runs."""
    script = [by(BOSS, TASK), by(CLERK, LISTED, asks(to="ada"), asks(to="bob")), LAST]
    async with office(script, mode, on_unanswered="supersede") as p:
        chat = p.chat(tools=tools)
        await chat.say("pay both")
        first, _ = (await p.get("/approvals"))["approvals"]
        assert (await p.decide(first["id"], YES))["state"] == "claimed"
        done = await chat.say("never mind")
        assert done.text == "All done."
        assert sorted(await states(p, chat.thread_id)) == ["failed", "superseded"]
        await chat.say("well?")
        assert tried(p) == 0
        p.assert_clean()


@every_mode
@shows("B17", "S29")
async def test_stopped_while_a_yes_is_on_its_way(mode: str) -> None:
    async with office([*FIRST, paid(fault={"kind": "hang", "after_events": 0}), LAST], mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        answering = asyncio.create_task(chat.resume((asked.interrupts[0]["id"], YES)))
        async with asyncio.timeout(TIMEOUT):
            while not tried(p):
                await p.get("/healthz")
            await p.client.post(f"{p.url}/threads/{chat.thread_id}/cancel")
            stopped = await answering
        assert (stopped.error, status(stopped.results[held(asked)])) == ("abort", "unknown")
        assert (await chat.say("well?")).text == "All done."
        assert (tried(p), await states(p, chat.thread_id)) == (1, ["unknown"])
        p.assert_clean()


@every_mode
async def test_stopped_before_it_is_told_what_was_approved_ends_with_the_task(mode: str) -> None:
    """The task waits for another one inside it, which is stopped."""
    hangs = by(PACKER, say("word " * 40), fault={"kind": "hang", "after_events": 6})
    asking = by(CLERK, LISTED, asks(), call("packer", task="Refund B2."))
    async with office([by(BOSS, TASK), asking, by(PACKER, refund()), hangs, LAST], mode) as p:
        chat = p.chat()
        asked = await chat.say("pay ada")
        held_back, ours = sorted(asked.interrupts, key=lambda one: one["metadata"]["agent"])
        assert (await p.decide(held_back["id"], YES))["state"] == "claimed"
        entry = {"interruptId": ours["id"], "status": "resolved", "payload": YES}
        async with starting(p, chat, resume=[entry]) as reader:
            await reader.until('"delta":"word')
            await cancel(p, chat)
            await reader.end()
        assert sorted(await states(p, chat.thread_id)) == ["done", "failed"]
        chat.messages = streamed((await p.get(f"/threads/{chat.thread_id}"))["messages"])
        assert (await chat.say("well?")).text == "All done."
        assert tried(p) == 0
        p.assert_clean()
