"""What a run costs on PostgreSQL: round trips, which are counted, and CPU, which is held against that on SQLite."""

import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate.stores.postgres.connection import Connection
from tests.bench.counting import answered
from tests.bench.server import create_ours
from tests.bench.work import history
from tests.product.inprocess import run, run_body, started, user

pytestmark = pytest.mark.anyio

ROUNDS = 9
PROVIDER = "http://127.0.0.1/v1"


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was sent to PostgreSQL by now, a text a round trip."""
    sent: list[bytes] = []
    send = Connection.send

    def counting(self: Connection, query: bytes) -> None:
        sent.append(query)
        send(self, query)

    monkeypatch.setattr(Connection, "send", counting)
    return sent


async def asked(app: Any, thread: str, *messages: Any) -> None:
    answer = await run(app, run_body(thread, *messages))
    assert answer.events()[-1]["type"] == "RUN_FINISHED"


async def test_a_short_run_is_two_round_trips_however_long_its_thread_is(
    tables: str, tmp_path: Path, trips: list[bytes]
) -> None:
    """One takes the lease and reads the thread; one saves, and gives the lease back. What the bus says comes on top."""
    with answered(deltas=2):
        async with started(create_ours(PROVIDER, tmp_path, tables)) as app:
            for earlier in (0, 1000):
                before = [*history(earlier), user("hello", "m1")]
                await asked(app, f"new-{earlier}", *before)
                for number in range(3):
                    trips.clear()
                    more = [user("more", f"more-{n}") for n in range(number + 1)]
                    await asked(app, f"new-{earlier}", *before, *more)
                    assert len([trip for trip in trips if b" journal " in trip]) == 2
                    assert len(trips) <= 6, trips


@asynccontextmanager
async def both(tables: str, folder: Path) -> AsyncIterator[tuple[Any, Any]]:
    """The same server on SQLite and on PostgreSQL."""
    async with (
        started(create_ours(PROVIDER, folder)) as sqlite,
        started(create_ours(PROVIDER, folder, tables)) as postgres,
    ):
        yield sqlite, postgres


async def seconds(app: Any, name: str, runs: int) -> float:
    """CPU seconds of this process for so many runs."""
    began = time.process_time()
    for number in range(runs):
        await asked(app, f"{name}-{number}", user("hello", "m1"))
    return time.process_time() - began


async def ratio(tables: str, folder: Path, runs: int) -> float:
    """CPU on PostgreSQL by CPU on SQLite, in the better of some rounds, each of which takes both in turn."""
    ratios = []
    async with both(tables, folder) as (sqlite, postgres):
        gc.disable()
        try:
            for number in range(ROUNDS):
                there = await seconds(postgres, f"p{number}", runs)
                ratios.append(there / await seconds(sqlite, f"s{number}", runs))
        finally:
            gc.enable()
    return sorted(ratios)[ROUNDS // 4]


async def test_a_short_run_takes_little_more_than_on_sqlite(tables: str, tmp_path: Path) -> None:
    with answered(deltas=2):
        assert await ratio(tables, tmp_path, runs=25) < 1.6


async def test_a_delta_takes_what_it_takes_on_sqlite(tables: str, tmp_path: Path) -> None:
    with answered(deltas=5_000):
        assert await ratio(tables, tmp_path, runs=2) < 1.1
