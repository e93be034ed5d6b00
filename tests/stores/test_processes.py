"""Several processes on one SQLite file: races, `kill -9`, and what the next process finds."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agui_gate.core.approvals import State
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove, ThreadBusy
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import ask, gated, ids

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


@contextmanager
def process(job: str, path: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process and wait until it is ready; it is killed in the end."""
    command = [sys.executable, "-m", "tests.stores.process", job, path]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            assert started.stdout.readline() == "ready\n"
            yield started
        finally:
            started.kill()


@pytest.fixture
async def store(path: str) -> AsyncIterator[SQLiteStore]:
    made = SQLiteStore(path)
    await made.start()
    yield made
    await made.aclose()


async def test_two_processes_race_a_hundred_times_and_each_approval_is_claimed_once(
    store: SQLiteStore, path: str
) -> None:
    """B6."""
    names = [f"a{number}" for number in range(100)]
    await ask(store, *(gated(name) for name in names))
    with process("race", path) as one, process("race", path) as two:
        for racer in (one, two):
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        won = [(await asyncio.to_thread(racer.communicate, timeout=PATIENCE_S))[0].split() for racer in (one, two)]
    assert sorted(won[0] + won[1]) == sorted(names)
    assert [approval.state for approval in (await ask(store, gated("last"))).approvals[:100]] == [State.CLAIMED] * 100


async def test_kill_9_loses_nothing_that_was_committed(store: SQLiteStore, path: str) -> None:
    """B5: between pause and approval, between claim and result, in the middle of a run."""
    with process("decide", path) as victim:
        with pytest.raises(ThreadBusy):
            await store.lease_thread("alice", "t", "support", "r3")
        victim.kill()
        victim.wait(PATIENCE_S)
    thread = await store.lease_thread("alice", "t", "support", "r3")
    assert (thread.run_key, thread.run_status) == ("r2", "interrupted")
    assert ids(thread) == ["refund it", "more"]
    assert [approval.state for approval in thread.approvals] == [State.DONE, State.CLAIMED, State.PENDING]
    assert thread.approvals[0].output == Output("refunded")
    for approval_id in ("a1", "a2"):
        with pytest.raises(IllegalMove):
            await store.move(approval_id, State.CLAIMED)
    assert (await store.move("a2", State.UNKNOWN)).state is State.UNKNOWN
    assert (await store.move("a3", State.CLAIMED)).state is State.CLAIMED


async def test_the_lease_of_a_living_process_holds_and_of_a_dead_one_does_not(store: SQLiteStore, path: str) -> None:
    with process("hold", path) as holder:
        with pytest.raises(ThreadBusy):
            await store.lease_thread("alice", "held", "support", "r2")
        holder.kill()
        holder.wait(PATIENCE_S)
        thread = await store.lease_thread("alice", "held", "support", "r2")
    assert (thread.run_key, thread.run_status) == ("r-held", "interrupted")


async def test_a_process_that_closes_its_store_gives_its_leases_back(store: SQLiteStore, path: str) -> None:
    with process("hold", path) as holder:
        await asyncio.to_thread(holder.communicate, "go\n", timeout=PATIENCE_S)
    thread = await store.lease_thread("alice", "held", "support", "r2")
    assert thread.run_status == "interrupted"


async def test_two_stores_of_one_process(path: str) -> None:
    one, two = SQLiteStore(path), SQLiteStore(path)
    await asyncio.gather(one.start(), two.start())
    await one.lease_thread("alice", "t", "support", "r1")
    with pytest.raises(ThreadBusy):
        await two.lease_thread("alice", "t", "support", "r2")
    await ask(two, gated(), thread_id="other")
    claims = [store.move("a1", State.CLAIMED) for _ in range(25) for store in (one, two)]
    results = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(isinstance(result, IllegalMove) for result in results) == 49
    await one.aclose()
    await two.lease_thread("alice", "t", "support", "r2")
    await two.aclose()


async def test_many_stores_that_start_at_once_on_a_new_file(tmp_path: Path) -> None:
    for number in range(25):
        stores = [SQLiteStore(str(tmp_path / f"{number}.db")) for _ in range(4)]
        await asyncio.gather(*(store.start() for store in stores))
        for store in stores:
            await store.check()
            await store.aclose()
