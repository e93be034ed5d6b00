"""When a stream lets others in: after work, and not after waiting."""

import asyncio

import pytest

from agui_gate.concurrency import BUSY_SECONDS, Pacer

pytestmark = pytest.mark.anyio


class Thread:
    """An event loop's thread, and two clocks: of all, and of what it worked."""

    def __init__(self) -> None:
        self.time = self.worked = 100.0
        self.asked = 0
        self.pacer = Pacer(lambda: self.time, self.cpu)
        self.asked = 0

    def cpu(self) -> float:
        self.asked += 1
        return self.worked

    def passes(self, seconds: float, *, at_work: float = 0.0) -> bool:
        """Some time, and whether others are let in then."""
        self.time += seconds
        self.worked += at_work
        return self.pacer.due


def test_work_without_a_pause_is_interrupted() -> None:
    thread = Thread()
    piece = 0.3 * BUSY_SECONDS
    assert [thread.passes(piece, at_work=piece) for _ in range(5)] == [False, False, False, True, False]


async def test_then_it_begins_anew() -> None:
    thread = Thread()
    assert thread.passes(2 * BUSY_SECONDS, at_work=2 * BUSY_SECONDS)
    others = asyncio.ensure_future(asyncio.sleep(0))
    await thread.pacer.pause()
    await thread.pacer.pause()
    assert others.done()
    assert not thread.passes(BUSY_SECONDS / 2, at_work=BUSY_SECONDS / 2)


def test_waiting_is_no_work() -> None:
    """Each delta that came over 5 ms after the one before took a second turn of the event loop."""
    thread = Thread()
    assert not any(thread.passes(0.02, at_work=0.0002) for _ in range(20))


def test_work_that_gets_half_of_the_time_is_interrupted_too() -> None:
    """Another thread has the interpreter for the other half."""
    thread = Thread()
    assert any(thread.passes(BUSY_SECONDS / 5, at_work=BUSY_SECONDS / 10) for _ in range(15))


def test_what_is_slow_to_ask_is_asked_seldom() -> None:
    thread = Thread()
    for _ in range(100):
        thread.passes(BUSY_SECONDS / 100, at_work=BUSY_SECONDS / 100)
    assert thread.asked <= 1
