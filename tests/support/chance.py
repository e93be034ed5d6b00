"""How much is tried at random: little for each commit, and the same each time; much, and something new, each night.

`pytest --explore SEED` is the night's way: `FACTOR` times as many examples and seeds, which follow from that one.
"""

from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, settings

FACTOR = 20
T = TypeVar("T")

_explored: int | None = None


def begin(explored: int | None) -> None:
    """Choose the way, before tests are imported: another seed is another selection, None is that of each commit."""
    global _explored
    _explored = explored
    # No deadline: a busy machine must not decide.
    common = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("repeatable", common, max_examples=50, derandomize=True)
    settings.register_profile("explore", common, max_examples=100 * FACTOR, print_blob=True)
    settings.load_profile("repeatable" if explored is None else "explore")


def examples(few: int) -> settings:
    """Settings of a test of hypothesis that has so many examples for each commit."""
    return settings(max_examples=few if _explored is None else few * FACTOR)


def seeds(few: int) -> list[int]:
    """So many seeds for random walks of our own."""
    return (
        list(range(few)) if _explored is None else [Random(_explored).getrandbits(31) + n for n in range(few * FACTOR)]
    )


def some(few: T, all: T) -> T:
    """How much of something for each commit, and how much in the night: `few` must be enough to see it."""
    return few if _explored is None else all
