"""A decision at work can be stopped, once: before it began, and while it is carried out."""

import asyncio

import pytest

from agui_gate.approvals.decisions_in_progress import Stopped, Work

pytestmark = pytest.mark.anyio


async def test_what_is_stopped_before_it_begins_never_runs() -> None:
    """A stop may come while the decision still waits for its lease: nothing of it is carried out then."""
    ran = []

    async def pay() -> None:
        ran.append("paid")

    work = Work("decide_1")
    work.stop()
    with pytest.raises(Stopped):
        await work.carry(pay())
    assert ran == []


async def test_a_second_stop_does_not_cut_short_what_the_first_one_lets_save() -> None:
    begun, saving, go_on, saved = asyncio.Event(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def pay() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            saving.set()
            await go_on.wait()
            saved.set()

    work = Work("decide_1")
    carried = asyncio.ensure_future(work.carry(pay()))
    async with asyncio.timeout(60):
        await begun.wait()
        work.stop()
        await saving.wait()
        work.stop()
        go_on.set()
        with pytest.raises(Stopped):
            await carried
    assert saved.is_set()


async def test_a_caller_who_is_cancelled_is_not_told_that_the_work_was_stopped() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def pay() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    carried = asyncio.create_task(Work("decide_1").carry(pay()))
    async with asyncio.timeout(60):
        await begun.wait()
        carried.cancel()
        with pytest.raises(asyncio.CancelledError):
            await carried
    assert ended.is_set()
