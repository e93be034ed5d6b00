"""What a cancelled caller leaves alone."""

import asyncio
from typing import Any

import pytest

from agui_gate.concurrency import undisturbed

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


async def test_what_it_comes_to_is_passed_on() -> None:
    loop = asyncio.get_running_loop()
    done, failed = loop.create_future(), loop.create_future()
    done.set_result(5)
    failed.set_exception(ValueError("no"))
    assert await undisturbed(done) == 5
    with pytest.raises(ValueError, match="no"):
        await undisturbed(failed)
