"""Work that a cancellation must not cut in two."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

LEAVE_SECONDS = 1.0
"""Seconds that work which takes too long has to end after it was cancelled."""

PATIENCE = 10.0
"""Seconds that a cancelled caller waits for the work's end."""


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Awaits ``work``. A caller that is cancelled meanwhile gets its cancellation after ``work`` has ended.

    So what the caller knows and what ``work`` did never differ: it ran as a whole, or it had not been started.
    """
    task = asyncio.ensure_future(work)
    try:
        return await undisturbed(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=PATIENCE)
        if task.done() and not task.cancelled():
            task.exception()  # seen: the cancellation is what the caller gets
        raise


async def undisturbed(future: "asyncio.Future[T]") -> T:
    """Awaits ``future``. Cancelling the caller leaves it alone.

    So does `asyncio.shield`. But from Python 3.14 on it reports what ``future`` raises after that as an error of the
    event loop, and who began the work has seen to that already.
    """
    await asyncio.wait([future])
    return future.result()


async def bounded(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Awaits ``work``, which may be anybody's, for ``seconds`` at most. If the caller is cancelled, so is ``work``.

    Raises `TimeoutError`, and what ``work`` raises. Unlike with `asyncio.timeout`, work that doesn't heed its
    cancellation is left alone after `LEAVE_SECONDS`, and one that cancels itself has failed (`RuntimeError`).
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=seconds)
        if not task.done():
            raise TimeoutError(f"It took longer than {seconds:g} seconds.")
        if task.cancelled():
            raise RuntimeError("It was cancelled, and not by who waits for it.")
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=LEAVE_SECONDS)
            task.add_done_callback(_see)


def _see(task: "asyncio.Task[Any]") -> None:
    """Looks at its error, which asyncio would report otherwise: nobody is left who cares."""
    if not task.cancelled():
        task.exception()
