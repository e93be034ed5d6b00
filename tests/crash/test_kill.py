"""`kill -9` at the worst moments: nothing is lost, nothing runs twice, and the next turn is legal (B5, B9)."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.crash.processes import Machine, Server, machine
from tests.product.kit import MODES, TIMEOUT, Chat
from tests.product.shop import call, outputs, say, script, status
from tests.requirements import shows

pytestmark = pytest.mark.anyio

YES = {"approved": True}
DONE = [{"output": [say("Done.")], "repeat": True}]


@pytest.fixture
def mode() -> str:
    """Of tests that don't go through all of them."""
    return "chain"


@pytest.fixture
async def box(tmp_path: Path, mode: str) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "agui-gate.db", script(), mode) as found:
        yield found


async def paused(box: Machine, server: Server, *tools: str) -> tuple[Chat, list[dict[str, Any]]]:
    """A chat that waits for approvals of these calls."""
    box.emulator.load(script(*(call(name, order_id=f"A{n}") for n, name in enumerate(tools))))
    chat = server.chat()
    asked = await chat.say("do it")
    return chat, asked.interrupts


@asynccontextmanager
async def under_way(server: Server, body: dict[str, Any], until: str) -> AsyncIterator[None]:
    """A run that is read until ``until`` was in its stream, and whose client then waits."""
    with contextlib.suppress(httpx2.HTTPError):  # the server is killed in here
        async with server.product.client.stream("POST", server.product.url + "/", json=body) as response:
            lines = response.aiter_lines()
            async with asyncio.timeout(TIMEOUT):
                while until not in await anext(lines):
                    pass
            yield


def resume(chat: Chat, ids: list[str]) -> dict[str, Any]:
    return chat.body(resume=[{"interruptId": i, "status": "resolved", "payload": YES} for i in ids])


@pytest.mark.parametrize("mode", MODES)
@shows("B5", "S1", "S11")
async def test_killed_between_pause_and_approval(box: Machine) -> None:
    async with box.server() as first:
        chat, asks = await paused(box, first, "refund")
        await first.kill()
        assert await first.rest() == []
    async with box.server() as second:
        listed = (await second.product.get("/approvals"))["approvals"]
        assert [a["id"] for a in listed] == [asks[0]["id"]]
        chat = second.chat(chat)
        done = await chat.resume((asks[0]["id"], YES))
        assert (done.text, done.results[asks[0]["toolCallId"]]) == ("Done.", "refunded A0")
        await chat.resume((asks[0]["id"], YES))
        await second.kill()
        assert await second.rest() == ["ran refund A0"]
    assert box.emulator.refusals == []


@pytest.mark.parametrize("way", ["resume", "post"])
@shows("B9", "B5", "S29", "S30")
async def test_killed_while_a_tool_runs(box: Machine, way: str) -> None:
    """Whether it took effect can't be known: that is what is reported, and it isn't run again."""
    async with box.server() as first:
        chat, asks = await paused(box, first, "stall", "refund")
        ids = [ask["id"] for ask in asks]
        if way == "resume":
            async with under_way(first, resume(chat, ids), "refunded A1"):
                assert {await first.line(), await first.line()} == {"ran stall A0", "ran refund A1"}
                await first.kill()
        else:
            post = asyncio.ensure_future(posted(first, ids[0]))
            assert await first.line() == "ran stall A0"
            await first.kill()
            await post
    async with box.server() as second:
        chat = second.chat(chat)
        done = await chat.resume(*((i, YES) for i in ids))
        assert done.text == "Done."
        unknown, refunded = outputs(box.emulator.accepted[-1].body or {})
        assert (status(unknown), refunded) == ("unknown", "refunded A1")
        assert status(done.results[asks[0]["toolCallId"]]) == "unknown"
        again = await second.product.decide(ids[0], YES)
        assert (again["status_code"], again["state"]) == (409, "unknown")
        assert (await chat.say("thanks")).text == "Done."
        await second.kill()
        assert await second.rest() == ([] if way == "resume" else ["ran refund A1"])
    assert box.emulator.refusals == []


async def posted(server: Server, approval_id: str) -> None:
    with contextlib.suppress(httpx2.HTTPError):
        await server.product.decide(approval_id, YES)


@pytest.mark.parametrize("mode", MODES)
@shows("B9", "B12")
async def test_killed_while_a_tool_runs_and_something_new_is_said(box: Machine) -> None:
    async with box.server() as first:
        chat, asks = await paused(box, first, "stall")
        async with under_way(first, resume(chat, [asks[0]["id"]]), "RUN_STARTED"):
            assert await first.line() == "ran stall A0"
            await first.kill()
    async with box.server() as second:
        chat = second.chat(chat)
        done = await chat.say("what happened?")
        assert (done.text, status(done.results[asks[0]["toolCallId"]])) == ("Done.", "unknown")
        assert "what happened?" in json.dumps(box.emulator.accepted[-1].body)
        await second.kill()
        assert await second.rest() == []
    assert box.emulator.refusals == []


@shows("B9", "B5")
async def test_an_idempotent_tool_that_was_killed_runs_again_under_the_same_key(box: Machine) -> None:
    async with box.server("stalling") as first:
        chat, asks = await paused(box, first, "stall_again")
        async with under_way(first, resume(chat, [asks[0]["id"]]), "RUN_STARTED"):
            said = await first.line()
            assert said.startswith("ran stall_again ")
            await first.kill()
    async with box.server() as second:
        chat = second.chat(chat)
        done = await chat.go()
        assert (done.text, done.results[asks[0]["toolCallId"]]) == ("Done.", "shipped A0")
        await second.kill()
        assert await second.rest() == [said]
    assert box.emulator.refusals == []


@pytest.mark.parametrize("mode", MODES)
@shows("B10", "B9", "B5")
async def test_killed_after_the_tool_and_before_the_reply(box: Machine) -> None:
    async with box.server() as first:
        chat, asks = await paused(box, first, "refund")
        box.emulator.load([{"output": [say("Done.")], "fault": {"kind": "hang", "after_events": 0}}])
        async with under_way(first, resume(chat, [asks[0]["id"]]), "TOOL_CALL_RESULT"):
            await first.kill()
        assert await first.rest() == ["ran refund A0"]
    async with box.server() as second:
        box.emulator.load(DONE)
        chat = second.chat(chat)
        done = await chat.resume((asks[0]["id"], YES))
        shown = {m["toolCallId"]: m["content"] for m in chat.messages if m["role"] == "tool"}  # a result, or a snapshot
        assert (done.text, shown) == ("Done.", {asks[0]["toolCallId"]: "refunded A0"})
        assert outputs(box.emulator.accepted[-1].body or {}) == ["refunded A0"]
        await second.kill()
        assert await second.rest() == []
    assert box.emulator.refusals == []


@shows("B6", "B18")
async def test_two_processes_and_the_same_approval_a_hundred_times(box: Machine) -> None:
    async with box.server() as one, box.server() as two:
        chat, asks = await paused(box, one, "refund")
        approval = asks[0]["id"]
        servers = [one, two] * 25
        resumes = [one.product.client.post(s.product.url + "/", json=resume(chat, [approval])) for s in servers]
        posts = [s.product.decide(approval, YES) for s in servers]
        async with asyncio.timeout(3 * TIMEOUT):
            replies = await asyncio.gather(*resumes, *posts)
        found: list[Any] = list(replies)
        statuses = [r["status_code"] if isinstance(r, dict) else r.status_code for r in found]
        assert set(statuses) <= {200, 409}, statuses
        assert statuses.count(200) >= 1
        chat = two.chat(chat)
        done = await chat.go()
        said = "".join(stream.text for stream in chat.streams)
        assert done[-1]["type"] == "RUN_FINISHED", done
        view = await one.product.get(f"/threads/{chat.thread_id}")
        assert [m["content"] for m in view["messages"] if m["role"] == "tool"] == ["refunded A0"], said
        await one.kill()
        await two.kill()
        assert await one.rest() + await two.rest() == ["ran refund A0"]
    assert box.emulator.refusals == []
