"""`make soak`: see `tests/soak`.

    python -m tests.soak --minutes 120 --rate 1

SIGINT ends it early, with a report of what there is. It fails if something grew that must not, if something was done
twice, or if a replica couldn't be started again.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from agui_gate_adapters.testkit.agui import connecting
from tests.crash.world import Effect
from tests.soak.customers import Customers
from tests.soak.fleet import Fleet, fleet
from tests.soak.samples import KEPT_TABLES, SECONDS, STORE_TABLES, Samples
from tests.soak.trend import Allowed, Trend, trend

FLAT = {
    "rss_mb": Allowed(0.05, 6),
    "descriptors": Allowed(0.05, 4),
    "tasks": Allowed(0.05, 4),
    "threads_of_process": Allowed(0, 3),
    "store_connections": Allowed(0.05, 3),
    "bus_connections": Allowed(0.05, 3),
    "bus_mb": Allowed(0.1, 2),
    "bus_keys": Allowed(0.1, 40),
    "wal_mb": Allowed(0.1, 16),
    "tables_mb": Allowed(0.1, 2),
    **{f"rows_{name}": Allowed(0.1, 40) for name in STORE_TABLES},
}
"""What must not grow, and by how much it may seem to, in the time that was measured."""


class Kills(msgspec.Struct):
    """What was done to the second replica."""

    killed: int = 0
    restarted: int = 0


async def disturb(found: Fleet, client: httpx2.AsyncClient, every: float, chance: random.Random, kills: Kills) -> None:
    """Kill the second replica now and then, or end it in good order, and start it again."""
    while True:
        await asyncio.sleep(every * chance.uniform(0.7, 1.3))
        gently = chance.random() < 0.25
        await found.replicas[1].end(signal.SIGTERM if gently else signal.SIGKILL)
        if gently:
            kills.restarted += 1
        else:
            kills.killed += 1
        await asyncio.sleep(chance.uniform(1, 8))
        found.replicas[1].start()
        await found.ready(1, client)


def twice(effects: Path) -> list[str]:
    """The calls that took effect twice."""
    lines = effects.read_text().splitlines() if effects.exists() else []
    counts = Counter(msgspec.json.decode(line, type=Effect).key for line in lines)
    return [key for key, number in counts.items() if number > 1]


def report(trends: Sequence[Trend], kept: Sequence[Trend], facts: dict[str, Any]) -> str:
    """All of it as text."""
    head = f"{'':<24}{'first':>10}{'last':>10}{'highest':>10}{'an hour':>10}{'growth':>10}{'allowed':>10}"
    lines = [f"{name}: {value}" for name, value in facts.items()] + ["", head]
    for one in trends:
        figures = (one.first, one.last, one.highest, one.an_hour, one.growth, one.allowed)
        shown = "".join(f"{figure:>10.2f}" for figure in figures)
        lines.append(f"{one.name:<24}{shown}  {'flat' if one.is_flat else 'GROWS'}")
    lines += ["", "kept for as long as the settings say:"]
    lines += [f"{one.name:<24}{one.first:>10.0f}{one.last:>10.0f}" for one in kept]
    return "\n".join(lines)


async def soak(options: argparse.Namespace, folder: Path) -> int:
    """All of it. 1 if something grew, or was done twice."""
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    chance, kills, began = random.Random(options.seed), Kills(), time.monotonic()
    async with connecting() as client, fleet(folder, client) as found:
        customers, samples = Customers(found, client, options.rate, chance), Samples(found, client)
        print(f"soak: {options.minutes:g} minutes, files in {folder}", flush=True)
        work = [
            asyncio.create_task(customers.come()),
            asyncio.create_task(disturb(found, client, options.kill_every, chance, kills)),
        ]
        until, warm = began + 60 * options.minutes, began + 60 * options.warm
        before: dict[str, int] = {}
        while time.monotonic() < until and not over.is_set() and not any(task.done() for task in work):
            await samples.take(time.monotonic() - began)
            if not before and time.monotonic() > warm:
                before = await samples.kinds()
            print(
                f"{_now(samples, began)} {kills} left={len(customers.left)} runs={customers.done['runs']}", flush=True
            )
            await _pause(over, SECONDS)
        after = await samples.kinds()
        failed = [repr(task.exception()) for task in work if task.done() and not task.cancelled()]
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        more = Counter(after)
        more.subtract(before)
        facts = {
            "minutes": round((time.monotonic() - began) / 60, 1),
            "second replica": f"killed {kills.killed} times, restarted {kills.restarted} times",
            "done": dict(customers.done.most_common()),
            "threads left": len(customers.left),
            "webhooks taken": dict(found.receiver.taken.most_common()),
            "done twice": twice(folder / "effects"),
            "failed": failed,
            "objects that are more": dict(more.most_common(12)) if before else {},
        }
        return judge(options, samples, facts)


def judge(options: argparse.Namespace, samples: Samples, facts: dict[str, Any]) -> int:
    """Say what came of it. 1 if something grew that must not, was done twice, or failed."""
    measured = {
        name: [sample for sample in series if sample[0] > 60 * options.warm] or series
        for name, series in samples.series.items()
    }
    trends = [trend(name, measured[name], allowed) for name, allowed in FLAT.items()]
    kept = [trend(f"rows_{name}", measured[f"rows_{name}"], Allowed(0, 0)) for name in KEPT_TABLES]
    facts["samples"] = f"{len(measured['rss_mb'])} after {options.warm:g} minutes, {samples.missed} missed"
    print(report(trends, kept, facts), flush=True)
    if options.json:
        options.json.write_bytes(msgspec.json.encode({"facts": facts, "series": samples.series}))
    return int(bool(facts["done twice"] or facts["failed"]) or not all(one.is_flat for one in trends))


def _now(samples: Samples, began: float) -> str:
    latest = {name: series[-1][1] for name, series in samples.series.items()}
    shown = ("rss_mb", "descriptors", "tasks", "store_connections", "wal_mb", "rows_outbox", "rows_deliveries")
    return f"{(time.monotonic() - began) / 60:6.1f}m " + " ".join(f"{name}={latest.get(name, 0):.0f}" for name in shown)


async def _pause(over: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)


def parsed(words: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Does anything grow?")
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--warm", type=float, default=15, help="minutes at the beginning that don't count (15)")
    parser.add_argument("--rate", type=float, default=1, help="conversations that begin each second (1)")
    parser.add_argument("--kill-every", type=float, default=180, help="seconds (180)")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--json", type=Path, help="where to put all samples")
    parser.add_argument("--folder", type=Path, help="for logs, which stay there; else they are removed")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """All of it."""
    options = parsed(words)
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return asyncio.run(soak(options, folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
