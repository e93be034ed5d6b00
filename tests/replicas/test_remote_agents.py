"""An agent elsewhere, behind two replicas: either side dies while it works, or while its question waits (B5, B9)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from agui_gate import Agent
from agui_gate.client import Limits
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.remote_agui import RemoteAgent
from agui_gate_adapters.testkit import Emulator, serve
from agui_gate_adapters.testkit.agui.stream import apply
from tests.client.servers import Scripted, run_of, scripted
from tests.interop.streams import FINISHED, STARTED, call, sse, text
from tests.product.kit import TIMEOUT, client_of
from tests.product.live import cancel, connect, starting
from tests.product.shop import Shop, outputs, refund, say, status
from tests.product.shop import call as model_call
from tests.product.test_subagents import by
from tests.remote.kit import behind
from tests.replicas.fleet import app_of
from tests.replicas.place import Place, moved
from tests.replicas.stage import Stage
from tests.requirements import shows
from tests.support.proxy import Proxy

pytestmark = [pytest.mark.anyio, shows("B5", "B9", "B15")]

YES = {"approved": True}
ASKED = {"id": "i-1", "reason": "tool_call", "toolCallId": "c-1"}
ASKS = sse(STARTED, *call(), FINISHED | {"outcome": {"type": "interrupt", "interrupts": [ASKED]}})
TASK = by("boss", model_call("expert", task="Refund A1."))
ENDS = by("boss", say("Done."))
DONE = run_of(*text("It is done.", "m-9"))


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Stage:
    return Stage.called("2:postgres", request)


@asynccontextmanager
async def firm(stage: Stage, url: str, *script: Any) -> AsyncIterator[Place]:
    """Replicas whose boss has tasks done by an expert at ``url``."""
    emulator = Emulator(script=[TASK, *script, by("boss", say("Done."), repeat=True)])
    async with serve(emulator) as provider, client_of() as client:
        expert = RemoteAgent(url, name="expert", limits=Limits(idle=TIMEOUT, total=TIMEOUT))
        model = OpenAIResponses("boss", base_url=provider, api_key="k")
        app = app_of(Agent(name="support", model=model, tools=[expert.as_tool()]), settings=Settings())
        async with stage.fleet(app) as fleet:
            yield Place(stage, fleet, emulator, client)
    assert not emulator.refusals


class Hanging:
    """A reply of which nothing comes but the beginning, or not even that."""

    def __init__(self, *, says: bool = True) -> None:
        self.begun, self.says = asyncio.Event(), says

    async def __call__(self) -> AsyncIterator[bytes]:
        if self.says:
            yield sse(STARTED, *text("Let me", "m-1")[:2]).encode()
        self.begun.set()
        await asyncio.Event().wait()
        yield b""

    async def wait(self) -> None:
        async with asyncio.timeout(TIMEOUT):
            await self.begun.wait()


def yes(ask: Any) -> list[Any]:
    """`resume` with a yes to it."""
    return [{"interruptId": ask["id"], "status": "resolved", "payload": YES}]


def told(remote: Scripted) -> int:
    """How often it was told yes."""
    return sum(entry.get("payload") == YES for body in remote.asked for entry in body.get("resume") or ())


def heard(there: Place) -> list[str]:
    """What the boss was told of its tasks."""
    return outputs(there.p.inputs()[-1])


async def test_a_replica_dies_while_the_question_waits(stage: Stage) -> None:
    async with scripted(ASKS, DONE) as remote, firm(stage, remote.url) as there:
        chat = there.at(0).chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        await there.fleet.replicas[0].kill()
        here = moved(chat, there.at(1))
        assert [i["id"] for i in (await connect(there.at(1), chat)).interrupts] == [ask["id"]]
        done = await here.resume((ask["id"], YES))
        assert (done.text, heard(there), told(remote)) == ("It is done.Done.", ["It is done."], 1)


async def test_a_replica_dies_while_the_remote_works_and_the_task_goes_on_at_another(stage: Stage) -> None:
    """There it is stopped, in the middle of what was agreed to."""
    first, second = Hanging(), Hanging()
    async with scripted(first, ASKS, second, DONE) as remote, firm(stage, remote.url) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "refund A1") as run:
            apply(chat.messages, await run.until("TOOL_CALL_END"))
            await first.wait()
            await there.fleet.replicas[0].kill()
        stage.time_passes()
        here = moved(chat, there.at(1))
        shown = await connect(there.at(1), chat)
        assert [e["name"] for e in shown if e["type"] == "CUSTOM"] == ["agui-gate:interrupted"]
        (ask,) = (await here.go()).interrupts
        async with starting(there.at(1), here, resume=yes(ask)) as run:
            await second.wait()
            assert (await cancel(there.at(1), here))["cancelled"] is True
            apply(here.messages, await run.end())
        record = await there.at(1).get(f"/approvals/{ask['id']}")
        after = await here.say("and?")
        assert (record["state"], told(remote), after.text) == ("done", 1, "Done.")
        assert status(heard(there)[0]) == "cancelled"


async def test_a_replica_dies_while_the_remote_does_what_was_agreed_to(stage: Stage) -> None:
    """Nobody knows what came of it, and yes is not said again. The task goes on, and the remote is told so."""
    silent = Hanging(says=False)
    async with scripted(ASKS, silent, DONE) as remote, firm(stage, remote.url) as there:
        chat = there.at(0).chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        async with starting(there.at(0), chat, resume=yes(ask)) as run:
            await run.until("RUN_STARTED")
            await silent.wait()
            await there.fleet.replicas[0].kill()
        stage.time_passes()
        here = moved(chat, there.at(1))
        assert (await connect(there.at(1), chat))[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
        done = await here.resume((ask["id"], YES))
        record = await there.at(1).get(f"/approvals/{ask['id']}")
        assert (record["state"], told(remote), done.text) == ("unknown", 1, "It is done.Done.")
        assert heard(there) == ["It is done."]


async def test_the_remote_is_away_when_it_is_told_and_has_forgotten_everything_when_it_is_back(stage: Stage) -> None:
    """Its failure ends the task, and nothing ran. The next one's question is answered when it remembers nothing."""
    shop = Shop()
    said = [{"output": [item], "repeat": True} for item in (refund("A1"), say("That was it."))]
    models = [Emulator(script=[one]) for one in said]
    async with (
        behind(models[0], shop.tools) as before,
        behind(models[1], shop.tools) as after,
        Proxy(urlsplit(before).port or 0) as proxy,
        firm(stage, f"http://127.0.0.1:{proxy.port}/agents/expert", ENDS, TASK) as there,
    ):
        chat = there.at(0).chat()
        (ask,) = (await chat.say("refund A1")).interrupts
        await proxy.away()
        decided = await there.at(1).decide(ask["id"], YES)
        assert decided["state"] == "claimed", "it is told by the next run"
        assert (await moved(chat, there.at(0)).go()).text == "Done."
        assert (status(heard(there)[0]), (await there.at(0).get(f"/approvals/{ask['id']}"))["state"]) == (
            "error",
            "failed",
        )
        await proxy.restore()
        (second,) = (await moved(chat, there.at(1)).say("again")).interrupts
        proxy.cut()
        proxy.lead_to(urlsplit(after).port or 0)
        done = await moved(chat, there.at(1)).resume((second["id"], YES))
        assert (done.text, shop.orders) == ("That was it.Done.", [])
        assert (await moved(chat, there.at(0)).say("thanks")).text == "Done."
    assert not models[0].refusals
    assert not models[1].refusals
