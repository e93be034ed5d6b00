"""Measuring in tests, where a busy machine must not decide: CPU time, and comparisons within one moment."""

import gc
import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that ``work`` takes, without the garbage collector."""
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def effort(work: Callable[[], object], rounds: int = 9) -> float:
    """CPU seconds that ``work`` takes on a machine where `_yardstick` takes 10 ms, by the quickest round of both.

    They take turns, so that a machine that is slow, or slow for a while, is so for both.
    """
    both = [(seconds(work), seconds(_yardstick)) for _ in range(rounds)]
    return 0.010 * min(one for one, _ in both) / min(other for _, other in both)


def growth(small: Callable[[], object], large: Callable[[], object], rounds: int = 9) -> float:
    """How many times as long ``large`` takes: in the best of some rounds, each of which takes both in turn.

    So a machine that slows down in between spoils a round and not the comparison; what really grows faster than its
    input does so in every round.
    """
    return min(seconds(large) / seconds(small) for _ in range(rounds))


def _yardstick() -> None:
    """Plain Python, which takes about 10 ms on the machines that the goals are for."""
    seen: dict[str, int] = {}
    for number in range(40_000):
        seen[str(number)] = seen.get(str(number // 2), 0) + 1
