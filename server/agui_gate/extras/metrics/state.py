"""The metrics that are read when somebody asks: what waits in the store, whether it answers, what this server is."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from agui_gate.concurrency import forget
from agui_gate.errors import AguiGateError, ShuttingDown
from agui_gate.extras.metrics.families import text_of
from agui_gate.extras.operations.store_facts import newest_schema
from agui_gate.release import read_revision
from agui_gate.stores.operators import Backlog, BacklogStore, Counted

if TYPE_CHECKING:
    from agui_gate.runs.engine import Engine

Ask = Callable[[], Coroutine[Any, Any, "Backlog | None"]]

FRESH_SECONDS = 5.0
"""Seconds for which what was read of the store is told again: several may ask, and often."""
READ_SECONDS = 0.75
"""Seconds that the store and the bus may take. Over it, they count as down: the answer waits for neither."""


class ServerState(Collector):
    """The state of one engine, and of its store. `read` reads, `collect` tells what was read; who has it
    calls `cancel` at the end.
    """

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._backlog: Backlog | None = None
        self._up = self._bus_up = False
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._asking: dict[str, asyncio.Task[Backlog | None]] = {}

    def cancel(self) -> None:
        """Stops the questions that nobody has answered yet."""
        for asking in self._asking.values():
            asking.cancel()

    async def text(self, *more: Collector) -> bytes:
        """Returns the state, and ``more`` metrics, as text."""
        await self.read()
        return text_of(self, *more)

    async def read(self) -> None:
        """Reads the store, unless that was a moment ago. Never raises what the store does: it is down, then."""
        async with self._reading:
            if time.monotonic() - self._read_at < FRESH_SECONDS:
                return
            asked = self._in_time("store", self._asked), self._in_time("bus", self._asked_bus)
            (self._up, self._backlog), (self._bus_up, _) = await asyncio.gather(*asked)
            self._read_at = time.monotonic()

    async def _in_time(self, whom: str, ask: Ask) -> tuple[bool, Backlog | None]:
        """Returns whether ``whom`` answered, and the answer. One question is asked at a time: that of before is waited
        for, as a store that is locked takes its time to say so.
        """
        asking = self._asking.get(whom)
        if asking is None or asking.done():
            asking = self._asking[whom] = asyncio.create_task(ask())
            asking.add_done_callback(forget)
        await asyncio.wait([asking], timeout=READ_SECONDS)
        if not asking.done() or asking.cancelled():
            return False, None
        try:
            return True, asking.result()
        except (AguiGateError, TimeoutError):
            return False, None

    async def _asked(self) -> Backlog | None:
        """Returns the backlog; None of a store that can't say it.

        Such a one is asked whether it can be read and written, as for `/readyz`. So is one that has failed, until it
        can: a full disk can be read.
        """
        store: Any = self._engine.store
        failed = getattr(store, "failed", set[str]())  # of the store that counts, which another may stand before
        if failed or not hasattr(store, "backlog"):
            await store.check()
            failed.clear()
        return await cast(BacklogStore, store).backlog() if hasattr(store, "backlog") else None

    async def _asked_bus(self) -> Backlog | None:
        """Asks the bus whether it is there. One within the process is."""
        bus = self._engine.bus
        if hasattr(bus, "check"):
            await bus.check()
        return None

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        schema = newest_schema(self._engine.store)
        yield from _of_server(schema, is_up=self._up, is_bus_up=self._bus_up, is_draining=self._is_draining)
        if self._backlog is not None:
            yield from _of(self._backlog)

    @property
    def _is_draining(self) -> bool:
        try:
            self._engine.check_open()
        except ShuttingDown:
            return True
        return False


def described() -> Iterator[Metric]:
    """Yields what `ServerState` tells, of a store in which nothing waits: for the documentation and the examples."""
    nothing = Counted()
    yield from _of_server(0, is_up=True, is_bus_up=True, is_draining=False)
    yield from _of(Backlog(now=0, pending=nothing, claimed=nothing, orphaned=nothing, unknown=nothing, notices=nothing))


def _of_server(schema: int, *, is_up: bool, is_bus_up: bool, is_draining: bool) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "agui_gate_store_up",
        "1: the store answered when it was asked last. After an operation failed: and could be written.",
        is_up,
    )
    yield GaugeMetricFamily(
        "agui_gate_bus_up",
        "1: the bus between replicas answered then. A bus within the process always does.",
        is_bus_up,
    )
    yield GaugeMetricFamily("agui_gate_draining", "1: the server was told to end.", is_draining)
    yield _build(schema)


def _build(schema: int) -> Metric:
    build = GaugeMetricFamily(
        "agui_gate_build_info",
        "What runs: always 1. Revision: the commit that the wheel was built from. Schema: the newest that it knows.",
        labels=("version", "revision", "schema"),
    )
    build.add_metric((version("agui-gate"), read_revision() or "", str(schema)), 1)
    return build


def _of(backlog: Backlog) -> Iterator[Metric]:
    """Yields what waits. Of all processes on the store: the same figure from each of them."""
    number = GaugeMetricFamily(
        "agui_gate_approvals",
        "Gated calls in the store: pending, claimed (at work), orphaned (nobody works on it), unknown (what came of "
        "it). Up to 10,000 of a state are counted, of those at work 500.",
        labels=("state",),
    )
    oldest = GaugeMetricFamily(
        "agui_gate_approval_oldest_seconds",
        "How old the oldest of them is: pending since it was asked, others since they were decided. 0: there is none.",
        labels=("state",),
    )
    for state in ("pending", "claimed", "orphaned", "unknown"):
        counted = getattr(backlog, state)
        number.add_metric((state,), counted.number)
        oldest.add_metric((state,), _age(backlog.now, counted.since))
    yield number
    yield oldest
    yield CounterMetricFamily(
        "agui_gate_expired_total",
        "Gated calls that nobody answered in time, by the process that found it.",
        backlog.expired,
    )
    yield GaugeMetricFamily(
        "agui_gate_outbox_pending", "Notices that extensions were not told yet.", backlog.notices.number
    )
    yield GaugeMetricFamily(
        "agui_gate_outbox_oldest_seconds",
        "How long the oldest of them waits. 0: there is none.",
        _age(backlog.now, backlog.notices.since),
    )


def _age(now: int, since: int | None) -> float:
    return 0.0 if since is None else max(0, now - since) / 1000
