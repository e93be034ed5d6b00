"""The metrics: their names, their labels, and what bounds the values of a label.

No label says who: no principal, no thread, no tenant. What others name (agents, tools, models) has a bound each; the
names that come after that many are counted together, as ``other``.
"""

from collections.abc import Iterator
from typing import Any

import structlog
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agui_gate.extras.metrics.instruments import Counter, Gauge, Histogram

log = structlog.get_logger("agui_gate.metrics")

OTHER = "other"
NAMES = 100
"""Names of a kind that have a label of their own: of agents, of tools, of models."""

SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: what takes milliseconds, and is a failure when it takes long."""
LONG = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds: models, tools and runs."""
PEOPLE = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 604_800.0)
"""Seconds: how long people take, from a click to a week."""

TOGETHER = 64
"""What was noted is counted when it is so much: then all but the first costs little, as it is where the first was."""


class Names(dict[str, str]):
    """Names as values of a label, by name: the first ``most`` as they are, all others as `OTHER`."""

    def __init__(self, most: int = NAMES) -> None:
        super().__init__()
        self._most = most

    def __missing__(self, name: str) -> str:
        """Returns ``name``, which is known from now on, or `OTHER`."""
        return OTHER if len(self) >= self._most else self.setdefault(name, name)


class Families(Collector):
    """The counters of one engine: another application in this process has others.

    What happens in a run is put into ``noted`` (what counts it, and its arguments), and `fold` counts it: who notes
    calls it when there is much, and else it is done when somebody asks.
    """

    def __init__(self) -> None:
        self.all: list[Counter | Histogram] = []
        self.noted: list[tuple[Any, ...]] = []
        self.agents, self.tools, self.models, self.routes = Names(), Names(), Names(), Names()
        self._make_runs()
        self._make_calls()
        self._make_server()

    def _make_runs(self) -> None:
        self.runs = self._counter(
            "runs_total",
            "Runs that ended: finished, waiting (for a person or the client), failed, cancelled, lost (the lease), "
            "unsaved (the store is away).",
            "agent",
            "outcome",
        )
        self.in_flight = self._gauge("runs_in_flight", "Runs of this process that have begun and not ended.")
        self.run_seconds = self._seconds("run_seconds", "How long runs took.", LONG)
        self.first_event = self._seconds(
            "first_event_seconds", "From the request of a run to its first event on the wire.", SHORT
        )
        self.first_token = self._seconds(
            "first_token_seconds",
            "From a request to the model to the first event of its answer.",
            LONG,
            "provider",
            "model",
        )
        self.model_requests = self._counter(
            "model_requests_total",
            "Requests to models. Code: ok, or the error's code (docs/errors.md), or cancelled.",
            "provider",
            "model",
            "code",
        )
        self.tokens = self._counter(
            "tokens_total",
            "Tokens as providers report them: input and output; of these, cached_input, cache_write_input, reasoning.",
            "provider",
            "model",
            "kind",
        )

    def _make_calls(self) -> None:
        self.tool_calls = self._counter(
            "tool_calls_total",
            "Tools that ran here: done, failed, stopped, not_started. Gated: a person or a rule let the call go.",
            "tool",
            "gated",
            "outcome",
        )
        self.tool_seconds = self._seconds("tool_seconds", "How long tools took.", LONG, "tool")
        self.decisions = self._counter(
            "decisions_total",
            "Decisions that took effect: approve, edit, reject; and how they came.",
            "tool",
            "decision",
            "way",
        )
        self.decision_wait = self._seconds(
            "decision_wait_seconds", "From a question to the decision that took effect.", PEOPLE
        )

    def _make_server(self) -> None:
        self.refused = self._counter(
            "answers_refused_total",
            "Answers that were not taken, by the error's code, as the audit trail has them: not_allowed, frozen, "
            "approval_refused and others. Not: late ones, and what is no answer.",
            "code",
        )
        self.streams = self._gauge("streams_open", "Event streams that are open: of runs, and of the inbox.", "kind")
        self.dropped = self._counter("readers_dropped_total", "Streams that this server ended before their end.")
        self.leases_lost = self._counter(
            "leases_lost_total", "Runs and decisions that ended as they had lost their lease."
        )
        self.store_seconds = self._seconds(
            "store_seconds", "How long operations of the store took.", SHORT, "operation"
        )
        self.auth_refused = self._counter(
            "auth_refused_total", "Requests that were refused: unauthorized (401), forbidden (403).", "reason"
        )
        self.webhook_attempts = self._counter(
            "webhook_attempts_total",
            "Attempts to deliver a notice, also to on_notice: delivered, or how it failed.",
            "endpoint",
            "outcome",
        )
        self.requests = self._counter("http_requests_total", "Requests that were answered.", "route", "status")

    def fold(self) -> None:
        """Counts what was noted. What can't be is logged: by then the request that it is of may be over, and the
        adapter of another may name its model by something that is no text.
        """
        noted = self.noted[:]
        self.noted.clear()
        for count, *arguments in noted:
            try:
                count(*arguments)
            except Exception as error:
                log.error("metric_failed", error=type(error).__name__)

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        self.fold()
        for one in self.all:
            yield from one.collect()

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        self.all.append(counter := Counter(f"agui_gate_{name}", says, labels))
        return counter

    def _seconds(self, name: str, says: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        self.all.append(histogram := Histogram(f"agui_gate_{name}", says, buckets, labels))
        return histogram

    def _gauge(self, name: str, says: str, *labels: str) -> Gauge:
        self.all.append(gauge := Gauge(f"agui_gate_{name}", says, labels))
        return gauge


class _Chain(Collector):
    def __init__(self, sources: tuple[Collector, ...]) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        for source in self._sources:
            yield from source.collect()


def text_of(*sources: Collector) -> bytes:
    """Returns the metrics of ``sources`` in Prometheus' text format (`CONTENT_TYPE`)."""
    return generate_latest(_Chain(sources))


__all__ = ["CONTENT_TYPE", "OTHER", "Families", "Names", "text_of"]
