"""A database that is not the one it was: a promoted standby, a restored one, a copy. Nothing is decided in it."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.errors import ConfigurationError, Unavailable
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.postgres.link import Link, parameters
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite.backup import back_up
from tests.requirements import shows
from tests.stores.support import ask, gated
from tests.support.servers import START_SECONDS, Postgres

pytestmark = [pytest.mark.anyio, shows("K2")]

YES = Decision(True, by="alice", way="http")
REFUSED = "run agui-gate migrate --restored"


@asynccontextmanager
async def opened(url: str, any_past: bool = False) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, any_past=any_past)
    try:
        await store.start()
        yield store
    finally:
        await store.aclose()


@pytest.fixture
def replicated() -> Iterator[Postgres]:
    """PostgreSQL whose log a standby could follow, or a restore."""
    server = Postgres(wal_level="replica", restore_command="/bin/false")
    server.start()
    yield server
    server.close()


def promote(server: Postgres) -> None:
    """Have it go on as a standby does that is promoted, or a restore to a point in time: on a new timeline."""
    server.stop()
    (server.data / "recovery.signal").touch()
    server.start()
    deadline = time.monotonic() + START_SECONDS
    while server.execute("SELECT pg_is_in_recovery()") != [(False,)]:
        assert time.monotonic() < deadline


async def test_a_promoted_standby_is_worked_with_after_a_restore_is_said(replicated: Postgres) -> None:
    url = replicated.url(replicated.create())
    async with opened(url) as left:
        await ask(left, gated("a1"), gated("a2", "c2"))
        replicated.kill()
        replicated.start()
        await left.move("a2", State.CLAIMED, decision=YES)  # a crash alone is no other past
        promote(replicated)
        with pytest.raises(Unavailable, match=REFUSED):  # before anybody has looked
            await left.move("a1", State.CLAIMED, decision=YES)
        with pytest.raises(Unavailable, match=REFUSED):
            await left.check()
        with pytest.raises(Unavailable, match=REFUSED):
            await left.lease_thread("alice", "t", "support", "r9")
    with pytest.raises(Unavailable, match=REFUSED):
        async with opened(url):
            pass
    async with opened(url, any_past=True) as restored:
        records = (await restored.list_approvals("alice", limit=9, which="all")).approvals
        assert {record.id: record.state for record in records} == {"a1": State.PENDING, "a2": State.CLAIMED}
        epoch = await restored.begin_epoch()
        assert (epoch.asked_again, epoch.settled) == (1, 1)
    async with opened(url) as store:
        await store.move(f"a1.{epoch.number}", State.CLAIMED, decision=YES)
        await store.check()


async def test_a_database_that_was_copied_is_another_one(postgres: Postgres, database: str) -> None:
    async with opened(database) as store:
        await ask(store, gated())
    copy = postgres.create(database.rpartition("/")[2])
    with pytest.raises(Unavailable, match=REFUSED):
        async with opened(postgres.url(copy)):
            pass
    async with opened(postgres.url(copy), any_past=True) as store:
        await store.begin_epoch()
    async with opened(postgres.url(copy)):
        pass
    async with opened(database) as store:
        await store.move("a1", State.CLAIMED, decision=YES)
    postgres.drop(copy)


@pytest.mark.parametrize(("given", "is_then"), [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply",) * 2])
async def test_what_is_durable_is_so_whatever_the_database_says(
    database: str, postgres: Postgres, given: str, is_then: str
) -> None:
    name = database.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = {given}")
    link = Link(parameters(database), tuple)

    def shown() -> Steps[str]:
        (found,) = yield [Statement("SELECT current_setting('synchronous_commit')")]
        yield Last([Statement("SELECT 1")])
        return str(found.rows[0][0])

    assert await link.run("durable", shown) == is_then
    assert await link.run("write", shown) == given
    await link.aclose()


async def test_a_copy_of_a_file_knows_that_it_is_one(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "gate.db"))
    await store.start()
    await ask(store, gated())
    back_up(tmp_path / "gate.db", tmp_path / "copy.db")
    await store.move("a1", State.CLAIMED, decision=YES)
    await store.aclose()
    back_up(tmp_path / "copy.db", tmp_path / "again.db")
    for name in ("copy.db", "again.db"):
        with pytest.raises(ConfigurationError, match=rf"{name} is a backup.*{REFUSED}"):
            await SQLiteStore(str(tmp_path / name)).start()
        restored = SQLiteStore(str(tmp_path / name), any_past=True)
        await restored.start()
        epoch = await restored.begin_epoch()
        await restored.aclose()
        fresh = SQLiteStore(str(tmp_path / name))
        await fresh.start()
        await fresh.move(f"a1.{epoch.number}", State.CLAIMED, decision=YES)
        await fresh.aclose()
