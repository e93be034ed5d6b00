"""What a thread costs that is kept between its runs, and nobody uses.

A full collection of the garbage collector stops every stream for as long as it looks at all objects that it knows. So
what stays of a run is counted here, which says how long that is with thousands of threads, on any machine.
"""

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bench.counting import answered
from tests.bench.server import create_ours
from tests.bench.work import history
from tests.product.inprocess import run, run_body, started, user

pytestmark = pytest.mark.anyio

THREADS = 40
OBJECTS = 8 if sys.version_info < (3, 14) else 20
"""Objects of a thread and its run at which a collection looks: 5 were counted, 6 after 200 messages. From Python 3.14
on it looks at each dictionary, too."""


async def run_threads(app: Any, name: str, earlier: int) -> None:
    """One run on each of so many new threads."""
    for number in range(THREADS):
        answer = await run(app, run_body(f"{name}-{number}", *history(earlier), user("hello", "m1")))
        assert answer.events()[-1]["type"] == "RUN_FINISHED"


@contextmanager
def at_rest() -> Iterator[None]:
    """Within: nothing is collected but what is free at once."""
    gc.collect()
    gc.collect()  # a tuple of tuples is left alone once these are
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("earlier", [0, 200])
async def test_a_thread_at_rest_is_few_objects(earlier: int, tmp_path: Path) -> None:
    """And they are free as soon as it isn't kept any more, without a collection."""
    with answered(deltas=2):
        async with started(create_ours("http://127.0.0.1/v1", tmp_path)) as app:
            cache, counts = app.state.engine._leaser.cache, []
            for name in ("first", "second"):
                await run_threads(app, name, earlier)
                with at_rest():
                    counts.append(len(gc.get_objects()))
            assert counts[1] - counts[0] < OBJECTS * THREADS
            with at_rest():
                places = [place for place in cache._kept if place[1].startswith("second")]
                parts = [
                    weakref.ref(part)
                    for place in places
                    for part in (cache._kept[place].history, cache._kept[place].history.journal)
                ]
                for place in places:
                    cache.drop(place)
                assert [part() for part in parts] == [None] * 2 * THREADS


@pytest.mark.parametrize("earlier", [0, 200])
async def test_what_is_kept_counts_as_much_as_it_takes(earlier: int, tmp_path: Path) -> None:
    with answered(deltas=2):
        async with started(create_ours("http://127.0.0.1/v1", tmp_path)) as app:
            cache = app.state.engine._leaser.cache
            await run_threads(app, "first", earlier)
            tracemalloc.start()
            try:
                await run_threads(app, "second", earlier)
                before, counted = tracemalloc.get_traced_memory()[0], cache.size
                for number in range(THREADS):
                    cache.drop(("bench", f"second-{number}"))
                taken, counted = before - tracemalloc.get_traced_memory()[0], counted - cache.size
            finally:
                tracemalloc.stop()
            assert counted / 3 < taken < counted
