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


def best(work: Callable[[], object], rounds: int = 7) -> float:
    """CPU seconds of the quickest round."""
    return min(seconds(work) for _ in range(rounds))


def growth(small: Callable[[], object], large: Callable[[], object], rounds: int = 9) -> float:
    """How many times as long ``large`` takes: in the best of some rounds, each of which takes both in turn.

    So a machine that slows down in between spoils a round and not the comparison; what really grows faster than its
    input does so in every round.
    """
    return min(seconds(large) / seconds(small) for _ in range(rounds))
