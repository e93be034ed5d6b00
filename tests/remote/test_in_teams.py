"""A remote agent that works on tasks: what it asks is asked here, and what goes wrong there ends its task alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app, parallel
from agui_gate.client import Limits
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui import AGUIClient, Stream, connecting, serving
from agui_gate_adapters.testkit.spec import assert_conforms
from tests.client.servers import run_of, scripted
from tests.interop.streams import STARTED, sse, text
from tests.interop.streams import call as remote_call
from tests.product.shop import Shop, call, refund, say
from tests.remote.kit import behind, pages, status
from tests.remote.test_failures import FAILURES, SECRET
from tests.remote.test_row import lent
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B14", "B15")]
ways = pytest.mark.parametrize("way", ["interrupt", "card"])
dialects = pytest.mark.parametrize("version", [{}, {"protocolVersion": "1.0"}], ids=["0.x", "1.x"])
Json = dict[str, Any]
TASK = call("expert", task="Refund A1.")


def turn(*output: Json, **more: Any) -> Json:
    return {"output": list(output), **more}


TASK_AGAIN = turn(call("expert", task="Try it again."))
ENDS = turn(say("Done."), repeat=True)


@dataclass
class Firm:
    """A boss here, whose model is ``emulator``, and an expert far away, to whom it delegates, or hands off."""

    emulator: Emulator
    front: str
    http: Any

    def chat(self, *tools: Json, **more: Any) -> AGUIClient:
        return AGUIClient(self.http, self.front, tools=list(tools), **more)

    def heard(self) -> list[str]:
        """What the boss was told of its tasks, in its newest request."""
        return [item["output"] for item in self.emulator.accepted[-1].items if item["type"] == "function_call_output"]

    async def approvals(self, at: str = "") -> list[Json]:
        found: list[Json] = (await self.http.get(f"{at or self.front}/approvals")).json()["approvals"]
        return found


@asynccontextmanager
async def firm(
    expert: str,
    script: list[Json],
    ours: Any = (),
    store: str = "memory://",
    limits: Limits | None = None,
    heir: bool = False,
) -> AsyncIterator[Firm]:
    emulator = Emulator(script=script)
    async with serve(emulator) as url, connecting() as http:
        remote = RemoteAgent(
            expert, name="expert", description="Knows.", tools=ours, limits=limits or Limits(idle=60.0, total=60.0)
        )
        model = OpenAIResponses("gpt-5.4-mini", mode="stateless", base_url=url, api_key="k")
        place: Json = {"handoffs": [remote]} if heir else {"tools": [remote.as_tool()]}
        app = create_app(Agent(name="boss", model=model, **place), store=store)
        async with serving(app) as front:
            yield Firm(emulator, front, http)
    assert not emulator.refusals


def told(stream: Stream) -> list[str]:
    return [event["type"].removeprefix("SUBAGENT_") for event in stream if event["type"].startswith("SUBAGENT_")]


def conforms(chat: AGUIClient) -> None:
    for stream in chat.streams:
        assert_conforms(stream.raw, input=stream.input, departs=["TOOL-6"])


@ways
@dialects
@pytest.mark.parametrize("approved", [True, False])
async def test_what_it_asks_in_a_task_is_decided_here(way: str, version: Json, approved: bool) -> None:
    shop, model = Shop(), Emulator(script=[turn(say("Let me see."), refund("A1")), turn(say("That was it."))])
    async with behind(model, shop.tools) as back, firm(f"{back}/agents/expert", [turn(TASK), ENDS]) as f:
        chat = f.chat(*pages(way), extra=version)
        asked = await chat.say("refund A1")
        (waiting,) = await f.approvals()
        assert (waiting["tool"], waiting["agent"], shop.orders) == ("refund", "expert", [])
        assert told(asked) == ["STARTED", "FINISHED"]
        done = await chat.decide(asked, approved=approved)
        assert (done.text, shop.orders) == ("That was it.Done.", ["A1"] if approved else [])
        assert f.heard() == ["That was it."]
        assert await f.approvals(back) == []
        assert (await chat.say("thanks")).text == "Done."
        conforms(chat)
    assert not model.refusals


@pytest.mark.parametrize("first", [0, 1])
async def test_two_tasks_are_two_conversations_there(first: int) -> None:
    shop = Shop()
    model = Emulator(script=[turn(refund("A1")), turn(refund("A2")), turn(say("It is done."), repeat=True)])
    async with behind(model, shop.tools) as back, firm(f"{back}/agents/expert", [turn(TASK, TASK), ENDS]) as f:
        chat = f.chat()
        asked = await chat.say("refund both")
        ids = [ask["id"] for ask in asked.interrupts]
        half = await chat.resume((ids[first], {"approved": True}))
        assert (len(shop.orders), [ask["id"] for ask in half.interrupts]) == (1, [ids[1 - first]])
        done = await chat.resume((ids[1 - first], {"approved": True}))
        assert (shop.orders, f.heard()) == (["A1", "A2"], ["It is done."] * 2)
        assert done.text.endswith("Done.")
        assert len((await f.http.get(f"{back}/threads")).json()["threads"]) == 2
        conforms(chat)


async def test_the_one_in_front_is_restarted_while_it_waits(tmp_path: Path) -> None:
    shop, store = Shop(), f"sqlite:///{tmp_path}/front.db"
    model = Emulator(script=[turn(refund("A1")), turn(say("That was it."))])
    async with behind(model, shop.tools) as back:
        async with firm(f"{back}/agents/expert", [turn(TASK)], store=store) as f:
            chat = f.chat()
            asked = await chat.say("refund A1")
        async with firm(f"{back}/agents/expert", [ENDS], store=store) as f:
            chat.url, chat.http = f.front, f.http
            done = await chat.decide(asked, approved=True)
            assert (done.text, shop.orders) == ("That was it.Done.", ["A1"])
            conforms(chat)


@ways
async def test_a_tool_that_is_lent_runs_here_behind_its_gate(way: str) -> None:
    tools, ran = lent()
    model = Emulator(script=[turn(call("measure", place="wall"), call("paint", place="wall")), turn(say("Painted."))])
    async with behind(model, []) as back, firm(f"{back}/agents/expert", [turn(TASK), ENDS], tools) as f:
        chat = f.chat(*pages(way))
        asked = await chat.say("paint it")
        (waiting,) = await f.approvals()
        assert (waiting["tool"], waiting["agent"], ran) == ("paint", "expert", [])
        done = await chat.decide(asked, approved=True)
        assert (done.text, ran) == ("Painted.Done.", ["wall"])
        conforms(chat)


@pytest.mark.parametrize("name", FAILURES)
@shows("B19")
async def test_what_goes_wrong_there_ends_the_task_and_says_none_of_their_words(name: str) -> None:
    reply, code = FAILURES[name]
    limits = Limits(idle=0.5 if name == "silence" else 60.0)
    async with (
        scripted(reply, run_of(*text("Well again.", "m-2"))) as server,
        firm(server.url, [turn(TASK), turn(say("It didn't work.")), turn(TASK), ENDS], limits=limits) as f,
    ):
        chat = f.chat()
        failed = await chat.say("go")
        assert (failed.error, told(failed)) == (None, ["STARTED", "ERROR"])
        assert failed.of("SUBAGENT_ERROR")[0]["code"] == code
        assert failed.text.endswith("It didn't work.")
        assert [status(result) for result in failed.results.values()] == ["error"]
        assert SECRET not in failed.raw + str(f.emulator.accepted[-1].body)
        again = await chat.say("again")
        assert again.text.endswith("Well again.Done.") or name == "silence"
        conforms(chat)


@pytest.mark.parametrize("name", FAILURES)
@shows("B19")
async def test_what_goes_wrong_with_an_heir_fails_the_run_and_says_none_of_their_words(name: str) -> None:
    reply, code = FAILURES[name]
    limits = Limits(idle=0.5 if name == "silence" else 60.0)
    script = [turn(call("transfer_to_expert"))]
    async with (
        scripted(reply, run_of(*text("Well again.", "m-2"))) as server,
        firm(server.url, script, limits=limits, heir=True) as f,
    ):
        chat = f.chat()
        failed = await chat.say("go")
        assert (failed.error, SECRET in failed.raw) == (code, False)
        thread = await f.http.get(f"{f.front}/threads/{chat.thread_id}")
        assert SECRET not in thread.text
        again = await chat.say("again")
        assert again.text.endswith("Well again.") or name == "silence"
        conforms(chat)


PATCHES: list[Json] = [
    {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/not/there", "value": 1}]},
    {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "x", "patch": [{"op": "remove", "path": "/b"}]},
]


@pytest.mark.parametrize("heir", [False, True])
async def test_a_patch_of_theirs_that_does_not_apply_costs_nothing(heir: bool) -> None:
    """Their state is not ours."""
    script = [turn(call("transfer_to_expert") if heir else TASK), ENDS]
    async with (
        scripted(run_of(*PATCHES, *text("Said."), *PATCHES), run_of(*text("Again.", "m-2"))) as server,
        firm(server.url, script, heir=heir) as f,
    ):
        chat = f.chat(state={"mine": 1})
        done = await chat.say("go")
        assert (done.error, done.text) == (None, "Said." if heir else "Said.Done.")
        assert (await f.http.get(f"{f.front}/threads/{chat.thread_id}")).json()["state"] == {"mine": 1}
        assert (await chat.say("well?")).error is None
        conforms(chat)


@pytest.mark.parametrize("heir", [False, True])
async def test_one_that_never_ends_is_left(heir: bool, tmp_path: Path) -> None:
    """It takes longer than it may. Then the thread is there, for one that ends."""

    async def endless() -> AsyncIterator[bytes]:
        yield sse(STARTED, *text("On and on. ", "m-1")).encode()
        await asyncio.Event().wait()

    store = f"sqlite:///{tmp_path}/front.db"
    begins = turn(call("transfer_to_expert") if heir else TASK)
    async with scripted(endless, run_of(*text("Well again.", "m-x"))) as server:
        limits = Limits(total=0.5)
        async with firm(server.url, [begins, ENDS], store=store, limits=limits, heir=heir) as f:
            chat = f.chat()
            failed = await chat.say("go")
            codes = [event["code"] for event in [*failed.of("RUN_ERROR"), *failed.of("SUBAGENT_ERROR")]]
            assert codes == ["provider_unavailable"]
        async with firm(server.url, [TASK_AGAIN, ENDS], store=store, heir=heir) as f:
            chat.url, chat.http = f.front, f.http
            again = await chat.say("again")
            assert again.text == ("Well again." if heir else "Well again.Done.")


async def test_one_that_is_away_ends_its_task() -> None:
    async with firm("http://127.0.0.1:9/", [turn(TASK), ENDS]) as f:
        chat = f.chat()
        failed = await chat.say("go")
        assert (failed.of("SUBAGENT_ERROR")[0]["code"], failed.text) == ("provider_unavailable", "Done.")
        assert "The agent expert could not finish" in f.heard()[0]
        assert (await chat.say("well?")).text == "Done."


async def test_a_tool_that_nobody_has_is_told_to_it_in_its_task() -> None:
    unknown = [{**event, "toolCallId": "c-9"} for event in remote_call("{}")]
    async with (
        scripted(run_of(*unknown), run_of(*text("Then not.", "m-2"))) as server,
        firm(server.url, [turn(TASK), ENDS]) as f,
    ):
        chat = f.chat()
        done = await chat.say("go")
        assert (done.text, done.error) == ("Done.", None)
        assert "without a result, and asked nothing about it" in str(list(done.results.values()))
        conforms(chat)


async def test_beside_one_of_ours_in_a_workflow() -> None:
    shop = Shop()
    theirs = Emulator(script=[turn(refund("A1")), turn(say("That was it."))])
    ours = Emulator(script=[turn(say("Ours."), repeat=True)])
    async with behind(theirs, shop.tools) as back, serve(ours) as url, connecting() as http:
        model = OpenAIResponses("gpt-5.4-mini", base_url=url, api_key="k")
        both = parallel("both", RemoteAgent(f"{back}/agents/expert", name="expert"), Agent(name="own", model=model))
        async with serving(create_app(both, store="memory://")) as front:
            chat = AGUIClient(http, front)
            asked = await chat.say("go")
            assert (len(asked.interrupts), asked.text) == (1, "Ours.")
            done = await chat.decide(asked, approved=True)
            assert (done.text, shop.orders, len(ours.accepted)) == ("That was it.", ["A1"], 1)
            conforms(chat)
