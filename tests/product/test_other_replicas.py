"""Three replicas on one store and one bus: what a client on one of them sees of what happens on the others.

Each has its own connection to one SQLite file, and its own end of a bus with a wire in between.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate import Agent, create_app, tool
from agui_gate.bus.memory import MemoryBus
from agui_gate.config.settings import Settings
from agui_gate.extras.inbox import feed as inbox
from agui_gate.readers import wake_ups
from agui_gate.runs import heartbeat
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve
from tests.bus.distant import DistantBus
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, Stream, client_of, running
from tests.product.live import Following, connecting, frame_id, frames, rest, starting
from tests.product.shop import call, say
from tests.product.test_approval_events import watching
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17", "B18")]

Json = dict[str, Any]
YES = {"approved": True}
AT_WORK = "agui-gate:at_work"


@pytest.fixture(autouse=True)
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is seen is told by signals and by the bus: nothing looks by itself in the time of a test."""
    monkeypatch.setattr(wake_ups, "LOOK_SECONDS", 3600.0)
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 3600.0)
    monkeypatch.setattr(heartbeat, "STOP_MS", 3_600_000)


class Till:
    """A gated payment that takes as long as a test wants."""

    def __init__(self) -> None:
        self.paid = 0
        self.begun, self.go = asyncio.Event(), asyncio.Event()

        @tool(gate=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.begun.set()
            await self.go.wait()
            self.paid += 1
            return f"Paid {amount}."

        self.tools = [pay]


PAY = {"output": [call("pay", amount=5)], "when": {"user": "pay"}}
PAUSE = {"output": [say("word " * 200)], "fault": {"kind": "hang", "after_events": 12}}
THANKS = {"output": [say("Thanks.")], "repeat": True}


@asynccontextmanager
async def three(path: Path, *script: Json) -> AsyncIterator[tuple[Till, Product, Product, Product]]:
    till, wire, emulator = Till(), MemoryBus(), Emulator(script=list(script))
    async with AsyncExitStack() as stack:
        base = await stack.enter_async_context(serve(emulator))
        client = await stack.enter_async_context(client_of())
        made = []
        for _ in range(3):
            model = OpenAIResponses("gpt-5.4-mini", base_url=base, api_key="k")
            app = create_app(
                Agent(name="support", model=model, tools=till.tools),
                store=f"sqlite:///{path}",
                bus=DistantBus(wire),
                settings=Settings(),
            )
            made.append(Product(emulator, app, await stack.enter_async_context(running(app)), client))
        yield till, made[0], made[1], made[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def on(p: Product, chat: Chat) -> Chat:
    """The same client, whose next request lands on another replica."""
    chat.url, chat.product = p.url, p
    return chat


async def asked(p: Product, **more: Any) -> tuple[Chat, Stream, Json]:
    """A chat that waits for a person, its last run, and what waits."""
    chat = p.chat(thread_id="t", **more)
    stream = await chat.say("please pay")
    (waits,) = (await p.get("/approvals"))["approvals"]
    return chat, stream, waits


@asynccontextmanager
async def reading(p: Product, chat: Chat, route: str) -> AsyncIterator[Following]:
    """A page on that thread, connected over this route."""
    again = p.chat(thread_id=chat.thread_id, path=route, tools=chat.tools)
    async with asyncio.timeout(TIMEOUT), starting(p, again) as reader:
        yield reader


@pytest.mark.parametrize("route", ["/agents/support/connect", "/copilotkit/agent/support/connect"])
async def test_a_page_sees_what_is_decided_elsewhere_and_how_it_goes_on(path: Path, route: str) -> None:
    """The page is connected to A, the answer is given to B, and the conversation goes on there."""
    async with three(path, PAY, PAUSE, THANKS) as (till, a, b, c):
        chat, _, waits = await asked(c)
        answer = asyncio.ensure_future(b.decide(waits["id"], YES | {"continue": True}))
        await till.begun.wait()
        async with reading(a, chat, route) as page:
            assert (await page.until(AT_WORK)).types()[-1] == "CUSTOM"
            till.go.set()
            await page.until("Paid 5.")
            decided = await answer
            assert (decided["state"], till.paid) == ("done", 1)
            if "RUN_FINISHED" in page.raw:  # it was between the two; the page connects again, as it asks for its calls
                await page.end()
        async with reading(a, chat, route) as page:
            await page.until("TEXT_MESSAGE_CONTENT")
            assert (await c.client.post(f"{c.url}/threads/t/cancel")).json() == {"cancelled": True}
            assert (await page.end()).types()[-1] == "RUN_ERROR"


async def test_a_page_that_asks_for_its_calls_sees_it_at_once(path: Path) -> None:
    async with three(path, PAY, THANKS) as (till, a, b, c):
        *_, waits = await asked(a)
        till.go.set()
        before = await a.get("/threads/t?view=calls")
        decided = await b.decide(waits["id"], YES | {"continue": True})
        after = await c.get("/threads/t?view=calls")
        assert [one["state"] for one in before["calls"]] == ["pending"]
        assert [one["state"] for one in after["calls"]] == ["done"]
        assert after["run"]["key"] == decided["run"]["key"] != before["run"]["key"]


async def test_the_stream_of_approvals_tells_what_other_replicas_do(path: Path) -> None:
    async with three(path, PAY, THANKS) as (till, a, b, c), watching(a) as seen:
        assert await seen.next() == ("waiting", {"ids": []})
        *_, waits = await asked(b)
        assert await seen.next() == ("approval", waits)
        till.go.set()
        await c.decide(waits["id"], YES)
        states = [(await seen.next())[1]["state"]]
        while states[-1] != "done":
            states.append((await seen.next())[1]["state"])
        assert states in (["claimed", "done"], ["done"])


@pytest.mark.parametrize("style", ["card", "interrupt"])
async def test_an_answer_in_a_run_may_land_anywhere(path: Path, style: str) -> None:
    async with three(path, PAY, THANKS) as (till, a, _, c):
        chat, question, _ = await asked(a, tools=[CARD_TOOL] if style == "card" else [])
        till.go.set()
        done = await on(c, chat).decide(question, approved=True)
        assert (done.text, till.paid) == ("Thanks.", 1)


async def test_a_run_is_followed_from_any_event_on_another_replica(path: Path) -> None:
    async with three(path, {"output": [say("word " * 20)]}) as (_, a, b, c):
        chat = a.chat(thread_id="t")
        async with starting(a, chat, "go") as reader:
            await reader.end()
        said = frames(reader.raw)
        for number, each in enumerate(said):
            p = (b, c)[number % 2]
            assert await rest(p, reader.run_key, frame_id(each)) == "".join(said[number + 1 :])


async def test_a_second_run_is_refused_everywhere_and_a_stop_works_anywhere(path: Path) -> None:
    async with three(path, PAUSE, THANKS) as (_, a, b, c):
        chat = a.chat(thread_id="t")
        async with starting(a, chat, "go") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
            for p in (a, b, c):
                other = await p.chat(thread_id="t").say("me too")
                assert (other.status, other[-1]["error"]["code"]) == (409, "thread_busy")
            a.emulator.load([THANKS])
            stopped = await b.client.post(f"{b.url}/copilotkit/agent/support/stop/t", json={})
            assert stopped.json()["stopped"] is True
            assert (await reader.end()).types()[-1] in ("RUN_FINISHED", "RUN_ERROR")
        assert (await on(c, chat).say("again")).text == "Thanks."


async def test_a_thread_is_deleted_while_another_replica_runs_it(path: Path) -> None:
    async with three(path, PAUSE) as (_, a, b, c):
        chat = a.chat(thread_id="t")
        async with starting(a, chat, "go") as reader, connecting(c, chat) as other:
            await reader.until("TEXT_MESSAGE_CONTENT")
            await other.until("TEXT_MESSAGE_CONTENT")
            assert (await b.client.delete(f"{b.url}/threads/t")).json() == {"id": "t", "deleted": True}
            assert (await reader.end()).types()[-1] == (await other.end()).types()[-1]
        assert (await a.get("/threads/t"))["status_code"] == 404
