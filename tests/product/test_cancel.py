"""Stopping at any moment: every open call gets its result, the provider's stream is closed, the next turn works."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager

import pytest

from agui_gate import ToolContext, tool
from agui_gate.config.settings import Settings
from tests.product.kit import CARD_TOOL, MODES, TIMEOUT, parse, product
from tests.product.shop import SEARCH, Endless, Shop, call, outputs, refund, say
from tests.requirements import shows

pytestmark = pytest.mark.anyio

LONG = {"type": "message", "text": "word " * 400}


@asynccontextmanager
async def reading(p, chat, text=None, **more):
    """A client that reads its run itself; leaving the block is leaving the server."""
    if text is not None:
        chat.messages.append({"id": f"u{len(chat.messages)}", "role": "user", "content": text})
    async with p.client.stream("POST", p.url + chat.path, json=chat.body(**more)) as response:
        yield _Reader(response)


class _Reader:
    def __init__(self, response) -> None:
        self.response, self.raw = response, ""
        self.chunks = response.aiter_text()

    async def until(self, marker):
        """Read on until ``marker`` was streamed."""
        async with asyncio.timeout(TIMEOUT):
            while marker not in self.raw:
                self.raw += await anext(self.chunks)
        return parse(self.raw[: self.raw.rindex("\n\n") + 2])


async def idle(p, chat, status="cancelled"):
    """Wait until the thread's run is over, by asking for it."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            thread = await p.get(f"/threads/{chat.thread_id}")
            if thread["status_code"] == 200 and thread["run"]["status"] != "running":
                assert thread["run"]["status"] == status
                return thread


async def ended(p, number):
    """Wait until the provider notices how its n-th answer ended."""
    async with asyncio.timeout(60):
        while len(p.emulator.accepted) <= number or p.emulator.accepted[number].ended is None:
            await p.get("/healthz")  # gives everybody a turn
    return p.emulator.accepted[number].ended


def results(thread):
    return {m["toolCallId"]: m for m in thread["messages"] if m["role"] == "tool"}


@shows("S30", "S33", "B17")
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_in_the_middle_of_the_text(mode: str) -> None:
    turns = [
        {"output": [LONG], "when": {"user": "talk"}, "fault": {"kind": "hang", "after_events": 12}},
        {"output": [say("Back.")], "repeat": True},
    ]
    async with product([], turns, mode=mode) as p:
        chat = p.chat()
        async with reading(p, chat, "talk") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
        assert await ended(p, 0) == "aborted"
        thread = await idle(p, chat)
        partial = thread["messages"][-1]
        assert partial["role"] == "assistant"
        assert 0 < len(partial["content"]) < 2000
        assert (await chat.say("go on")).text == "Back."
        assert len(chat.messages) == 3
        p.assert_clean()


@shows("S29", "S30", "S31", "S33", "B9")
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_in_the_middle_of_free_tools(mode: str) -> None:
    begun, stopped, runs = asyncio.Event(), asyncio.Event(), []

    @tool
    async def slow(job: str) -> str:
        """Takes for ever."""
        runs.append(job)
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    @tool
    async def quick() -> str:
        """Is done at once."""
        return "quick result"

    turns = [
        {"output": [call("quick"), call("slow", job="a"), call("slow", job="b")]},
        {"output": [say("Back.")], "repeat": True},
    ]
    async with product([slow, quick], turns, mode=mode) as p:
        chat = p.chat()
        async with reading(p, chat, "work") as reader:
            await reader.until("quick result")
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
        thread = await idle(p, chat)
        assert stopped.is_set()
        told = sorted(m["content"] for m in results(thread).values())
        assert len(told) == 3
        assert told[0] == "quick result"
        assert [json.loads(t)["status"] for t in told[1:]] == ["cancelled"] * 2
        assert (await chat.say("go on")).text == "Back."
        assert len(outputs(p.inputs()[-1])) == 3
        assert sorted(runs) == ["a", "b"], "nothing is run again"
        p.assert_clean()


@shows("S29", "S30", "S31", "B9", "B10")
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_in_the_middle_of_an_approved_tool(mode: str) -> None:
    endless = Endless()
    turns = [{"output": [call("pay", amount=5)]}, {"output": [say("Back.")], "repeat": True}]
    async with product([endless.pay], turns, mode=mode) as p:
        chat = p.chat()
        (ask,) = (await chat.say("pay")).interrupts
        yes = [{"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}]
        async with reading(p, chat, resume=yes):
            async with asyncio.timeout(TIMEOUT):
                await endless.begun.wait()
        thread = await idle(p, chat)
        assert json.loads(results(thread)[ask["toolCallId"]]["content"])["status"] == "unknown"
        await chat.go(resume=yes)  # the same answer once more is not a new consent
        assert json.loads(results({"messages": chat.messages})[ask["toolCallId"]]["content"])["status"] == "unknown"
        assert (await chat.say("and?")).text == "Back."
        assert endless.runs == [5]
        p.assert_clean()


@shows("S29", "S30", "S33")
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_while_a_gated_call_is_made_known(mode: str) -> None:
    """A free sibling still runs when the client leaves: the question was never shown, so the gated call is closed."""
    begun = asyncio.Event()
    shop = Shop()

    @tool
    async def slow() -> str:
        """Takes for ever."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    turns = [{"output": [refund(), call("slow")]}, {"output": [say("Back.")], "repeat": True}]
    async with product([*shop.tools, slow], turns, mode=mode) as p:
        chat = p.chat()
        async with reading(p, chat, "both") as reader:
            await reader.until("TOOL_CALL_END")
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
        thread = await idle(p, chat)
        assert [json.loads(m["content"])["status"] for m in results(thread).values()] == ["cancelled"] * 2
        assert thread["approvals"] == []
        assert (await chat.say("go on")).text == "Back."
        assert shop.refunds == []
        p.assert_clean()


@shows("S30", "S33", "B2")
@pytest.mark.parametrize("hitl", ["card", "interrupt"])
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_while_a_question_waits_changes_nothing(mode: str, hitl: str) -> None:
    shop = Shop()
    turns = [{"output": [refund()]}, {"output": [say("Back.")], "repeat": True}]
    async with product(shop.tools, turns, mode=mode, hitl=hitl) as p:
        chat = p.chat(tools=[CARD_TOOL] if hitl == "card" else [])
        async with reading(p, chat, "refund") as reader:
            await reader.until("RUN_FINISHED")
        thread = await idle(p, chat, "waiting")
        (waiting,) = thread["approvals"]
        chat.messages = thread["messages"]
        stopped = await chat.go(resume=[{"interruptId": waiting["id"], "status": "cancelled"}])
        assert json.loads(stopped.results[waiting["call_id"]])["status"] == "cancelled"
        assert stopped.text == "Back."
        assert shop.refunds == []
        p.assert_clean()


@shows("S29", "S33", "B25")
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_in_the_middle_of_arguments(mode: str) -> None:
    shop = Shop()
    turns = [
        {
            "output": [say("Let me see."), call("search", q="x" * 400)],
            "when": {"user": "find"},
            "fault": {"kind": "hang", "after_events": 14},
        },
        {"output": [say("Back.")], "repeat": True},
    ]
    async with product(shop.tools, turns, mode=mode) as p:
        chat = p.chat()
        async with reading(p, chat, "find") as reader:
            await reader.until("TOOL_CALL_ARGS")
        assert await ended(p, 0) == "aborted"
        thread = await idle(p, chat)
        (told,) = results(thread).values()
        assert json.loads(told["content"])["status"] == "cancelled"
        assert (await chat.say("go on")).text == "Back."
        assert shop.searches == []
        p.assert_clean()


@shows("S32")
@pytest.mark.parametrize("mode", MODES)
async def test_a_result_that_comes_after_the_cancel_is_ignored(mode: str) -> None:
    begun, release, ran = threading.Event(), threading.Event(), threading.Event()

    @tool
    def stubborn() -> str:
        """Can't be stopped."""
        begun.set()
        release.wait(TIMEOUT)
        ran.set()
        return "too late"

    turns = [{"output": [call("stubborn")]}, {"output": [say("Back.")], "repeat": True}]
    async with product([stubborn], turns, mode=mode) as p:
        chat = p.chat()
        async with reading(p, chat, "work") as reader:
            await reader.until("TOOL_CALL_END")
            assert await asyncio.to_thread(begun.wait, TIMEOUT)
        before = await idle(p, chat)
        release.set()
        assert await asyncio.to_thread(ran.wait, TIMEOUT)
        assert (await chat.say("go on")).text == "Back."
        after = await p.get(f"/threads/{chat.thread_id}")
        assert results(after) == results(before)
        assert "too late" not in json.dumps(after)
        p.assert_clean()


@shows("S33")
@pytest.mark.parametrize("dialect", ["auto", "compat", "1.0"])
async def test_what_a_stopped_run_says_to_whoever_still_listens(dialect: str) -> None:
    """The server stops (drain) while the client reads: the dialect decides what the end is called."""
    begun = asyncio.Event()

    @tool
    async def slow(ctx: ToolContext) -> str:
        """Takes for ever."""
        begun.set()
        await asyncio.Event().wait()
        return ctx.call_id

    settings = Settings(dialect=dialect)
    async with product([slow], [{"output": [say("Wait."), call("slow")]}], settings=settings) as p:
        chat = p.chat()
        running = asyncio.ensure_future(chat.say("work", protocolVersion="1.0"))
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
            await p.app.state.engine.drain()
            stream = await running
        (told,) = stream.results.values()
        assert json.loads(told)["status"] == "cancelled"
        if dialect == "compat":
            assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "abort")
        else:  # nothing that a user wanted
            assert (stream[-1]["type"], stream[-1]["code"]) == ("RUN_ERROR", "unavailable")
            assert "shutting down" in stream[-1]["message"]
        refused = await chat.say("more")
        assert (refused.status, refused[0]["error"]["code"]) == (503, "unavailable")


@shows("B17")
async def test_on_disconnect_continue_lets_the_run_finish() -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Takes a while."""
        begun.set()
        await release.wait()
        return "done anyway"

    turns = [{"output": [call("slow")]}, {"output": [say("Finished.")], "repeat": True}]
    async with product([slow], turns, on_disconnect="continue") as p:
        chat = p.chat()
        async with reading(p, chat, "work"):
            async with asyncio.timeout(TIMEOUT):
                await begun.wait()
        release.set()
        thread = await idle(p, chat, "finished")
        assert [m["content"] for m in results(thread).values()] == ["done anyway"]
        assert thread["messages"][-1]["content"] == "Finished."
        p.assert_clean()


@shows("B18")
@pytest.mark.parametrize("mode", MODES)
async def test_a_second_run_on_a_busy_thread_is_refused_and_the_thread_works_afterwards(mode: str) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Takes a while."""
        begun.set()
        await release.wait()
        return "done"

    turns = [{"output": [call("slow")]}, {"output": [say("Finished.")], "repeat": True}]
    async with product([slow], turns, mode=mode) as p:
        chat = p.chat()
        running = asyncio.ensure_future(chat.say("work"))
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
            second = await p.post("/", chat.body())
            other = await p.chat().say("another thread")
            release.set()
            first = await running
        assert (second.status, second[0]["error"]["code"]) == (409, "thread_busy")
        assert other.text == first.text == "Finished."
        assert (await chat.say("again")).text == "Finished."
        p.assert_clean()


@shows("S30", "B14")
async def test_a_hundred_clients_that_leave_leave_nothing_behind() -> None:
    turns = [{"output": [LONG, SEARCH], "repeat": True, "fault": {"kind": "hang", "times": 0, "after_events": 30}}]
    shop = Shop()
    async with product(shop.tools, turns) as p:

        async def visit():
            chat = p.chat()
            async with reading(p, chat, "talk") as reader:
                await reader.until("TEXT_MESSAGE_CONTENT")
            return chat

        chats = await asyncio.gather(*(visit() for _ in range(100)))
        for chat in chats:
            await idle(p, chat)
        async with asyncio.timeout(60):
            while any(e.ended is None for e in p.emulator.accepted):
                await p.get("/healthz")
        assert {e.ended for e in p.emulator.accepted} == {"aborted"}
        assert not [t for t in asyncio.all_tasks() if t.get_name().startswith("run ")]


@shows("S33", "B18")
async def test_a_message_right_after_leaving_is_not_refused() -> None:
    turns = [
        {"output": [LONG], "when": {"user": "talk"}, "fault": {"kind": "hang", "after_events": 12}},
        {"output": [say("Back.")], "repeat": True},
    ]
    async with product([], turns, settings=Settings(disconnect_grace=30)) as p:
        chat = p.chat()
        async with reading(p, chat, "talk") as reader:
            await reader.until("TEXT_MESSAGE_CONTENT")
        live = p.app.state.engine.following("local", chat.thread_id)
        async with asyncio.timeout(TIMEOUT):
            while not live.alone:  # until the server has noticed
                await p.get("/healthz")
        assert (await chat.say("go on")).text == "Back."
        p.assert_clean()
