"""Shares the event loop fairly, moves heavy work off it, and sees work through that a cancellation must not cut in two.

Heavy work of the server's own is done on one thread beside the event loop, one piece at a time. It is for pure
functions over what nobody changes meanwhile. Python code lets the event loop in every few milliseconds. A single call
of the JSON decoder or encoder doesn't. So what is large is encoded piece by piece (`json_list`). The garbage collector
waits until a decoder is done: it would look through millions of new objects again and again.
"""

import asyncio
import gc
import math
import time
from collections.abc import Callable, Collection, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from types import coroutine
from typing import Any, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

BUSY_SECONDS = 0.005
"""Seconds that the event loop may work until others get their turn."""

PAUSE = 0.001
"""Seconds between two pieces of heavy work."""

Clock = Callable[[], float]


class NoSlot(Exception):
    """Raised when all threads of a kind were taken for as long as a call could wait: see `turns/tool_threads.py`."""


class Pacer:
    """Says when it is time to let others in: when the loop's thread has worked for `BUSY_SECONDS`.

    Waiting is not work: what comes piece by piece, with waits between, lets others in anyway. To ask how long a thread
    worked is slow, so it is asked only once that much time has passed at all.
    """

    __slots__ = ("_clock", "_since", "_until", "_worked")

    def __init__(self, clock: Clock = time.monotonic, worked: Clock = time.thread_time) -> None:
        self._clock, self._worked = clock, worked
        self._begin()

    def _begin(self) -> None:
        self._until, self._since = self._clock() + BUSY_SECONDS, self._worked()

    @property
    def due(self) -> bool:
        """True if it is time to let others have their turn."""
        now = self._clock()
        if now < self._until:
            return False
        self._until = now + BUSY_SECONDS
        return self._worked() - self._since >= BUSY_SECONDS

    async def pause(self) -> None:
        """Lets others in."""
        await asyncio.sleep(0)
        self._begin()


async def let_others_in() -> None:
    """Gives everybody else a turn, timers and sockets too. After `sleep(0)` these would come behind the next work."""
    await asyncio.sleep(PAUSE)


# --- heavy work ---
LARGE = 500
"""Entries or messages from which on working through all of them is heavy."""

LONG = 2_000
"""The same where each takes a microsecond, as in an import: below it, changing threads costs more than it saves."""

LARGE_BYTES = 256 * 1024
"""Bytes of which the same is true."""


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls ``function`` on the thread for heavy work. Cancelling the caller doesn't stop it."""
    return await beside(lambda: function(*args, **kwargs))


def beside(function: Callable[[], T]) -> "asyncio.Future[T]":
    """Begins to call ``function`` on the thread for heavy work."""
    return asyncio.get_running_loop().run_in_executor(_thread(), function)


async def if_large(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Calls ``function``, off the loop if ``size`` (a number of things) says that it is heavy."""
    return await off_loop(function, *args, **kwargs) if size > LARGE else function(*args, **kwargs)


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "agui-gate-heavy")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Within: no garbage collection. For a moment, and for one caller at a time; a second one changes nothing."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def json_list(items: Iterable[Any]) -> msgspec.Raw:
    """Returns ``items`` as a JSON list, each encoded by itself."""
    return msgspec.Raw(b"[" + b",".join([msgspec.json.encode(item) for item in items]) + b"]")


# --- what is seldom due ---
ROUND_SECONDS = 0.25
"""Seconds between two rounds, at least."""


class Watched(Protocol):
    """What a `Rounds` looks after."""

    def check_due(self, now: float) -> float:
        """Does what is due at ``now``, by the loop's clock. Returns when to look again, at the latest; maybe never
        (``math.inf``).
        """
        ...


class Rounds:
    """Looks after many on one event loop, of whom hardly one is ever late: a timer for each takes 600 bytes.

    What is due is done in the next round, which may be `ROUND_SECONDS` after the one before.
    """

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf

    def watch(self, one: Watched, due: float) -> None:
        """Looks after ``one``, until it leaves; at ``due`` for the first time, or before."""
        self._watched.add(one)
        if due < self._due:
            self._begin_at(due)

    def leave(self, one: Watched) -> None:
        """Looks after ``one`` no longer."""
        self._watched.discard(one)

    def _begin_at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due, self._timer = due, asyncio.get_running_loop().call_at(due, self._go_round)

    def _go_round(self) -> None:
        self._due, self._timer = math.inf, None  # a timer would keep the loop
        loop, due = asyncio.get_running_loop(), math.inf
        now = loop.time()
        for one in tuple(self._watched):
            try:
                due = min(due, one.check_due(now))
            except Exception as error:  # the others are looked after all the same
                self._watched.discard(one)
                loop.call_exception_handler({"message": "a round has failed", "exception": error})
        if due < math.inf:
            self._begin_at(max(due, now + ROUND_SECONDS))


_rounds: WeakKeyDictionary[asyncio.AbstractEventLoop, Rounds] = WeakKeyDictionary()


def rounds() -> Rounds:
    """Returns the one of this event loop."""
    loop = asyncio.get_running_loop()
    return _rounds.get(loop) or _rounds.setdefault(loop, Rounds())


class Deadline:
    """Has ``timeout`` expire after ``seconds``, by `Rounds`, which it has to leave after its block."""

    __slots__ = ("_due", "timeout")

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(None)
        self._due = asyncio.get_running_loop().time() + seconds
        rounds().watch(self, self._due)

    def check_due(self, now: float) -> float:
        """See `Watched`."""
        if now >= self._due:
            self.timeout.reschedule(now)
            self._due = math.inf
        return self._due


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
    event loop, and who began the work has seen to that already. `asyncio.wait` does it for many, and takes five times
    as long.
    """
    if not future.done():
        waiter = asyncio.get_running_loop().create_future()

        def wake(_: object) -> None:
            if not waiter.done():
                waiter.set_result(None)

        future.add_done_callback(wake)
        try:
            await waiter
        finally:
            future.remove_done_callback(wake)
    return future.result()


async def stop_tasks(tasks: Collection["asyncio.Task[Any]"]) -> None:
    """Cancels ``tasks`` and waits until they have ended.

    A library between may take a cancellation for its own, or lose it (`asyncio.wait_for` before Python 3.12 does). So
    those who go on are cancelled again, every `PATIENCE` seconds.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        done, left = await asyncio.wait(left, timeout=PATIENCE)
        for task in done:
            forget(task)


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
        task.add_done_callback(forget)  # also of one that failed in the moment in which the caller was cancelled
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=LEAVE_SECONDS)


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Awaits ``work`` as `asyncio.timeout` does. Raises `TimeoutError`. Most of what is awaited so never waits: that
    needs no timer.
    """
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    async with asyncio.timeout(seconds):
        return await _go_on(work, waits_for)


@coroutine
def _go_on(work: Coroutine[Any, Any, T], waits_for: Any) -> Generator[Any, Any, T]:
    """Goes on with ``work``, which was begun and waits."""
    try:
        while True:
            try:
                sent = yield waits_for
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(sent)
    except StopIteration as done:
        result: T = done.value
        return result


def forget(future: "asyncio.Future[Any]") -> None:
    """Looks at the error of what is done, which asyncio would report otherwise: nobody is left who cares."""
    if not future.cancelled():
        future.exception()
