"""A call expires while a run is at work for another one: the run's stream tells of it, and it isn't asked again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, Gate, create_app, tool
from agui_gate.config.settings import Settings
from agui_gate.runs.engine import Engine
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.product.kit import CARD_TOOL, TIMEOUT, Product, Stream, client_of, product, running
from tests.product.live import Following, starting
from tests.product.shop import call, outputs, say, script, status
from tests.product.test_expiry import HOUR, Clock
from tests.product.test_subagents import BOSS, CLERK, PACKER, SECOND, TASK, by
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B26")]

YES = {"approved": True}


class Desk:
    """Two calls that are asked about at once: one for an hour, and one whose tool waits for somebody."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.path = Clock(), str(folder / "t.db")
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.ran: list[str] = []

        @tool(gate=Gate(expires_after=HOUR / 1000))
        def quick() -> str:
            """Quick."""
            self.ran.append("quick")
            return "quick"

        @tool(gate=True)
        async def slow() -> str:
            """Slow."""
            self.ran.append("slow")
            self.begun.set()
            async with asyncio.timeout(TIMEOUT):
                await self.go_on.wait()
            return "slow"

        self.tools = [quick, slow]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@asynccontextmanager
async def at_work(desk: Desk, **chat: Any) -> AsyncIterator[tuple[Product, Following, str]]:
    """A run at work for `slow`, its reader, and the id of the call of `quick`, which has expired by now."""
    store = SQLiteStore(desk.path, clock=desk.clock)
    async with product(desk.tools, script(call("quick"), call("slow")), store=store) as p:
        person = p.chat(**chat)
        asked = await person.say("both")
        quick, slow = asked.interrupts or [{"toolCallId": one["call_id"], **one} for one in await pending(p)]
        answer = [{"interruptId": slow["id"], "status": "resolved", "payload": YES}]
        async with starting(p, person, resume=answer) as reader:
            async with asyncio.timeout(TIMEOUT):
                await desk.begun.wait()
            desk.clock.later()
            yield p, reader, quick["toolCallId"]


async def pending(p: Product) -> list[dict[str, Any]]:
    return list((await p.get("/approvals"))["approvals"])


def told(desk: Desk, p: Product, stream: Stream, call_id: str) -> None:
    """Both outcomes were told once, nothing is asked again, and the model heard of both."""
    results = [event["toolCallId"] for event in stream.of("TOOL_CALL_RESULT")]
    assert results.count(call_id) == 1
    assert status(stream.results[call_id]) == "expired"
    assert (stream.interrupts, stream.text, desk.ran) == ([], "Done.", ["slow"])
    expired, done = outputs(p.inputs()[-1])
    assert (status(expired), done) == ("expired", "slow")


@pytest.mark.parametrize("chat", [{}, {"tools": [CARD_TOOL]}, {"protocol": "1.0"}], ids=["interrupts", "cards", "1.0"])
async def test_it_is_told_while_the_other_one_is_at_work(desk: Desk, chat: dict[str, Any]) -> None:
    more = {"extra": {"protocolVersion": "1.0"}} if "protocol" in chat else chat
    async with at_work(desk, **more) as (p, reader, call_id):
        seen = await reader.until('expired\\"')
        assert status(seen.results[call_id]) == "expired"
        desk.go_on.set()
        told(desk, p, await reader.end(), call_id)
        p.assert_clean()


async def test_also_where_another_process_has_written_it(desk: Desk) -> None:
    async with at_work(desk) as (p, reader, call_id):
        other = SQLiteStore(desk.path, clock=desk.clock)
        await other.start()
        assert [place[1] for place in (await other.expire()).threads]
        await other.aclose()
        await reader.until('expired\\"')
        desk.go_on.set()
        told(desk, p, await reader.end(), call_id)


async def test_a_task_goes_on_when_what_it_asked_has_expired(desk: Desk) -> None:
    """The run waits for nobody then: the task hears of it, and the agent that delegated hears of both tasks."""
    turns = [
        by(BOSS, TASK, SECOND),
        by(CLERK, call("quick")),
        by(PACKER, call("slow")),
        by(PACKER, say("Packed.")),
        by(CLERK, say("Too late.")),
        by(BOSS, say("Done.")),
    ]
    emulator = Emulator(script=turns)
    async with serve(emulator) as url, client_of() as client:

        def agent(name: str, model: str, *tools: Any) -> Agent:
            return Agent(name=name, model=OpenAIResponses(model, base_url=url, api_key="k"), tools=tools)

        clerk, packer = agent("clerk", CLERK, desk.tools[0]), agent("packer", PACKER, desk.tools[1])
        boss = agent("support", BOSS, clerk.as_tool(), packer.as_tool())
        store = SQLiteStore(desk.path, clock=desk.clock)
        async with running(create_app(boss, store=store, settings=Settings())) as at:
            p = Product(emulator, None, at, client)
            person = p.chat()
            asked = (await person.say("both")).interrupts
            (slow,) = [one["id"] for one in asked if one["metadata"]["tool"] == "slow"]
            async with starting(p, person, resume=[{"interruptId": slow, "status": "resolved", "payload": YES}]) as run:
                async with asyncio.timeout(TIMEOUT):
                    await desk.begun.wait()
                desk.clock.later()
                desk.go_on.set()
                done = await run.end()
    assert (done.interrupts, desk.ran) == ([], ["slow"])
    assert done.text.endswith("Done.")
    expired = [content for content in done.results.values() if content.startswith("{")]
    assert [status(content) for content in expired] == ["expired"]
    assert {"Too late.", "Packed.", "slow"} <= set(done.results.values())
    assert emulator.refusals == []


async def test_at_the_latest_before_the_run_would_ask_about_it_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tidies_nothing(engine: Engine) -> None:
        """As a process whose store is slow."""

    monkeypatch.setattr(Engine, "_tidy", tidies_nothing)
    async with at_work(desk) as (p, reader, call_id):
        desk.go_on.set()
        told(desk, p, await reader.end(), call_id)
        p.assert_clean()
