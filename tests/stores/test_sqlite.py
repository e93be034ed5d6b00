"""What is SQLite's own: files that can't be used, what is waited for, cancelled callers, and what a call costs."""

import asyncio
import os
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_gate.core.approvals import State
from agui_gate.core.transcript import Text, TextPart, TurnEntry, UserEntry
from agui_gate.errors import ConfigurationError, ThreadBusy, Unavailable
from agui_gate.stores.base import Change
from agui_gate.stores.sqlite import SQLiteStore, database
from agui_gate.stores.sqlite import store as sqlite_store
from tests.stores.support import Clock, ask, gated, ids, pending, said

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(path: str, clock: Clock) -> AsyncIterator[SQLiteStore]:
    made = SQLiteStore(path, clock=clock)
    await made.start()
    yield made
    await made.aclose()


async def refusal(path: str) -> str:
    """Start on a file that can't be used and return the sentence; nothing stays open."""
    store = SQLiteStore(path)
    with pytest.raises(ConfigurationError) as caught:
        await store.start()
    with pytest.raises(Unavailable):
        await store.check()
    await store.aclose()
    assert caught.value.message.endswith(".")
    assert path in caught.value.message
    return caught.value.message


def read(path: str) -> bytes:
    return Path(path).read_bytes()


def write(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)


@contextmanager
def occupied(store: SQLiteStore) -> Iterator[None]:
    """Keep the store's worker thread busy, so that whatever is asked of it meanwhile waits in its queue."""
    over = threading.Event()
    store._run(lambda _: over.wait(30))
    try:
        yield
    finally:
        over.set()


def pages(path: str) -> int:
    return Path(path).stat().st_size // 4096


def execute(path: str, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


# --- files


async def test_what_was_stored_is_there_after_a_restart(store: SQLiteStore) -> None:
    await ask(store, gated())
    await store.aclose()
    await store.start()
    await store.start()
    assert [approval.id for approval in await pending(store, "alice")] == ["a1"]


async def test_closing_leaves_one_file_that_only_its_owner_reads(store: SQLiteStore, path: str) -> None:
    await ask(store, gated())
    await store.aclose()
    assert os.listdir(Path(path).parent) == [Path(path).name]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


async def test_the_schema_is_made_once(path: str, store: SQLiteStore) -> None:
    await store.aclose()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(database.migrations()),)
    assert connection.execute("PRAGMA application_id").fetchone() == (database.APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


async def test_a_database_of_a_newer_version_is_refused(path: str, store: SQLiteStore) -> None:
    await store.aclose()
    execute(path, "PRAGMA user_version = 99")
    assert f"newer agui-gate (schema 99, this one knows up to {len(database.migrations())}); upgrade" in await refusal(
        path
    )


async def test_another_applications_database_is_left_alone(path: str) -> None:
    execute(path, "CREATE TABLE threads (key)")
    assert "belongs to another application" in await refusal(path)
    execute(path, "DROP TABLE threads", "PRAGMA user_version = 3")
    assert "belongs to another application" in await refusal(path)


async def test_a_file_that_is_no_database_is_refused(path: str) -> None:
    write(path, b"Dear diary, " * 1000)
    assert "is not a SQLite database or is damaged" in await refusal(path)
    assert read(path) == b"Dear diary, " * 1000


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
async def test_a_damaged_database_is_refused(path: str, store: SQLiteStore, damage: str) -> None:
    await ask(store, *(gated(f"a{number}") for number in range(200)))
    await store.aclose()
    content = read(path)
    damaged = content[:5000] if damage == "cut off" else content[:4096] + b"\xff" * (len(content) - 4096)
    write(path, damaged)
    assert "damaged" in await refusal(path)


async def test_paths_that_can_not_be_opened(tmp_path: Path) -> None:
    assert "No such file or directory" in await refusal(str(tmp_path / "missing" / "store.db"))
    assert "can't be" in await refusal(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_directory_without_the_right_to_write(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o500)
    assert "Permission denied" in await refusal(str(tmp_path / "store.db"))
    os.chmod(tmp_path, 0o700)


async def test_a_locked_database_is_refused_at_start(
    path: str, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.aclose()
    monkeypatch.setattr(database, "BUSY_MS", 10)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    assert "locked by another process" in await refusal(path)
    other.close()


# --- trouble later


async def test_a_lock_that_another_process_keeps_is_unavailable(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 10)
    store = SQLiteStore(path)
    await store.start()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="another process keeps it locked"):
        await store.lease_thread("alice", "t", "support", "r1")
    with pytest.raises(Unavailable):
        await store.check()
    assert await store.read_thread("alice", "t") is None, "reading goes on"
    other.execute("ROLLBACK")
    other.close()
    await store.check()
    await store.lease_thread("alice", "t", "support", "r1")
    await store.aclose()


async def test_a_full_disk_is_unavailable_and_changes_nothing(store: SQLiteStore) -> None:
    thread = await ask(store, gated())
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await on_worker(store, lambda connection: connection.execute("PRAGMA max_page_count = 1"))
    with pytest.raises(Unavailable, match="the disk is full"):
        await store.commit(thread, Change(entries=said("x" * 1_000_000), default_title="new"), "r1")
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (after.entries, after.title) == ([], None)
    await on_worker(store, lambda connection: connection.execute("PRAGMA max_page_count = 1000000"))
    await store.commit(thread, Change(entries=said("x" * 1_000_000)), "r1")


async def on_worker(store: SQLiteStore, act: Callable[[sqlite3.Connection], object]) -> None:
    """Do something with the store's own connection.

    A cursor that it makes goes on the worker's thread too. Elsewhere it could clear an error that is just being read.
    """

    def work(db: database.Database) -> None:
        act(db.connection)

    await store._run(work)


async def test_what_waits_for_the_disk(store: SQLiteStore) -> None:
    """The ledger does, the journal alone does not."""
    seen: list[str] = []
    await on_worker(store, lambda connection: connection.set_trace_callback(seen.append))

    def switched() -> list[str]:
        found = [text.rpartition(" ")[2] for text in seen if "synchronous" in text]
        seen.clear()
        return found

    thread = await store.lease_thread("alice", "t", "support", "r1")
    switched()
    await store.commit(thread, Change(entries=said("a")), "r1")
    assert switched() == [], "still as it was"
    await store.commit(thread, Change(approvals=[gated()]), "r1")
    assert switched() == ["FULL"]
    await store.move("a1", State.CLAIMED)
    await store.move("a1", State.DONE)
    assert switched() == []
    await store.commit(thread, Change(entries=said("b"), status="finished"), "r1")
    assert switched() == ["NORMAL"]


# --- callers


async def test_the_log_is_copied_into_the_file_when_it_has_many_pages(store: SQLiteStore, path: str) -> None:
    """The copy waits for the disk twice: after every thousand pages, as SQLite does it, is too often."""
    thread = await store.lease_thread("alice", "t", "support", "r")
    sizes = []
    for _ in range(3):
        await store.commit(thread, Change(entries=said("x" * 700 * 4096)), "r")
        sizes.append(pages(path))
    assert sizes[0] == sizes[1] < 100
    assert sizes[2] > database.MAX_LOG_PAGES, "a text is in its id, too"


async def test_a_cancelled_commit_is_committed(store: SQLiteStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    with occupied(store):
        task = asyncio.create_task(store.commit(thread, Change(entries=said("a"), status="finished"), "r1"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ids(await store.read_thread("alice", "t")) == ["a"]


async def test_a_caller_that_is_cancelled_while_opening_leaves_no_lease(store: SQLiteStore) -> None:
    with occupied(store):
        task = asyncio.create_task(store.lease_thread("alice", "t", "support", "r1"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    thread = await store.lease_thread("alice", "t", "support", "r2")
    assert thread.run_status == "interrupted"
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "t", "support", "r1")


async def test_closing_waits_for_what_is_queued(store: SQLiteStore, path: str) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    with occupied(store):
        commits = [asyncio.create_task(store.commit(thread, Change(entries=said(str(n))), "r1")) for n in range(50)]
        closing = asyncio.create_task(store.aclose())
        await asyncio.sleep(0)
        assert not closing.done()
    await asyncio.gather(closing, *commits)
    await store.start()
    assert ids(await store.read_thread("alice", "t")) == [str(n) for n in range(50)]


async def test_the_loop_goes_on_while_the_store_waits_for_a_lock(store: SQLiteStore, path: str) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(store.lease_thread("alice", "t", "support", "r1"))
    for _ in range(1000):
        await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    async with asyncio.timeout(60):
        await waiting


# --- changes that wait


async def transactions(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What begins and ends on the worker's thread from now on, with ``told`` where callers are told of it."""
    happened: list[str] = []
    resolve = sqlite_store._resolve

    def telling(outcomes: Sequence[sqlite_store._Outcome]) -> None:
        happened.append("told")
        resolve(outcomes)

    def note(statement: str) -> None:
        if statement.startswith(("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA sync")):
            happened.append(statement)

    await store._run(lambda db: db.connection.set_trace_callback(note))
    monkeypatch.setattr(sqlite_store, "_resolve", telling)
    return happened


async def settled(store: SQLiteStore, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """What came of calls that all waited in the queue."""
    with occupied(store):
        tasks = [asyncio.create_task(call) for call in calls]
        await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_changes_that_wait_wait_once_for_a_lock(
    store: SQLiteStore, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store._run(lambda db: db.execute("PRAGMA busy_timeout = 1"))
    happened = await transactions(store, monkeypatch)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        leases = (store.lease_thread("alice", f"t{n}", "support", f"r{n}") for n in range(9))
        failed = await settled(store, *leases)
    assert [type(error) for error in failed] == [Unavailable] * 9
    assert happened.count("BEGIN IMMEDIATE") == 1


async def test_changes_that_wait_are_committed_together_before_anybody_is_told(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = await transactions(store, monkeypatch)
    threads = await settled(store, *(store.lease_thread("alice", f"t{n}", "support", f"r{n}") for n in range(20)))
    assert [thread.id for thread in threads] == [f"t{n}" for n in range(20)]
    assert [what for what in happened if what != "told"] == ["BEGIN IMMEDIATE", "COMMIT"] * 2  # sixteen, and four
    assert happened.count("told") == 3  # of the thread's being busy, too
    assert happened[-1] == "told"


async def test_a_change_that_is_refused_takes_no_other_along(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = await transactions(store, monkeypatch)
    first, second, other = await settled(
        store,
        store.lease_thread("alice", "t", "support", "r1"),
        store.lease_thread("alice", "t", "support", "r2"),
        store.lease_thread("alice", "u", "support", "r3"),
    )
    assert isinstance(second, ThreadBusy)
    assert [happened.count(what) for what in ("BEGIN IMMEDIATE", "ROLLBACK", "COMMIT")] == [4, 2, 2]
    await store.commit(first, Change(entries=said("a")), "r1")
    await store.commit(other, Change(entries=said("b")), "r3")
    assert ids(await store.read_thread("alice", "t")) == ["a"]


async def test_what_need_not_wait_for_the_disk_does_not_wait_for_a_change_behind_it(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    happened = await transactions(store, monkeypatch)
    await settled(
        store,
        store.commit(thread, Change(entries=said("a")), "r1"),
        store.commit(thread, Change(approvals=[gated()]), "r1"),
        store.commit(thread, Change(entries=said("b")), "r1"),
    )
    alone, durable = ["BEGIN IMMEDIATE", "COMMIT"], ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", "COMMIT"]
    assert [what for what in happened if what != "told"] == alone + durable
    assert ids(await store.read_thread("alice", "t")) == ["a", "b"]


# --- cost


async def test_a_run_costs_two_hops(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    hops = 0
    submit = store._run

    def counting(job: Callable[[database.Database], object], *change: Any) -> asyncio.Future[object]:
        nonlocal hops
        hops += 1
        return submit(job, *change)

    monkeypatch.setattr(store, "_run", counting)
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=said("a"), status="finished"), "r1")
    assert hops == 2


@pytest.mark.skipif(sys.platform != "linux", reason="others wake the loop by call_soon_threadsafe")
async def test_the_loop_is_woken_without_pythons_lock(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = store._worker
    assert worker is not None
    assert worker._bell is not None
    bell = worker._bell
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.get_running_loop(), "call_soon_threadsafe", None)
        await store.check()
    await store.aclose()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(bell)


async def test_reading_a_long_thread_is_linear(store: SQLiteStore) -> None:
    """Ten times as much takes about ten times as long, whether it came in one batch or in many."""

    async def cpu(thread_id: str, count: int, batch: int) -> float:
        thread = await store.lease_thread("alice", thread_id, "support", "r1")
        entries = [
            UserEntry(f"m{n}", (Text("hello"),)) if n % 2 else TurnEntry(f"t{n}", (TextPart("x", "answer " * 20),))
            for n in range(count)
        ]
        for start in range(0, count, batch):
            await store.commit(thread, Change(entries=entries[start : start + batch]), "r1")
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            read = await store.read_thread("alice", thread_id)
            best = min(best, time.process_time() - started)
            assert read is not None
            assert read.entries == entries
        return best

    small, large = await cpu("small", 500, 500), await cpu("large", 5000, 5000)
    pieces = await cpu("pieces", 5000, 10)
    assert large < 40 * small
    assert pieces < 10 * large


@pytest.mark.skipif(sys.platform != "linux", reason="the loop is woken otherwise there")
async def test_the_bell_is_closed_after_the_thread_that_rings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is late: what it rings for was taken back already, with what it rang for before."""
    worker = sqlite_store.Worker("test", lambda changes: [])
    bell, thread, go = worker._bell, worker._thread, threading.Event()
    rings: list[bool] = []
    ring, close, join = os.eventfd_write, os.close, thread.join

    def late(descriptor: int, value: int) -> None:
        ring(descriptor, value)
        go.wait()

    def closing_bell(descriptor: int) -> None:
        if descriptor == bell:
            rings.append(thread.is_alive())
        close(descriptor)

    def joining(timeout: float | None = None) -> None:
        go.set()
        join(timeout)

    with monkeypatch.context() as patched:
        patched.setattr(os, "eventfd_write", late)
        patched.setattr(os, "close", closing_bell)
        patched.setattr(thread, "join", joining)
        assert await worker.submit(lambda: "done") == "done"
        worker.stop()
        worker.leave()
        go.set()
    join(10)
    assert rings == [False]
