"""A server is killed while a sub-agent is at work: another one goes on with the task, and nothing runs twice."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.crash.processes import Machine, Server, machine
from tests.product.kit import Chat, Stream
from tests.product.shop import call, say, status
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B9")]

YES = {"approved": True}
BOSS, CLERK = "gpt-a", "gpt-b"
POINTS = [
    *(
        f"{side} {place}"
        for place in ("save", "ask", "release", "claim", "tool", "result")
        for side in ("before", "after")
    ),
    *("before save 2", "after save 2", "before release 2"),
]


def turn(model: str, item: Any, output_for: str | None = None) -> Any:
    when = {"model": model} if output_for is None else {"model": model, "has_output_for": output_for}
    return {"output": [item], "when": when, "repeat": True}


def plan(inner: str) -> list[Any]:
    """The boss delegates; the clerk calls ``inner``. Each may be asked again, as what it said may be lost."""
    return [
        turn(BOSS, say("All done."), "clerk"),
        turn(BOSS, call("clerk", task="Refund A1.")),
        turn(CLERK, say("Refunded."), inner),
        turn(CLERK, call(inner, order_id="A1")),
    ]


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "agui-gate.db", plan("refund"), "chain") as found:
        yield found


async def settle(chat: Chat) -> Stream:
    """Go on, with a yes to all that is asked, until the boss has the last word."""
    stream = await chat.go()
    for _ in range(5):
        if not stream.interrupts:
            return stream
        stream = await chat.resume(*((ask["id"], YES) for ask in stream.interrupts))
    raise AssertionError(f"still asked: {stream}")


async def dies(server: Server, chat: Chat) -> None:
    """What the first server comes to do before it dies at its failpoint."""
    with contextlib.suppress(httpx2.HTTPError):
        asked = await chat.say("refund A1")
        if asked.interrupts:
            await chat.resume((asked.interrupts[0]["id"], YES))
    await server.gone()


@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_a_failpoint(box: Machine, point: str) -> None:
    async with box.server("team", failpoint=point) as first:
        chat = first.chat()
        await dies(first, chat)
        ran = await first.rest()
    async with box.server("team") as second:
        chat = second.chat(chat)
        done = await settle(chat)
        shown = (await second.product.get(f"/threads/{chat.thread_id}"))["messages"]
        results = [m["content"] for m in shown if m["role"] == "tool" and "subagentRunId" not in m]
        assert results == ["Refunded."]
        assert [m.get("content") for m in shown if m["role"] == "assistant"][-1] == "All done."
        assert done.error is None
        await second.kill()
        ran += await second.rest()
    assert ran.count("ran refund A1") <= 1
    assert box.emulator.refusals == []


async def test_killed_while_a_free_tool_runs_inside(box: Machine) -> None:
    """What was running inside is closed; the task itself goes on."""
    box.emulator.load(plan("linger"))
    async with box.server("team") as first:
        chat = first.chat()
        body = chat.body(messages=[{"id": "u1", "role": "user", "content": "linger"}])
        chat.messages = body["messages"]
        with contextlib.suppress(httpx2.HTTPError):
            async with first.product.client.stream("POST", first.product.url + "/", json=body) as response:
                assert response.status_code == 200
                assert await first.line() == "ran linger A1"
                await first.kill()
    async with box.server("team") as second:
        chat = second.chat(chat)
        done = await second.product.post("/", chat.body())
        assert done.text == "Refunded.All done."
        shown = (await second.product.get(f"/threads/{chat.thread_id}"))["messages"]
        inner = [m["content"] for m in shown if m["role"] == "tool" and "subagentRunId" in m]
        assert [status(content) for content in inner] == ["unknown"]
    assert box.emulator.refusals == []
