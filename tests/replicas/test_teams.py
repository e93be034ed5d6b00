"""A team at work at one replica, while others take the next run, show it, decide for it, or go on with it (B5, B17)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agui_gate import Agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import TIMEOUT, client_of, streamed
from tests.product.live import cancel, connect, connecting, starting
from tests.product.shop import Shop, call, outputs, refund, say, status, users
from tests.product.test_subagents import by, requests, told
from tests.replicas.fleet import app_of
from tests.replicas.place import Place, moved
from tests.replicas.stage import Stage
from tests.replicas.test_across import Slow, begun
from tests.requirements import shows

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
YES = {"approved": True}
TO_CLERK, TASK = call("transfer_to_clerk"), call("clerk", task="Wait, then refund.")


@asynccontextmanager
async def offices(stage: Stage, tools: list[Any], *script: Json) -> AsyncIterator[Place]:
    """Replicas with an entry agent that hands off to a clerk, and has it do tasks."""
    emulator = Emulator(script=list(script))
    async with serve(emulator) as url, client_of() as client:
        common: Json = {"mode": "chain", "base_url": url, "api_key": "k"}
        clerk = Agent(name="clerk", model=OpenAIResponses("clerk", **common), tools=tools)
        entry = Agent(
            name="support", model=OpenAIResponses("entry", **common), tools=[clerk.as_tool()], handoffs=[clerk]
        )
        async with stage.fleet(app_of(entry, settings=Settings())) as fleet:
            yield Place(stage, fleet, emulator, client)


@shows("B5", "B17", "B18", "S22")
async def test_handed_off_at_one_the_heir_answers_at_another(stage: Stage) -> None:
    """It is busy elsewhere until the heir has answered here; then the heir goes on there, from its own response."""
    slow = Slow()
    script = by("entry", TO_CLERK), by("clerk", say("One moment."), call("wait")), by("clerk", say("Here."))
    async with offices(stage, slow.tools, *script, by("clerk", say("Still me."), repeat=True)) as there:
        here, elsewhere = there.at(0), there.at(1)
        chat = here.chat()
        async with starting(here, chat, "hello") as first:
            await first.until("TOOL_CALL_END")
            await begun(slow)
            busy = await elsewhere.post("/", chat.body())
            assert (busy.status, busy[0]["error"]["code"]) == (409, "thread_busy")
            async with connecting(elsewhere, chat) as seen:
                await seen.until('"toolCallName":"wait"')
                slow.go_on.set()
                apply(chat.messages, await first.end())
                shown = apply([], await seen.end())
        assert streamed(shown) == streamed(chat.messages)
        assert [m.get("name") for m in shown if m.get("content") in ("One moment.", "Here.")] == ["clerk", "clerk"]
        again = await moved(chat, elsewhere).say("still there?")
        assert (again.text, again.of("TEXT_MESSAGE_START")[0]["name"]) == ("Still me.", "clerk")
        newest = there.p.inputs()[-1]
        assert (newest["model"], users(newest)) == ("clerk", ["still there?"])
        assert newest["previous_response_id"] == there.emulator.accepted[-2].response_id
        there.p.assert_clean()


@shows("B1", "B5")
@pytest.mark.parametrize("way", ["heir", "task"])
async def test_what_is_asked_at_one_is_decided_at_another_and_goes_on_at_a_third(stage: Stage, way: str) -> None:
    shop = Shop()
    begins = by("entry", TO_CLERK if way == "heir" else call("clerk", task="Refund A1."))
    script = begins, by("clerk", refund("A1")), by("clerk", say("Refunded.")), by("entry", say("Done."), repeat=True)
    async with offices(stage, shop.tools, *script) as there:
        chat = there.at(0).chat()
        await chat.say("refund A1")
        (waiting,) = (await there.at(1).get("/approvals"))["approvals"]
        assert (waiting["agent"], (await there.at(1).decide(waiting["id"], YES))["state"]) == ("clerk", "done")
        done = await moved(chat, there.at(-1)).go()
        assert (done.text, shop.orders) == ("Refunded." if way == "heir" else "Refunded.Done.", ["A1"])
        there.p.assert_clean()


@shows("B17", "S33")
async def test_a_stop_elsewhere_ends_the_task(stage: Stage) -> None:
    slow = Slow()
    script = by("entry", TASK), by("clerk", call("wait")), by("entry", say("Yes?"), repeat=True)
    async with offices(stage, slow.tools, *script) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            await begun(slow)
            assert (await cancel(there.at(1), chat))["cancelled"] is True
            stopped = await first.end()
        assert (stopped.error, told(stopped)[-1]) == ("abort", ("ERROR", "clerk"))
        apply(chat.messages, stopped)
        assert (await moved(chat, there.at(-1)).say("hello?")).text == "Yes?"
        assert status(outputs(there.p.inputs()[-1])[-1]) == "cancelled"


@shows("B5", "B9")
async def test_a_killed_replicas_task_goes_on_at_another(stage: Stage) -> None:
    """What ran inside is unknown; the task itself is not lost, and what it asks is asked there."""
    slow, shop = Slow(), Shop()
    script = by("entry", TASK), by("clerk", call("wait")), by("clerk", refund("A1")), by("clerk", say("Refunded."))
    async with offices(stage, [*slow.tools, *shop.tools], *script, by("entry", say("Done."), repeat=True)) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            apply(chat.messages, await first.until("TOOL_CALL_END"))
            async with asyncio.timeout(TIMEOUT):
                await slow.begun.wait()
            await there.fleet.replicas[0].kill()
        stage.time_passes()
        elsewhere = moved(chat, there.at(1))
        assert (await connect(there.at(1), chat))[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        asked = await elsewhere.go()
        assert [status(output) for output in outputs(requests(there.p, "clerk")[-1])] == ["unknown"]
        done = await elsewhere.decide(asked, approved=True)
        assert (done.text, shop.orders, slow.runs) == ("Refunded.Done.", ["A1"], 1)
