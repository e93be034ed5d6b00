"""Threads of sync tools: bounded, shared fairly, counted where nobody waits for them (T13)."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from agui_gate.concurrency import NoSlot
from agui_gate.turns import tool_threads
from agui_gate.turns.tool_threads import ToolThreads
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T13")]


async def use(threads: ToolThreads, owner: str, work: Callable[[], object], seconds: float = 5) -> object:
    async with threads.slot(owner, seconds) as slot:
        return await threads.run(slot, work)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  (what it waits for has no event)
            await asyncio.sleep(0)


async def test_principals_take_turns() -> None:
    threads, gate, order = ToolThreads(1), threading.Event(), []
    first = asyncio.create_task(use(threads, "alice", gate.wait))
    await until(lambda: threads.busy == 1)
    tasks = []
    for owner in ("alice", "alice", "alice", "bob", "carol"):
        tasks.append(asyncio.create_task(use(threads, owner, lambda owner=owner: order.append(owner))))  # type: ignore[misc]
        await asyncio.sleep(0)
    gate.set()
    async with asyncio.timeout(60):
        await asyncio.gather(first, *tasks)
    assert order == ["alice", "bob", "carol", "alice", "alice"]
    assert threads.busy == 0


async def test_who_finds_no_slot_in_time_is_told() -> None:
    threads, gate = ToolThreads(1), threading.Event()
    first = asyncio.create_task(use(threads, "alice", gate.wait))
    await until(lambda: threads.busy == 1)
    with pytest.raises(NoSlot):
        await use(threads, "bob", lambda: None, seconds=0.01)
    gate.set()
    await first
    assert await use(threads, "bob", lambda: 7) == 7
    assert threads.busy == 0


async def test_a_call_that_is_cancelled_while_it_waits_takes_no_slot() -> None:
    threads, gate = ToolThreads(1), threading.Event()
    first = asyncio.create_task(use(threads, "alice", gate.wait))
    await until(lambda: threads.busy == 1)
    waiting = asyncio.create_task(use(threads, "bob", lambda: None))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.set()
    await first
    assert threads.busy == 0


async def test_a_slot_that_was_given_to_a_call_that_is_cancelled_is_free_again() -> None:
    threads, gate = ToolThreads(1), threading.Event()
    first = asyncio.create_task(use(threads, "alice", gate.wait))
    await until(lambda: threads.busy == 1)
    waiting = asyncio.create_task(use(threads, "bob", lambda: None))
    await until(lambda: "bob" in threads._waiting)
    gate.set()
    await until(lambda: not threads._waiting)
    waiting.cancel()  # it has its slot, and doesn't know yet
    await asyncio.gather(first, waiting, return_exceptions=True)
    assert (waiting.cancelled(), threads.busy) == (True, 0)


async def test_a_result_for_a_loop_that_is_gone_is_logged() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with capture_logs() as logs:
        tool_threads._work(contextvars.copy_context(), lambda: 7, loop, lambda *_: None)()
    assert [line["event"] for line in logs] == ["late_tool_result"]


async def test_abandoned_threads_are_counted_and_never_more_than_the_slots_are_free_of_charge() -> None:
    threads, gate, begun = ToolThreads(2), threading.Event(), threading.Semaphore(0)

    def hangs() -> None:
        begun.release()
        gate.wait()

    for number in range(1, 5):
        stuck = asyncio.create_task(use(threads, "alice", hangs))
        await until(lambda: begun.acquire(blocking=False))
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)
        assert threads.abandoned == number
    assert threads.busy == 2  # the third and the fourth keep theirs
    with pytest.raises(NoSlot):
        await use(threads, "bob", lambda: None, seconds=0.01)
    gate.set()
    await until(lambda: threads.abandoned == 0)
    assert threads.busy == 0
    assert await use(threads, "bob", lambda: 7) == 7


async def test_a_coroutine_that_comes_too_late_is_closed() -> None:
    """It was warned of as never awaited, wherever it was collected."""

    async def later() -> None: ...

    threads, gate, made = ToolThreads(1), threading.Event(), later()

    def makes() -> object:
        gate.wait()
        return made

    stuck = asyncio.create_task(use(threads, "alice", makes))
    await until(lambda: threads.busy == 1)
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)
    gate.set()
    await until(lambda: threads.abandoned == 0)
    assert inspect.getcoroutinestate(made) == inspect.CORO_CLOSED


async def test_who_gives_up_leaves_nothing_behind() -> None:
    """Where all threads hang for ever, no release comes by the places of those who waited in vain."""
    threads, gate = ToolThreads(1), threading.Event()
    hanging = asyncio.create_task(use(threads, "alice", gate.wait))
    await until(lambda: threads.busy == 1)
    stays = asyncio.create_task(use(threads, "bob", lambda: "bob's"))
    await until(lambda: "bob" in threads._waiting)
    for owner in ("alice", "bob"):
        with pytest.raises(NoSlot):
            await use(threads, owner, lambda: None, seconds=0.01)
    assert {owner: len(turns) for owner, turns in threads._waiting.items()} == {"bob": 1}
    gate.set()
    async with asyncio.timeout(60):
        await hanging
        assert await stays == "bob's"
    assert not threads._waiting
