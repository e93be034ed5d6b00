"""Handles Ctrl-C in a command. Until here `agui_gate_start` has let it end the process at once.

* `in_order`: it is a `KeyboardInterrupt`, where something begun has to be ended. After it, it ends the process again:
  there is nothing left to lose, and whatever holds up the exit can be left.
* `Runner`: while a coroutine runs, each one cancels it. It never breaks into the loop at whatever line that is at.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Self, TypeVar

T = TypeVar("T")

DEFAULT = signal.default_int_handler
BLOCKED = 3
"""The Ctrl-C that ends the process as SIGINT does: two cancellations went by, so the loop is blocked or deaf."""


@contextmanager
def in_order() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` in here. Where it is ignored, or somebody else's, it is left as it is."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGINT, DEFAULT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


class Runner:
    """An `asyncio.Runner` whose work is cancelled by each Ctrl-C. A context manager, and `in_order`.

    `asyncio.Runner` does so once; its second Ctrl-C is a `KeyboardInterrupt` in any line of any task. A task group
    wraps that, so that nobody recognizes it, and what the line was part of is left half done.
    """

    def __init__(self, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> None:
        self._runner = asyncio.Runner(loop_factory=loop_factory)
        self._scope = ExitStack()

    def __enter__(self) -> Self:
        self._scope.enter_context(in_order())
        self._runner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._scope.close()
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs ``work`` and returns what it comes to. Raises `KeyboardInterrupt` if a Ctrl-C ended it.

        Where SIGINT is ignored, or is handled by somebody else, or in another thread, it is left as it is.
        """
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not DEFAULT:
            return self._runner.run(work)
        presses = Presses(self._runner.get_loop())
        signal.signal(signal.SIGINT, presses.handle_signal)
        try:
            return self._runner.run(presses.cancelling(work))
        except asyncio.CancelledError:
            if presses.count:
                raise KeyboardInterrupt from None
            raise
        finally:
            signal.signal(signal.SIGINT, DEFAULT)


def run(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, with what is said above."""
    with Runner() as runner:
        return runner.run(work)


class Presses:
    """Counts Ctrl-C while one coroutine runs, and cancels it each time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.count = 0
        self._loop = loop
        self._task: asyncio.Task[Any] | None = None

    async def cancelling(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns ``work``, in the task that is cancelled."""
        self._task = asyncio.current_task()
        if self.count:
            self._cancel()
        return await work

    def handle_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGINT."""
        self.count += 1
        if self.count >= BLOCKED:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
