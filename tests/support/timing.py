"""Measuring in tests, where a busy machine must not decide: CPU time, and comparisons within one moment."""

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that ``work`` takes, without the garbage collector."""
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def takes_less(limit: float, work: Callable[[], object], rounds: int = 20) -> bool:
    """Whether ``work`` takes less CPU seconds on a machine where `_yardstick` takes 10 ms: by the quickest of both.

    They take turns, so that a machine that is slow, or slow for a while, is so for both.
    """
    quickest, yardstick = float("inf"), float("inf")
    for _ in range(rounds):
        quickest, yardstick = min(quickest, seconds(work)), min(yardstick, seconds(_yardstick))
        if 0.010 * quickest / yardstick < limit:
            return True
    return False


def grows_less(times: float, small: Callable[[], object], large: Callable[[], object], rounds: int = 20) -> bool:
    """Whether ``large`` takes less than so many times as long: in one of some rounds, each of which takes both in turn.

    So a machine that slows down in between spoils a round and not the comparison; what really grows faster than its
    input does so in every round. Nearly always the first one is enough.
    """
    return any(seconds(large) < times * seconds(small) for _ in range(rounds))


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python ``work`` runs, on whatever machine."""
    count, before = 0, sys.gettrace()

    def note(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return note

    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def _yardstick() -> None:
    """Plain Python, which takes about 10 ms on the machines that the goals are for."""
    seen: dict[str, int] = {}
    for number in range(40_000):
        seen[str(number)] = seen.get(str(number // 2), 0) + 1
