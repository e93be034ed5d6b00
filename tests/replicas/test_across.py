"""What one replica does is seen, followed, stopped and decided at every other one (B5, B17, B18)."""

import asyncio
from typing import Any, ClassVar

import pytest

from agui_gate import tool
from agui_gate_adapters.testkit.agui.stream import apply
from tests.product.kit import CARD_TOOL, TIMEOUT, Chat, Product, streamed
from tests.product.live import Following, cancel, connect, connecting, frame_id, over, rest, starting
from tests.product.shop import Shop, call, refund, say, script
from tests.product.test_approval_events import Watching, watching
from tests.replicas.place import Place, moved, place
from tests.replicas.stage import Stage
from tests.requirements import shows

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
YES = {"approved": True}
WORDS = {"type": "message", "text": "word " * 40}


class Slow:
    """A free tool that waits for the test."""

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.runs = 0

        @tool
        async def wait() -> str:
            """Wait."""
            self.runs += 1
            self.begun.set()
            await self.go_on.wait()
            return "waited"

        self.tools = [wait]

    turns: ClassVar[list[Json]] = [
        {"output": [WORDS, call("wait")]},
        {"output": [say("Done. " * 30)]},
        {"output": [say("Back.")], "repeat": True},
    ]


async def begun(slow: Slow) -> None:
    async with asyncio.timeout(TIMEOUT):
        await slow.begun.wait()


@shows("B17")
async def test_a_reader_elsewhere_follows_a_run_from_any_cursor(stage: Stage) -> None:
    slow = Slow()
    async with place(stage, slow.tools, slow.turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            await first.until("TOOL_CALL_END")
            said = first.frames
            readers = [
                asyncio.ensure_future(rest(p, first.run_key, last))
                for p in there.everywhere
                for last in [None, *map(frame_id, said)]
            ]
            slow.go_on.set()
            await first.end()
        expected = ["".join(first.frames[number:]) for number in range(len(said) + 1)]
        assert await asyncio.gather(*readers) == expected * len(there.everywhere)
        late = [await rest(p, first.run_key, frame_id(said[3])) for p in there.everywhere]
        assert late == [expected[4]] * len(late)


@shows("B17", "B5")
async def test_who_comes_back_elsewhere_sees_the_conversation_and_its_live_end(stage: Stage) -> None:
    slow = Slow()
    async with place(stage, slow.tools, slow.turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            await first.until("TOOL_CALL_END")
            others = [asyncio.ensure_future(connect(p, chat)) for p in there.everywhere[1:]]
            async with connecting(there.at(1), chat) as seen:
                await seen.until("TOOL_CALL_END")
                slow.go_on.set()
                stream = await first.end()
                apply(chat.messages, stream)
                assert streamed(apply([], await seen.end())) == streamed(chat.messages)
        for other in await asyncio.gather(*others):
            assert streamed(apply([], other)) == streamed(chat.messages)
            assert other[-1]["type"] == "RUN_FINISHED"


@shows("B17", "S33")
async def test_a_stop_elsewhere_stops_it(stage: Stage) -> None:
    slow = Slow()
    async with place(stage, slow.tools, slow.turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            await first.until("TOOL_CALL_END")
            await begun(slow)
            assert (await cancel(there.at(1), chat))["cancelled"] is True
            stream = await first.end()
        assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "abort")
        await over(there.at(2), chat, "cancelled")
        assert (await moved(chat, there.at(2)).say("and now?")).text


@shows("B18")
async def test_a_busy_thread_is_busy_everywhere(stage: Stage) -> None:
    slow = Slow()
    async with place(stage, slow.tools, slow.turns) as there:
        chat = there.at(0).chat()
        async with starting(there.at(0), chat, "go") as first:
            await first.until("TOOL_CALL_END")
            for p in there.everywhere:
                second = await p.post("/", chat.body())
                assert (second.status, second[0]["error"]["code"]) == (409, "thread_busy")
            slow.go_on.set()
            assert (await first.end())[-1]["type"] == "RUN_FINISHED"
        assert slow.runs == 1


async def until(page: Watching, state: str) -> Json:
    """The next record that a page is told in this state."""
    while True:
        name, record = await page.next()
        assert name in ("approval", "waiting")
        if name == "approval" and record["state"] == state:
            return dict(record)


async def answered(there: Place, chat: Chat, asked: Any, way: str) -> None:
    """Say yes at the last replica."""
    elsewhere = there.at(-1)
    if way == "http":
        (waiting,) = (await elsewhere.get("/approvals"))["approvals"]
        assert (await elsewhere.decide(waiting["id"], YES))["state"] == "done"
    else:
        assert (await moved(chat, elsewhere).decide(asked, approved=True)).text == "Done."


@shows("B1", "B5", "B6")
@pytest.mark.parametrize("way", ["card", "resume", "http"])
async def test_an_answer_elsewhere_is_carried_out_and_seen_where_the_thread_is_shown(stage: Stage, way: str) -> None:
    shop = Shop()
    async with place(stage, shop.tools, script(refund())) as there:
        here = there.at(0)
        chat = here.chat(tools=[CARD_TOOL] if way == "card" else [])
        asked = await chat.say("refund A1")
        async with watching(here) as page:
            assert (await until(page, "pending"))["decision"] is None
            await answered(there, chat, asked, way)
            assert (await until(page, "done"))["decision"]["approved"] is True
        assert shop.orders == ["A1"]
        for p in there.everywhere:
            thread = await p.get(f"/threads/{chat.thread_id}")
            assert thread["calls"][0]["state"] == "done"
            late = await p.decide(thread["calls"][0]["id"], {"approved": False})
            assert (late["status_code"], late["state"]) == (409, "done")
        assert shop.orders == ["A1"]


@shows("B5", "B17")
@pytest.mark.parametrize("path", ["/agents/support/connect", "/copilotkit/agent/support/connect"])
async def test_a_page_that_watches_sees_what_was_decided_elsewhere_go_on(stage: Stage, path: str) -> None:
    slow, shop = Slow(), Shop()
    turns = [{"output": [refund()]}, {"output": [call("wait")]}, {"output": [say("Refunded.")], "repeat": True}]
    async with place(stage, [*slow.tools, *shop.tools], turns) as there:
        here, elsewhere = there.at(0), there.at(2)
        chat = here.chat()
        asked = await chat.say("refund A1")
        decided = await elsewhere.decide(asked.interrupts[0]["id"], {**YES, "continue": True})
        await begun(slow)
        body = {**chat.body(), "messages": []}
        async with here.client.stream("POST", here.url + path, json=body) as response:
            page = Following(response, body)
            await page.until("TOOL_CALL_END")
            slow.go_on.set()
            seen = await page.end()
        assert (seen.text, seen[-1]["type"]) == ("Refunded.", "RUN_FINISHED")
        assert (await over(here, chat, "finished"))["run"]["key"] == decided["run"]["key"]
        assert shop.orders == ["A1"]


@shows("B6")
async def test_everybody_says_yes_everywhere_at_once(stage: Stage) -> None:
    shop = Shop()
    async with place(stage, shop.tools, script(refund())) as there:
        chat = there.at(0).chat()
        (ask,) = (await chat.say("refund A1")).interrupts

        async def click(p: Product) -> int:
            return int((await p.decide(ask["id"], YES))["status_code"])

        codes = await asyncio.gather(*(click(p) for p in there.everywhere * 10))
        assert sorted(set(codes)) == [200, 409]
        assert codes.count(200) == 1
        assert shop.orders == ["A1"]
        assert (await moved(chat, there.at(1)).go()).text == "Done."
