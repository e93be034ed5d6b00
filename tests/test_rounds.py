"""One timer looks after many: each is looked at when it is due, whatever the others do."""

import asyncio
import math

import pytest

from agui_gate.concurrency import ROUND_SECONDS, Deadline, rounds

pytestmark = pytest.mark.anyio


class One:
    """Is due after ``seconds`` for the first time, and then after ``again``. ``looks``: when it was looked at."""

    def __init__(self, seconds: float, again: float = math.inf, *, fails: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._again, self._fails = again, fails
        self.looks: list[float] = []
        self.looked = asyncio.Event()
        self.due = self._loop.time() + seconds
        rounds().watch(self, self.due)

    def check_due(self, now: float) -> float:
        """See `Watched`."""
        if self._fails:
            raise ValueError("not now")
        if now >= self.due:
            self.looks.append(now)
            self.looked.set()
            self.due = now + self._again
        return self.due


async def test_who_comes_later_may_be_due_before() -> None:
    later, sooner = One(3600), One(0.01)
    async with asyncio.timeout(5):
        await sooner.looked.wait()
    assert later.looks == []
    rounds().leave(later)
    rounds().leave(sooner)


async def test_rounds_are_apart() -> None:
    often = One(0, again=0)
    async with asyncio.timeout(10):
        while len(often.looks) < 3:
            often.looked.clear()
            await often.looked.wait()
    rounds().leave(often)
    first, second, third = often.looks
    assert min(second - first, third - second) >= ROUND_SECONDS * 0.9


async def test_one_that_fails_is_told_and_the_others_are_looked_after() -> None:
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    wrong, right = One(0, fails=True), One(0, again=0)
    async with asyncio.timeout(10):
        while len(right.looks) < 2:
            right.looked.clear()
            await right.looked.wait()
    assert told == ["not now"]
    rounds().leave(wrong)
    rounds().leave(right)


async def test_a_deadline() -> None:
    late = Deadline(0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10), late.timeout:
            await asyncio.Event().wait()
    assert late.timeout.expired()
    rounds().leave(late)
    met = Deadline(3600)
    async with met.timeout:
        pass
    rounds().leave(met)
    assert not met.timeout.expired()
