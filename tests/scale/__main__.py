"""`make scale`: what 1, 2 and 4 replicas do on one PostgreSQL, and what a run costs. docs/capacity.md reads it.

Load, provider, replicas and PostgreSQL share the machine's cores. So on a small machine throughput doesn't grow with
the replicas: what counts there is that it doesn't fall, and what a run costs each of them. CPU is the processes' own.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agui_gate import Agent
from agui_gate.config.settings import Settings
from agui_gate_adapters.openai_responses import OpenAIResponses
from tests.bench.client import Connection
from tests.bench.processes import Child
from tests.bench.work import run_request
from tests.replicas.fleet import Fleet, app_of, fleet
from tests.scale.postgres import Counts, Watched
from tests.support.servers import Valkey

AT_ONCE = 16
"""Clients that each begin a run when their last one has ended."""
DELTAS = 2


@dataclass(frozen=True)
class Row:
    """One measurement. Seconds are of one run; ``counts`` are of all of them."""

    bus: str
    replicas: int
    runs: int
    took: float
    latencies: Sequence[float]
    cpu: float
    counts: Counts

    def cells(self, one: float) -> list[str]:
        """As it is printed. ``one``: the runs a second of one replica."""
        rate = self.runs / self.took
        return [
            self.bus,
            str(self.replicas),
            f"{rate:.0f}",
            f"{rate / one:.2f}",
            f"{1000 * statistics.median(self.latencies):.0f}",
            f"{1000 * statistics.quantiles(self.latencies, n=100)[98]:.0f}",
            f"{1000 * self.cpu / self.runs:.2f}",
            f"{1000 * self.counts.cpu / self.runs:.2f}",
            f"{self.counts.messages / self.runs:.1f}",
            f"{self.counts.statements / self.runs:.1f}",
            f"{self.counts.writes / self.runs:.1f}",
            f"{self.counts.wal / self.runs / 1024:.1f}",
            f"{self.counts.kept / self.runs / 1024:.1f}",
            f"{self.counts.notifies / self.runs:.1f}",
            f"{self.counts.notifies / self.took:.0f}",
            f"{self.counts.connections / self.replicas:.1f}",
        ]


HEAD = (
    "bus", "replicas", "runs/s", "× one", "p50 ms", "p99 ms", "CPU ms", "PG CPU ms", "trips", "statements", "writes",
    "WAL KB", "kept KB", "NOTIFYs", "NOTIFYs/s", "connections",
)  # fmt: skip
"""Per run, but for runs/s, NOTIFYs/s, and connections (of a replica). ``trips``: messages to PostgreSQL, of whatever
a replica does. ``writes``: statements that write rows. ``kept``: what the database grows by."""


async def measure(bus: str, count: int, seconds: float, deltas: int) -> Row:
    """So many replicas under load on an empty database."""
    with Watched() as server, tempfile.TemporaryDirectory() as folder:
        valkey = Valkey() if bus == "valkey" else None
        provider = Child(Path(folder), "provider")
        try:
            if valkey:
                valkey.start()
            model = OpenAIResponses("m", mode="stateless", base_url=f"http://127.0.0.1:{provider.port}/v1", api_key="k")
            settings = Settings(log_level="error")
            app = app_of(Agent(name="support", model=model), store=server.store, settings=settings, auth=_principal)
            if valkey:
                app.options["bus"] = valkey.url
            async with fleet(app, count) as found:
                await _load(found, 1.0, deltas)
                return await _measured(bus, found, server, seconds, deltas)
        finally:
            provider.stop()
            if valkey:
                valkey.close()


async def _measured(bus: str, found: Fleet, server: Watched, seconds: float, deltas: int) -> Row:
    before, cpu, begun = server.counts(), _cpu(found), time.monotonic()
    latencies = await _load(found, seconds, deltas)
    took = time.monotonic() - begun
    used = _cpu(found) - cpu
    return Row(bus, len(found.replicas), len(latencies), took, latencies, used, server.counts() - before)


def _principal(request: object) -> str:
    return "bench"


def _cpu(found: Fleet) -> float:
    """CPU seconds of the replicas, all threads (see `tests/bench/processes.py`)."""
    return sum(time.clock_gettime(~(one.process.pid or 0) << 3 | 2) for one in found.replicas)


async def _load(found: Fleet, seconds: float, deltas: int) -> list[float]:
    """Run after run for so long, each at the next replica; how long each took."""
    until = time.monotonic() + seconds
    took: list[float] = []

    async def client(number: int) -> None:
        connections = [await Connection.to(one.port) for one in found.replicas]
        while time.monotonic() < until:
            number += 1
            begun = time.monotonic()
            data = await connections[number % len(connections)].run(run_request(deltas))
            took.append(time.monotonic() - begun)
            assert b"RUN_FINISHED" in data, data[-500:]
        for connection in connections:
            connection.leave()

    async with asyncio.TaskGroup() as group:
        for number in range(AT_ONCE):
            group.create_task(client(number))
    return took


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description="What replicas do on one PostgreSQL.")
    parser.add_argument("--seconds", type=float, default=5.0, help="of load for each row")
    parser.add_argument("--deltas", type=int, default=DELTAS, help="of each answer")
    options = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for bus in ("postgres", "valkey"):
        one = 0.0
        for count in (1, 2, 4):
            row = asyncio.run(measure(bus, count, options.seconds, options.deltas))
            one = one or row.runs / row.took
            print(f"| {' | '.join(row.cells(one))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
