"""`make chaos`: see `tests/chaos`."""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from agui_gate.stores.postgres import readiness
from tests.chaos.storm import THREADS_A_KILL, Came, Storm, business, items
from tests.crash.crowd import Approved, Crowd, Rounds, approve_all, everything_at_once
from tests.crash.ground import Ground, on_postgres, on_sqlite
from tests.crash.nursery import Nursery, nursery
from tests.crash.trail import Trail, trail
from tests.crash.world import script, world

Options = argparse.Namespace
States = dict[str, str]
"""What came of approvals, by their ids."""
CHECKS = ("storm", "approve", "rounds")


class Report(msgspec.Struct, frozen=True):
    """One part of it: what was done on which store, what came of it, and what the audit trail says."""

    what: str
    store: str
    seed: int
    seconds: float
    came: Came | Approved | Rounds
    trail: Trail

    @property
    def broken(self) -> list[str]:
        """What was promised and not kept."""
        return [*self.came.broken, *self.trail.broken]


def say(text: str) -> None:
    """Progress."""
    print(f"  {text}", flush=True)


async def storm(home: Nursery, folder: Path, ground: Ground, options: Options) -> tuple[Came, States]:
    """Kills at random moments."""
    chance = random.Random(options.seed)
    asks = business(options.kills * THREADS_A_KILL, chance)
    async with world(home, folder, ground, {}) as found:
        found.emulator.load(script(items(asks)))
        raging = Storm(found, ground, asks, chance)
        for _ in range(options.replicas):
            raging.start()
        await raging.rage(options.kills, say)
        say("calm")
        return await raging.calm(), raging.states


async def approve(home: Nursery, folder: Path, ground: Ground, options: Options) -> tuple[Approved, States]:
    """Each approval approved many times at once."""
    async with world(home, folder, ground, {}) as found:
        crowd = Crowd(found, [found.replica() for _ in range(options.replicas)], options.seed)
        return await approve_all(crowd, options.approvals, each=20), crowd.states


async def rounds(home: Nursery, folder: Path, ground: Ground, options: Options) -> tuple[Rounds, States]:
    """Approving, rejecting, expiring and cancelling at once."""
    async with world(home, folder, ground, {}) as found:
        crowd = Crowd(found, [found.replica() for _ in range(options.replicas)], options.seed)
        return await everything_at_once(crowd, options.rounds), crowd.states


@contextmanager
def grounds(names: list[str]) -> Iterator[Mapping[str, Callable[[Path], Ground]]]:
    """What makes a new store, by its kind."""
    if "postgres" not in names:
        yield {"sqlite": on_sqlite}
        return
    from tests.support.servers import Postgres

    server = Postgres()
    server.start()
    try:
        yield {"sqlite": on_sqlite, "postgres": lambda _: on_postgres(server, server.url(server.create()))}
    finally:
        server.close()


async def part(what: str, store: str, ground: Ground, home: Nursery, folder: Path, options: Options) -> Report:
    """One check on one store."""
    began = time.monotonic()
    checks: dict[str, Any] = {"storm": storm, "approve": approve, "rounds": rounds}
    came, states = await checks[what](home, folder, ground, options)
    seconds = round(time.monotonic() - began, 1)
    return Report(what, store, options.seed, seconds, came, await trail(ground.url, states))


def shown(report: Report) -> str:
    """A report as text."""
    figures = {name: value for name, value in msgspec.to_builtins(report.came).items() if name != "broken"}
    lines = [f"{report.what} on {report.store}, seed {report.seed}: {report.seconds} s"]
    lines += [f"  {name.replace('_', ' ')}: {value}" for name, value in figures.items()]
    lines += [f"  audit trail: {report.trail.events}"]
    lines += [f"  BROKEN: {words}" for words in report.broken[:20]] or ["  every promise was kept"]
    return "\n".join(lines)


def parsed(words: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"{', '.join(CHECKS)}; default: all")
    parser.add_argument("--store", action="append", choices=("sqlite", "postgres"), help="default: both")
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--approvals", type=int, default=500, help="each is approved 20 times")
    parser.add_argument("--rounds", type=int, default=2_000)
    parser.add_argument("--json", type=Path, help="where to put the report as JSON")
    options = parser.parse_args(words)
    if unknown := set(options.what) - set(CHECKS):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    return options


def main(words: list[str]) -> int:
    """All of it. 1 if a promise was broken."""
    options = parsed(words)
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # the provider writes to who was killed
    readiness.SKEW_MS = 1 << 60  # the trail is read of a store whose clock was set forward
    names = options.store or ["sqlite", "postgres"]
    reports = []
    with ExitStack() as exits:
        temporary = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
        makers, home = exits.enter_context(grounds(names)), exits.enter_context(nursery(temporary / "log"))
        for name, what in product(names, options.what or CHECKS):
            folder = temporary / f"{name}-{what}"
            folder.mkdir()
            print(f"{what} on {name}", flush=True)
            reports.append(asyncio.run(part(what, name, makers[name](folder), home, folder, options)))
            print(shown(reports[-1]), flush=True)
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(reports), indent=2))
    return int(any(report.broken for report in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
