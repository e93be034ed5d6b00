"""`agui-gate backup`: a copy of what is in use, whole or not there."""

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agui_gate.errors import Unavailable
from agui_gate.stores.base import Change
from agui_gate.stores.sqlite import SQLiteStore, backup
from agui_gate.stores.sqlite.backup import back_up
from tests.cli.conftest import Cli
from tests.stores.support import ask, gated, ids, pending, said

pytestmark = pytest.mark.anyio

STORE = "sqlite:///gate.db"


async def filled(path: Path, threads: int = 3) -> SQLiteStore:
    """An open store, whose newest changes are in the write-ahead log alone."""
    store = SQLiteStore(str(path))
    await store.start()
    for number in range(threads):
        thread = await store.lease_thread("alice", f"t{number}", "support", f"r{number}")
        await store.commit(thread, Change(entries=said(f"said {number}"), status="finished"), f"r{number}")
    return store


async def threads_of(path: Path) -> list[str]:
    store = SQLiteStore(str(path), any_past=True)
    await store.start()
    try:
        return sorted(head.id for head in (await store.list_threads("alice", limit=100)).threads)
    finally:
        await store.aclose()


async def test_a_copy_of_a_store_that_is_in_use_has_everything(cli: Cli, tmp_path: Path) -> None:
    store = await filled(tmp_path / "gate.db")
    await ask(store, gated(thread_id="t0"), thread_id="t0")
    result = await asyncio.to_thread(cli, "backup", "copy.db", "--store", STORE)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("gate.db copied to copy.db: ")
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "gate.db", "gate.db-lock", "gate.db-shm", "gate.db-wal"]
    shutil.copy(tmp_path / "gate.db", tmp_path / "by-hand.db")
    await store.aclose()
    copy = SQLiteStore(str(tmp_path / "copy.db"), any_past=True)
    await copy.start()
    assert ids(await copy.read_thread("alice", "t2")) == ["said 2"]
    assert [approval.id for approval in await pending(copy, "alice")] == ["a1"]
    await copy.aclose()
    with closing(sqlite3.connect(tmp_path / "by-hand.db")) as by_hand:
        tables = by_hand.execute("SELECT * FROM sqlite_master").fetchall()
    assert tables == [], "which is why there is this command"


async def test_a_copy_is_of_one_moment_and_holds_up_no_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody writes at every step of it."""
    monkeypatch.setattr(backup, "PAGES", 1)
    store = await filled(tmp_path / "gate.db")
    loop = asyncio.get_running_loop()
    written: list[Any] = []

    async def write() -> None:
        name = f"new{len(written)}"
        thread = await store.lease_thread("alice", name, "support", name)
        await store.commit(thread, Change(entries=said("x" * 10_000), status="finished"), name)
        written.append(name)

    def report(done: int, total: int) -> None:
        asyncio.run_coroutine_threadsafe(write(), loop).result(10)

    await asyncio.to_thread(back_up, tmp_path / "gate.db", tmp_path / "copy.db", report=report)
    await store.aclose()
    assert len(written) > 5
    assert await threads_of(tmp_path / "copy.db") == ["t0", "t1", "t2"]


async def test_an_earlier_copy_is_replaced_only_by_force(cli: Cli, tmp_path: Path) -> None:
    await (await filled(tmp_path / "gate.db")).aclose()
    (tmp_path / "copy.db").write_text("precious")
    result = await asyncio.to_thread(cli, "backup", "copy.db", "--store", STORE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: copy.db exists already; --force replaces it.\n"
    assert (tmp_path / "copy.db").read_text() == "precious"
    assert (await asyncio.to_thread(cli, "backup", "copy.db", "--store", STORE, "--force")).exit_code == 0
    assert await threads_of(tmp_path / "copy.db") == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("store", "target", "message"),
    [
        ("memory://", "copy.db", "A store memory:// is not a file that can be copied"),
        ("sqlite:///missing.db", "copy.db", "There is no database missing.db to copy"),
        ("sqlite:///other.db", "copy.db", "other.db is not a database of agui-gate."),
        ("sqlite:///noise.db", "copy.db", "The database noise.db can't be copied (file is not a database)."),
        (STORE, "gate.db", "gate.db is the store itself"),
        (STORE, "nowhere/copy.db", "nowhere/copy.db can't be written: No such file or directory."),
        (STORE, "used.db", "used.db-wal exists already"),
    ],
)
async def test_what_can_not_be_is_one_sentence(cli: Cli, tmp_path: Path, store: str, target: str, message: str) -> None:
    await (await filled(tmp_path / "gate.db")).aclose()
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE t (x)")
    (tmp_path / "noise.db").write_bytes(b"noise" * 1000)
    (tmp_path / "used.db-wal").write_text("")
    before = sorted(os.listdir(tmp_path))
    result = await asyncio.to_thread(cli, "backup", target, "--store", store)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before, "nothing is left behind"


async def test_a_damaged_store_makes_no_copy(tmp_path: Path) -> None:
    await (await filled(tmp_path / "gate.db", 200)).aclose()
    content = bytearray((tmp_path / "gate.db").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8192] = os.urandom(8192)
    (tmp_path / "gate.db").write_bytes(content)
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(Unavailable, match="The copy is damaged"):
        back_up(tmp_path / "gate.db", tmp_path / "copy.db", replace=True)
    assert (tmp_path / "copy.db").read_text() == "precious"


async def test_a_copy_that_is_broken_off_leaves_what_was_there(tmp_path: Path) -> None:
    await (await filled(tmp_path / "gate.db")).aclose()
    (tmp_path / "copy.db").write_text("precious")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(tmp_path / "gate.db", tmp_path / "copy.db", replace=True, report=stop)
    assert sorted(os.listdir(tmp_path)) == ["copy.db", "gate.db"]
    assert (tmp_path / "copy.db").read_text() == "precious"
