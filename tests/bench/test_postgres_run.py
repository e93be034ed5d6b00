"""What a run costs on PostgreSQL: round trips and calls, which are counted and held against those on SQLite.

They are not timed: with a machine's other work, one in some hundred comparisons of two times went wrong. For the same
reason the bus is the one in memory: what one of PostgreSQL sends in a run is the more, the longer that takes
(`tests/bus/test_shared.py` counts a bus).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate.threads import leased_thread
from tests.bench.counting import Counted, answered, counting, least
from tests.bench.server import create_ours
from tests.bench.work import history
from tests.product.inprocess import run, run_body, started, user
from tests.stores.breaking import spy

pytestmark = pytest.mark.anyio

ROUNDS = 5
DELTAS = 2_000
PROVIDER = "http://127.0.0.1/v1"


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is taken as it is, as it is where nothing is tested: the check reads the thread once more."""
    monkeypatch.setattr(leased_thread, "CHECKED", False)


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What was sent to PostgreSQL by now, a text a round trip."""
    return spy(monkeypatch)


async def asked(app: Any, thread: str, *messages: Any) -> None:
    answer = await run(app, run_body(thread, *messages))
    assert answer.events()[-1]["type"] == "RUN_FINISHED"


async def test_a_short_run_is_two_round_trips_however_long_its_thread_is(
    tables: str, tmp_path: Path, trips: list[bytes]
) -> None:
    """One takes the lease and reads the thread; one saves, and gives the lease back."""
    with answered(deltas=2):
        async with started(create_ours(PROVIDER, tmp_path, tables, "memory://")) as app:
            for earlier in (0, 1000):
                before = [*history(earlier), user("hello", "m1")]
                await asked(app, f"new-{earlier}", *before)
                taken = []
                for number in range(3):
                    trips.clear()
                    more = [user("more", f"more-{n}") for n in range(number + 1)]
                    await asked(app, f"new-{earlier}", *before, *more)
                    assert len([trip for trip in trips if b" journal " in trip]) == 2
                    taken.append(list(trips))
                assert min(map(len, taken)) == 2, taken  # the server's own jobs may look in between


@asynccontextmanager
async def both(tables: str, folder: Path) -> AsyncIterator[tuple[Any, Any]]:
    """The same server on SQLite and on PostgreSQL."""
    async with (
        started(create_ours(PROVIDER, folder)) as sqlite,
        started(create_ours(PROVIDER, folder, tables, "memory://")) as postgres,
    ):
        yield sqlite, postgres


async def counted(app: Any, name: str) -> Counted:
    """What a run takes, in the least of some."""
    counts = []
    for number in range(ROUNDS):
        with counting() as count:
            await asked(app, f"{name}-{number}", user("hello", "m1"))
        counts.append(count)
    return least(counts)


async def took(tables: str, folder: Path, deltas: int) -> tuple[Counted, Counted]:
    """What a run takes on SQLite, and on PostgreSQL."""
    with answered(deltas):
        async with both(tables, folder) as (sqlite, postgres):
            return await counted(sqlite, f"s{deltas}"), await counted(postgres, f"p{deltas}")


async def test_a_short_run_takes_little_more_than_on_sqlite(tables: str, tmp_path: Path) -> None:
    sqlite, postgres = await took(tables, tmp_path, 2)
    assert postgres.ours < 1.6 * sqlite.ours, (sqlite, postgres)
    assert postgres.calls < 1.6 * sqlite.calls, (sqlite, postgres)


async def test_a_delta_takes_what_it_takes_on_sqlite(tables: str, tmp_path: Path) -> None:
    few, many = [await took(tables, tmp_path, deltas) for deltas in (2, 2 + DELTAS)]
    sqlite, postgres = (more.ours - less.ours for less, more in zip(few, many, strict=True))
    assert sqlite > DELTAS
    assert postgres < 1.1 * sqlite, (few, many)
