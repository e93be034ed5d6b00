"""The file of a SQLite store is removed or replaced while a server has it open: nothing more is decided in it."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite.backup import back_up
from tests.requirements import shows
from tests.stores.support import ask, gated

pytestmark = [pytest.mark.anyio, shows("K2")]

YES = Decision(True, by="alice", way="http")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    made = SQLiteStore(str(tmp_path / "gate.db"))
    await made.start()
    await ask(made, gated())
    back_up(tmp_path / "gate.db", tmp_path / "copy.db")
    yield made
    await made.aclose()


def put_back(folder: Path) -> None:
    """As the drill says, but with the server running."""
    for name in ("gate.db", "gate.db-wal", "gate.db-shm"):
        (folder / name).unlink()
    shutil.copy(folder / "copy.db", folder / "gate.db")


CHANGES: dict[str, Callable[[Path], object]] = {
    "removed": lambda folder: (folder / "gate.db").unlink(),
    "moved": lambda folder: (folder / "gate.db").rename(folder / "old.db"),
    "replaced": lambda folder: os.replace(folder / "copy.db", folder / "gate.db"),
    "put back": put_back,
}


@pytest.mark.parametrize("change", CHANGES)
async def test_nothing_is_decided_in_a_file_that_is_gone(store: SQLiteStore, tmp_path: Path, change: str) -> None:
    await store.check()
    CHANGES[change](tmp_path)
    with pytest.raises(Unavailable, match="its file is gone, or was replaced"):
        await store.move("a1", State.CLAIMED, decision=YES)
    with pytest.raises(Unavailable, match="its file is gone, or was replaced"):
        await store.check()
    with pytest.raises(Unavailable, match="its file is gone, or was replaced"):
        await ask(store, gated("a2", "c2"))


async def test_a_restore_is_refused_while_a_server_has_the_old_file_open(store: SQLiteStore, tmp_path: Path) -> None:
    put_back(tmp_path)
    restored = SQLiteStore(str(tmp_path / "gate.db"), any_past=True)
    await restored.start()
    for one in (restored, store):  # an attempt gives nobody's lock away
        with pytest.raises(ConfigurationError, match="the file that it replaced"):
            await one.begin_epoch()
    await store.aclose()
    assert (await restored.begin_epoch()).asked_again == 1
    await restored.aclose()


async def test_whoever_may_open_the_store_sees_who_has_it_open(tmp_path: Path) -> None:
    """Else another user of it, who may open the store and not the lock, would find nobody at work."""
    path = tmp_path / "gate.db"
    path.touch()
    path.chmod(0o660)
    if os.geteuid() == 0:
        os.chown(path, 1234, 5678)
    made = SQLiteStore(str(path))
    await made.start()
    store, lock = path.stat(), path.with_name("gate.db-lock").stat()
    await made.aclose()
    assert (lock.st_mode & 0o777, lock.st_uid, lock.st_gid) == (0o660, store.st_uid, store.st_gid)
