"""A loop whose clock stands still while there is work, and jumps to the next timer when there is none.

So minutes of waiting take no time, and how late something is doesn't depend on the machine. It is for code without
sockets: it would jump while they are at work. What goes to a thread of the loop's is done at once.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jump(selectors.DefaultSelector):
    """Never waits: it moves the clock of its loop instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found:
            if timeout is None:
                raise RuntimeError("nothing is at work, and nothing will be")
            self.now += timeout
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its `time` begins at 0."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        """Seconds."""
        return self._jump.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Done at once."""
        done = self.create_future()
        done.set_result(func(*args))
        return done


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end in a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
