"""What a cancelled caller leaves alone."""

import asyncio
import gc
from typing import Any
from unittest.mock import patch

import pytest

from agui_gate import concurrency
from agui_gate.concurrency import bounded, stop_tasks, undisturbed, within

pytestmark = pytest.mark.anyio


async def test_what_fails_after_its_caller_was_cancelled_is_no_error_of_the_loop() -> None:
    """It was one on Python 3.14, with the error of somebody's tool in the log."""
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    try:
        work: asyncio.Future[None] = loop.create_future()
        caller = asyncio.create_task(undisturbed(work))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert not work.done()
        work.set_exception(ValueError("nobody hears this"))
        await asyncio.sleep(0)
        assert isinstance(work.exception(), ValueError)
    finally:
        loop.set_exception_handler(before)
    assert reported == []


async def test_work_that_fails_in_the_moment_of_a_cancellation_is_no_error_of_the_loop() -> None:
    """An extension's notices failed while the server closed, and the log had an exception that nobody retrieved."""
    reported: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reported.append(context))

    async def fail() -> None:
        caller.cancel()
        raise ValueError("nobody hears this")

    try:
        caller = asyncio.create_task(bounded(fail(), 10))
        with pytest.raises(asyncio.CancelledError):
            await caller
        await asyncio.sleep(0)
        gc.collect()
    finally:
        loop.set_exception_handler(before)
    assert reported == []


async def test_what_it_comes_to_is_passed_on() -> None:
    loop = asyncio.get_running_loop()
    done, failed = loop.create_future(), loop.create_future()
    done.set_result(5)
    failed.set_exception(ValueError("no"))
    assert await undisturbed(done) == 5
    with pytest.raises(ValueError, match="no"):
        await undisturbed(failed)


async def test_a_task_that_missed_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "PATIENCE", 0.0)
    missed = []

    async def work() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                missed.append("")
                if len(missed) == 3:
                    raise ValueError("nobody hears this") from None

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await stop_tasks([task])
        await stop_tasks([])
    assert task.done()


async def test_work_within_a_time_needs_a_timer_only_where_it_waits() -> None:
    seen: list[str] = []

    async def work(*sleeps: float) -> str:
        try:
            for seconds in sleeps:
                await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "done"

    with patch.object(asyncio, "timeout", side_effect=AssertionError("a timer")):
        assert await within(60, work()) == "done"
    assert await within(60, work(0, 0.001)) == "done"
    for sleeps in ((60,), (0, 60)):
        with pytest.raises(TimeoutError):
            await within(0.001, work(*sleeps))
    task = asyncio.create_task(within(60, work(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"] * 3
