"""Counters, gauges and histograms of one event loop, as plain numbers: `prometheus_client` makes the text of them.

Its own metrics take a lock, and several calls, for each count. These are counted in one loop and read in the same, so
an addition is enough.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from math import inf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

Labels = tuple[str, ...]


class Counter(Collector):
    """A number for each set of labels, which only grows."""

    _family: type[CounterMetricFamily | GaugeMetricFamily] = CounterMetricFamily

    def __init__(self, name: str, says: str, labels: Labels = ()) -> None:
        self.name, self._says, self.labels = name, says, labels
        self._values: defaultdict[Labels, float] = defaultdict(int, {} if labels else {(): 0})

    def inc(self, *labels: str, by: float = 1) -> None:
        """Adds ``by``."""
        self._values[labels] += by

    def collect(self) -> Iterator[Metric]:
        """Yields the metric."""
        family = self._family(self.name, self._says, labels=self.labels)
        for labels, value in self._values.items():
            family.add_metric(labels, value)
        yield family


class Gauge(Counter):
    """A number for each set of labels, which grows and shrinks."""

    _family = GaugeMetricFamily

    def dec(self, *labels: str) -> None:
        """Takes one away."""
        self._values[labels] -= 1


class Histogram(Collector):
    """For each set of labels: how many values were up to each bound, and the sum of all."""

    def __init__(self, name: str, says: str, bounds: tuple[float, ...], labels: Labels = ()) -> None:
        self.name, self._says, self.labels = name, says, labels
        self._bounds = (*bounds, inf)
        empty: list[float] = [0] * (len(self._bounds) + 1)
        self._values: defaultdict[Labels, list[float]] = defaultdict(empty.copy, {} if labels else {(): empty.copy()})

    def observe(self, value: float, *labels: str) -> None:
        """Counts a value."""
        values = self._values[labels]
        values[bisect_left(self._bounds, value)] += 1
        values[-1] += value

    def collect(self) -> Iterator[Metric]:
        """Yields the metric."""
        family = HistogramMetricFamily(self.name, self._says, labels=self.labels)
        names = ["+Inf" if bound == inf else str(bound) for bound in self._bounds]
        for labels, (*numbers, total) in self._values.items():
            family.add_metric(labels, list(zip(names, accumulate(numbers), strict=True)), total)
        yield family
