"""The OS threads of sync tools: a bounded number, shared fairly.

A sync tool takes a slot before its thread is started, and gives it back when the thread has ended. Who waits for a slot
waits behind earlier calls of the same principal, and principals take turns. So one who asks for a thousand tools delays
nobody else for longer than one tool takes.

A thread can't be stopped. When nobody waits for it any more (a time limit, a run that was stopped) it is *abandoned*
and counted. As many threads as there are slots may be abandoned without taking a slot away from calls that somebody
waits for. More than that keep theirs until they end. So there are never more than twice as many threads as slots.
"""

import asyncio
import contextvars
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from agui_gate.concurrency import NoSlot

log = structlog.get_logger("agui_gate.tools")


class Slot:
    """The right to one thread.

    ``working``: its thread has not ended. ``left``: nobody waits for that any more. ``keeps``: it is given back
    only when its thread ends.
    """

    __slots__ = ("keeps", "left", "working")

    def __init__(self) -> None:
        self.working = self.left = self.keeps = False


class ToolThreads:
    """The slots of one event loop. ``limit`` of them; ``busy`` are taken, ``abandoned`` threads have nobody waiting."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.busy = self.abandoned = 0
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, owner: str, seconds: float) -> AsyncIterator[Slot]:
        """Holds a slot for one call of ``owner``. Raises `NoSlot` when there is none within ``seconds``."""
        await self._acquire(owner, seconds)
        slot = Slot()
        try:
            yield slot
        finally:
            slot.left = True
            if slot.working:
                self._abandon(slot)
            else:
                self._release()

    async def run(self, slot: Slot, function: Callable[[], Any]) -> Any:
        """Runs ``function`` in a daemon thread. Cancelling leaves it alone; nobody waits for it, not even at exit."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def deliver(result: Any, error: BaseException | None) -> None:
            slot.working = False
            if slot.left:
                self._came_back(slot)
            if not future.done():
                future.set_exception(error) if error else future.set_result(result)
            elif asyncio.iscoroutine(result):
                result.close()  # nobody will await it

        work = _work(contextvars.copy_context(), function, loop, deliver)
        threading.Thread(target=work, name="agui-gate-tool", daemon=True).start()
        slot.working = True
        return await future

    async def _acquire(self, owner: str, seconds: float) -> None:
        if self.busy < self.limit:
            self.busy += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(turn)
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # given and not wanted any more
                self._release()
            turn.cancel()
            self._give_up(owner, turn)
            if isinstance(error, TimeoutError):
                raise NoSlot from None
            raise

    def _give_up(self, owner: str, turn: "asyncio.Future[None]") -> None:
        """Takes back a place in the queue for which nobody waits any more.

        Where threads never end, no release would ever come by it.
        """
        turns = self._waiting.get(owner, deque())
        with suppress(ValueError):  # it was given
            turns.remove(turn)
        if not turns:
            self._waiting.pop(owner, None)

    def _release(self) -> None:
        """Hands the slot to the next one who waits, one principal after the other."""
        while self._waiting:
            owner, turns = next(iter(self._waiting.items()))
            del self._waiting[owner]
            turn = turns.popleft()
            if turns:
                self._waiting[owner] = turns  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self.busy -= 1

    def _abandon(self, slot: Slot) -> None:
        self.abandoned += 1
        slot.keeps = self.abandoned > self.limit
        log.warning("tool_thread_abandoned", abandoned=self.abandoned, busy=self.busy, slots=self.limit)
        if not slot.keeps:
            self._release()

    def _came_back(self, slot: Slot) -> None:
        self.abandoned -= 1
        if slot.keeps:
            self._release()


_of_loop: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, ToolThreads]]" = weakref.WeakKeyDictionary()


def tool_threads(limit: int, purpose: str = "tools") -> ToolThreads:
    """Returns the slots of this event loop: one bound for everything that it serves for this ``purpose``."""
    threads = _of_loop.setdefault(asyncio.get_running_loop(), {}).setdefault(purpose, ToolThreads(limit))
    threads.limit = limit
    return threads


def _work(
    context: contextvars.Context,
    function: Callable[[], Any],
    loop: asyncio.AbstractEventLoop,
    deliver: Callable[[Any, BaseException | None], None],
) -> Callable[[], None]:
    """Returns the function that the thread runs."""

    def work() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = context.run(function)
        except Exception as caught:
            # A future can't carry StopIteration.
            error = RuntimeError("the tool raised StopIteration") if isinstance(caught, StopIteration) else caught
        except BaseException as caught:  # sys.exit() in a tool ends the call, not the server
            error = RuntimeError(f"the tool raised {type(caught).__name__}")
        try:
            loop.call_soon_threadsafe(deliver, result, error)
        except RuntimeError:  # the loop is gone: nobody waits any more
            log.warning("late_tool_result")

    return work
