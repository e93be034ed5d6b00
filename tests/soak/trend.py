"""Does a series of samples grow? Its slope, by the median of the slopes of all pairs (Theil and Sen).

A few samples that are far off, such as those while a replica restarts, don't move it.
"""

from collections.abc import Sequence
from itertools import combinations
from statistics import median

import msgspec

HOUR = 3600.0
MOST = 400
"""Samples that are compared with each other: of more, every second one is left out, and so on."""


class Allowed(msgspec.Struct, frozen=True):
    """How much a series may grow in the time that was measured: a share of its median, and at least ``least``."""

    share: float
    least: float


class Trend(msgspec.Struct, frozen=True):
    """What came of a series. ``growth``: over the time that was measured, by the slope. ``allowed``: of that."""

    name: str
    first: float
    last: float
    middle: float
    highest: float
    an_hour: float
    growth: float
    allowed: float

    @property
    def is_flat(self) -> bool:
        """Whether it grew no more than it may."""
        return self.growth <= self.allowed


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes of all pairs of ``samples`` (seconds, value); 0 for fewer than two."""
    while len(samples) > MOST:
        samples = samples[::2]
    slopes = [(b - a) / (later - sooner) for (sooner, a), (later, b) in combinations(samples, 2) if later > sooner]
    return median(slopes) if slopes else 0.0


def trend(name: str, samples: Sequence[tuple[float, float]], allowed: Allowed) -> Trend:
    """The trend of ``samples``, of which there is at least one. First and last are medians of a tenth each."""
    values = [value for _, value in samples]
    tenth = max(1, len(values) // 10)
    per_second, middle = slope(samples), median(values)
    return Trend(
        name=name,
        first=median(values[:tenth]),
        last=median(values[-tenth:]),
        middle=middle,
        highest=max(values),
        an_hour=per_second * HOUR,
        growth=per_second * (samples[-1][0] - samples[0][0]),
        allowed=max(allowed.least, allowed.share * middle),
    )
