"""A server is killed between a yes to a task and its end: the task begins once, and nothing in it runs twice."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.crash.processes import Machine, Server, machine
from tests.crash.test_kill_subagents import CLERK, plan, settle
from tests.product.kit import Chat
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B9")]

YES = {"approved": True}
OPTIONS = ("team", "gate")
FIRST = [f"{side} {place}" for place in ("claim", "result", "release", "ask", "save") for side in ("before", "after")]
SECOND = [f"{side} {place} 2" for place in ("claim", "result", "release", "ask") for side in ("before", "after")]
"""The first claim and the first result are of the task, the second ones of the refund that is asked for inside."""
POINTS = [
    *((point, False) for point in [*FIRST, *SECOND, "before tool", "after tool"]),
    *((f"{side} {place}", True) for place in ("claim", "result", "release 2") for side in ("before", "after")),
]
"""Where it is killed, and whether the task was agreed to outside of a run."""


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path / "agui-gate.db", plan("refund"), "chain") as found:
        yield found


def tasks(box: Machine) -> int:
    """How often the clerk has begun anew: requests that continue nothing and have no results."""
    mine = [one.body for one in box.emulator.accepted if one.body and one.body["model"] == CLERK]
    return sum("previous_response_id" not in body and "function_call_output" not in str(body) for body in mine)


async def states(server: Server, chat: Chat) -> dict[str, str]:
    calls = (await server.product.get(f"/threads/{chat.thread_id}"))["calls"]
    return {record["tool"]: record["state"] for record in calls}


async def answers(server: Server, chat: Chat, *, elsewhere: bool) -> None:
    """Yes to the task, and to what is asked in it, until the server dies at its failpoint."""
    with contextlib.suppress(httpx2.HTTPError):
        asked = await chat.say("refund A1")
        if asked.interrupts and elsewhere:
            await server.product.decide(asked.interrupts[0]["id"], YES)
            asked = await chat.go()
        while asked.interrupts:
            asked = await chat.resume((asked.interrupts[0]["id"], YES))
    await server.gone()


@pytest.mark.parametrize(("point", "elsewhere"), POINTS)
async def test_killed_at_a_failpoint(box: Machine, point: str, elsewhere: bool) -> None:
    async with box.server(*OPTIONS, failpoint=point) as first:
        chat = first.chat()
        await answers(first, chat, elsewhere=elsewhere)
        ran = await first.rest()
    async with box.server(*OPTIONS) as second:
        chat = second.chat(chat)
        before = await states(second, chat)
        done = await settle(chat)
        shown = (await second.product.get(f"/threads/{chat.thread_id}"))["messages"]
        assert [m["content"] for m in shown if m["role"] == "tool" and "subagentRunId" not in m] == ["Refunded."]
        assert [m.get("content") for m in shown if m["role"] == "assistant"][-1] == "All done."
        assert done.error is None
        assert (await states(second, chat))["clerk"] == "done"
        ids = [m["id"] for m in shown]
        assert len(ids) == len(set(ids))
        await second.kill()
        ran += await second.rest()
    assert ran.count("ran refund A1") <= 1
    assert before.get("clerk") != "pending" or before.get("refund") is None, "nothing of it before the yes"
    assert box.emulator.refusals == []


async def test_a_yes_that_was_saved_outlives_the_process(box: Machine) -> None:
    """Killed right after it was claimed: nobody is asked again, and the task begins with the next run."""
    async with box.server(*OPTIONS, failpoint="after claim") as first:
        chat = first.chat()
        await answers(first, chat, elsewhere=False)
        assert tasks(box) == 0
    async with box.server(*OPTIONS) as second:
        chat = second.chat(chat)
        assert await states(second, chat) == {"clerk": "claimed"}
        asked = await chat.go()
        assert await states(second, chat) == {"clerk": "done", "refund": "pending"}
        assert [one["metadata"]["agent"] for one in asked.interrupts] == ["clerk"]
        assert tasks(box) == 1


async def test_two_processes_are_told_yes_at_once(box: Machine) -> None:
    """Over HTTP and in runs, again and again: one of them decides, and the task begins once."""
    async with box.server(*OPTIONS) as first, box.server(*OPTIONS) as second:
        for _ in range(6):
            before = tasks(box)
            chat = first.chat()
            (ask,) = (await chat.say("refund A1")).interrupts
            other = second.chat(chat)
            other.messages = list(chat.messages)
            await asyncio.gather(
                chat.resume((ask["id"], YES)),
                other.resume((ask["id"], YES)),
                second.product.decide(ask["id"], {**YES, "continue": True}),
                first.product.decide(ask["id"], {**YES, "continue": True}),
            )
            third = second.chat(chat)
            third.messages = (await second.product.get(f"/threads/{chat.thread_id}"))["messages"]
            (inside,) = await quiet(second, third)
            await asyncio.gather(third.resume((inside, YES)), first.product.decide(inside, YES))
            assert (await states(second, third)) == {"clerk": "done", "refund": "done"}
            assert tasks(box) == before + 1
        await first.kill()
        await second.kill()
        ran = [*await first.rest(), *await second.rest()]
    assert ran.count("ran refund A1") == 6
    assert box.emulator.refusals == []


async def quiet(server: Server, chat: Chat) -> list[str]:
    """What waits once no run is at work."""
    async with asyncio.timeout(60):
        while True:
            view = await server.product.get(f"/threads/{chat.thread_id}")
            if view["run"]["status"] != "running" and any(a["tool"] == "refund" for a in view["approvals"]):
                return [a["id"] for a in view["approvals"]]
            await asyncio.sleep(0)
