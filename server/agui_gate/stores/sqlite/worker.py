"""A thread that runs blocking jobs in order, and hands their results back to the event loop.

Cheaper than a pool (one queue, one wake-up of the loop per job), which matters at two jobs a run. See ADR 0001.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Item = tuple[Callable[[], Any], asyncio.Future[Any]]


class Worker:
    """A daemon thread: a process that forgets to close its store can still exit."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Queues ``job``. Cancelling the future does not stop the job: it runs, and its result is dropped."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, future))
        return future

    def stop(self) -> None:
        """Ends the thread after what is queued already."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, future = item
            result, error = None, None
            try:
                result = job()
            except BaseException as raised:  # the caller's to handle, whatever it is
                error = raised
            with suppress(RuntimeError):  # its loop is closed: nobody waits any more
                future.get_loop().call_soon_threadsafe(_resolve, future, result, error)
            del item, job, future, result, error


def _resolve(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
