"""`make bench`: see README.md beside this file."""

import argparse
import asyncio
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import uvloop

from tests.bench import conversations, figures, parsing, rivals, sdk, stalls
from tests.bench.machine import LOAD, Load, pin, raise_file_limit, remember_cores
from tests.bench.readers import fan_out
from tests.bench.report import Row, table
from tests.bench.scenarios import Contest, Effort, contest

IN_PROCESS = {
    "sanitize": figures.sanitizing,
    "registry": figures.registering,
    "import": figures.importing,
    "parts": figures.parts,
    "parsing": parsing.parsing,
    "wake-up": figures.fanning_out,
    "watchers": figures.watching,
}
OVER_SOCKETS = {
    "deltas": Contest.deltas,
    "log": Contest.log,
    "measured": Contest.measured,
    "paced": Contest.paced,
    "readers": fan_out,
    "short": Contest.short,
    "first": conversations.first_events,
    "history": conversations.histories,
    "earlier": conversations.earlier_runs,
    "gated": conversations.gated_cycles,
    "stores": conversations.stores,
    "memory": Contest.memory,
    "streams": conversations.sustained_streams,
}
NAMES = (*OVER_SOCKETS, *IN_PROCESS, "sdk", "stalls")
QUICK = Effort(rounds=3, seconds=0.25, window=1.0, held=500)


def main() -> int:
    """Measure, print the table, and say by the exit code whether all goals are met."""
    options = _options()
    remember_cores()
    pinned = pin(LOAD)
    before = Load.now()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rows = runner.run(_measure(options.only, _effort(options)))
        others = runner.run(_compare(_effort(options))) if options.rivals else ""
    after = Load.now()
    print(table(rows))
    if others:
        print(f"\n{others}")
    print(f"\n{_circumstances(before, after, pinned=pinned)}")
    if options.json:
        _save(options.json, rows, after.others_since(before))
    missed = [row.what for row in rows if row.met is False]
    if missed:
        print(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Our figures, next to a bare proxy's.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: under 50 s")
    parser.add_argument("--only", type=_names, default=NAMES, metavar="NAME,…", help=f"some of {', '.join(NAMES)}")
    parser.add_argument(
        "--rivals", action="store_true", help="servers of other frameworks as well, installed the first time"
    )
    parser.add_argument("--rounds", type=int, help="rounds of each server in each scenario")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    return parser.parse_args()


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in NAMES]:
        raise argparse.ArgumentTypeError(f"no such scenario: {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return names


def _effort(options: argparse.Namespace) -> Effort:
    effort = QUICK if options.quick else Effort()
    if options.rounds:
        effort = msgspec.structs.replace(effort, rounds=max(1, options.rounds))
    # A stream takes one descriptor in the client, and two in the server.
    return msgspec.structs.replace(effort, held=min(effort.held, (raise_file_limit() - 200) // 2))


async def _measure(names: Sequence[str], effort: Effort) -> list[Row]:
    rows: list[Row] = []
    sockets = [name for name in OVER_SOCKETS if name in names]
    if sockets:
        with contest(effort) as running:
            rows += await _over_sockets(running, sockets)
    for name, figure in IN_PROCESS.items():
        if name in names:
            gc.collect()
            with _Progress(name):
                rows += figure()
    if "sdk" in names:
        with _Progress("sdk"):
            rows += await sdk.sending()
    if "stalls" in names:
        with _Progress("stalls"):
            rows += await stalls.stalling()
    return rows


async def _compare(effort: Effort) -> str:
    with contest(effort) as running, _Progress("rivals"):
        await running.warm_up()
        return await rivals.compare(running)


async def _over_sockets(running: Contest, names: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    with _Progress("warm-up"):
        await running.warm_up()
    for name in names:
        with _Progress(name):
            rows += await OVER_SOCKETS[name](running)
    if {"paced", "readers", "memory"}.intersection(names):
        rows += running.leaving()
    return rows


class _Progress:
    """Says on standard error what is being measured and how long it took."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._start = time.monotonic()
        print(f"{self._name} … ", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        print(f"{time.monotonic() - self._start:.1f} s", file=sys.stderr, flush=True)


def _circumstances(before: Load, after: Load, *, pinned: bool) -> str:
    others = after.others_since(before)
    load = f"other work took {others:.2f}" if others is not None else f"load average {os.getloadavg()[0]:.1f}"
    cores = "server and load each on a core of their own" if pinned else "not pinned to cores"
    return f"{after.wall - before.wall:.0f} s; {load} of {os.cpu_count()} cores; {cores}"


def _save(path: Path, rows: Sequence[Row], others: float | None) -> None:
    record = {
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "cores": os.cpu_count(),
        "cores_of_others": others,
        "rows": [{**msgspec.to_builtins(row), "met": row.met} for row in rows],
    }
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
