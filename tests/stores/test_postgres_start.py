"""What a PostgreSQL store says when it can't be used, at its start and later; and its versions, side by side."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import psycopg
import pytest
from structlog.testing import capture_logs

from agui_gate.core.approvals import State
from agui_gate.errors import Unavailable, Unreadable
from agui_gate.stores.base import Change
from agui_gate.stores.clock import wall_clock
from agui_gate.stores.postgres import PostgresStore, readiness, schema
from agui_gate.stores.postgres.connection import Connection
from agui_gate.stores.postgres.errors import Trouble
from agui_gate.stores.postgres.link import Link
from agui_gate.stores.sql.operations import Result
from agui_gate.stores.upgrade import UPGRADE_SECONDS, Upgrade
from tests.stores.breaking import lose
from tests.stores.support import ask, gated, ids, said
from tests.support.servers import Postgres, free_port

pytestmark = pytest.mark.anyio

PASSWORD = "s3cret-word"


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url)
    await store.start()
    try:
        yield store
    finally:
        await store.aclose()


async def refusal(url: str) -> str:
    """What is said when it can't start. It is one sentence or two, without anything of the URL that is secret."""
    store = PostgresStore(url)
    with pytest.raises(Unavailable) as caught:
        await store.start()
    await store.aclose()
    with pytest.raises(Unavailable, match="closed"):
        await store.check()
    assert PASSWORD not in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith(".")
    return caught.value.message


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


@pytest.fixture
def role(postgres: Postgres, database: str) -> Iterator[Callable[[str], str]]:
    """Makes the URL of a role that may come in with a password."""
    postgres.execute(f"CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}'")
    yield lambda password: f"postgresql://locked:{password}@127.0.0.1:{postgres.port}/{name_of(database)}"
    postgres.start()
    postgres.execute("DROP OWNED BY locked", name_of(database))
    postgres.execute("DROP ROLE locked")


# --- what is wrong at the start


async def test_who_is_not_let_in_is_told_why(role: Callable[[str], str], database: str, postgres: Postgres) -> None:
    assert "the role or its password is wrong" in await refusal(role(PASSWORD + "x"))
    assert "there is no such database" in await refusal(database + "x")
    assert "there is no such role" in await refusal(f"postgresql://nobody@127.0.0.1:{postgres.port}/postgres")
    assert "nothing listens there" in await refusal(f"postgresql://u:{PASSWORD}@127.0.0.1:{free_port()}/db")
    assert "there is no such host" in await refusal(f"postgresql://u:{PASSWORD}@no-such-host.invalid/db")


async def test_a_server_without_a_connection_left(postgres: Postgres, database: str) -> None:
    postgres.execute(f"ALTER DATABASE {name_of(database)} CONNECTION LIMIT 0")
    postgres.execute("CREATE ROLE plain LOGIN")
    try:
        assert "no connection left" in await refusal(database.replace("postgres@", "plain@"))
    finally:
        postgres.execute("DROP ROLE plain")


async def test_tables_that_its_role_may_not_make(role: Callable[[str], str], database: str, postgres: Postgres) -> None:
    assert "tables are missing, and its role may not create them: run agui-gate migrate" in await refusal(
        role(PASSWORD)
    )
    async with opened(database):  # somebody else makes them
        pass
    assert "lacks rights on the tables of agui-gate (SELECT" in await refusal(role(PASSWORD))
    name = name_of(database)
    postgres.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO locked", name)
    postgres.execute("REVOKE DELETE ON journal FROM locked", name)
    assert "lacks rights on journal: it needs SELECT, INSERT, UPDATE and DELETE" in await refusal(role(PASSWORD))
    postgres.execute("GRANT DELETE ON journal TO locked", name)
    async with opened(role(PASSWORD)) as store:
        await ask(store, gated())
        postgres.execute("REVOKE INSERT ON journal FROM locked", name)
        thread = await store.lease_thread("alice", "t", "support", "r2")
        with pytest.raises(Unavailable, match="lacks rights"):
            await store.commit(thread, Change(entries=said("hi"), status="finished"), "r2")
        await store.commit(thread, Change(status="failed"), "r2")


async def test_tables_of_another_application(database: str, postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE threads (subject text)", name_of(database))
    assert "tables of another application" in await refusal(database)
    assert postgres.execute("SELECT to_regclass('journal'), to_regclass('agui_schema')", name_of(database)) == [
        (None, None)
    ]


async def test_a_database_in_another_encoding(postgres: Postgres) -> None:
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    try:
        assert "encoding than UTF8" in await refusal(postgres.url("latin"))
    finally:
        postgres.drop("latin")


async def test_a_database_that_is_read_only(postgres: Postgres, database: str) -> None:
    async with opened(database):
        pass
    postgres.execute(f"ALTER DATABASE {name_of(database)} SET default_transaction_read_only = on")
    assert "read-only (a standby?)" in await refusal(database)


async def test_clocks_that_are_more_than_a_minute_apart(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wall = wall_clock
    async with opened(database) as store:
        for ahead in (59_000, -59_000):
            monkeypatch.setattr(readiness, "wall_clock", lambda ahead=ahead: wall() + ahead)
            await store.check()
        for ahead in (105_000, -105_000):  # far enough for a look at the clocks that takes long
            monkeypatch.setattr(readiness, "wall_clock", lambda ahead=ahead: wall() + ahead)
            with pytest.raises(Unavailable, match=r"1\d\d seconds apart"):
                await store.check()
    assert "seconds apart" in await refusal(database)


# --- clocks


async def test_the_clock_is_the_databases_and_never_goes_back(database: str, postgres: Postgres) -> None:
    async with opened(database) as store:
        await store.check()
        ((now,),) = postgres.execute("SELECT floor(date_part('epoch', clock_timestamp()) * 1000)::bigint")
        assert abs(store.now() - now) < 60_000
        ahead = now + 3_600_000
        postgres.execute(f"UPDATE clock SET seen = {ahead}", name_of(database))
        thread = await store.lease_thread("alice", "t", "support", "r1")
        assert thread.created_at == ahead
        assert not await store.renew(["r1"])
        assert abs(store.now() - ahead) < 60_000
    async with opened(database) as store:  # the lease went by the clock as it is: it is over
        await store.lease_thread("alice", "t", "support", "r2")


async def test_renewing_notes_what_the_clock_says(database: str, postgres: Postgres) -> None:
    async with opened(database) as store:
        before = store.now()
        postgres.execute("UPDATE clock SET seen = 0", name_of(database))
        await store.renew(["r"])
        ((seen,),) = postgres.execute("SELECT seen FROM clock", name_of(database))
        assert seen >= before - 5_000


# --- versions


async def test_several_that_start_at_once_make_the_tables_once(database: str, postgres: Postgres) -> None:
    stores = [PostgresStore(database) for _ in range(6)]
    await asyncio.gather(*(store.start() for store in stores))
    assert postgres.execute("SELECT version, oldest_reader FROM agui_schema", name_of(database)) == [
        (schema.known(), 1)
    ]
    await asyncio.gather(*(store.aclose() for store in stores))


async def test_a_newer_schema_is_used_if_it_says_that_it_may_be(database: str, postgres: Postgres) -> None:
    """As in a rolling upgrade, which only adds something: the replica of the version before goes on."""
    name = name_of(database)
    async with opened(database) as store:
        await ask(store, gated())
        for table in schema.tables():
            postgres.execute(f"ALTER TABLE {table} ADD COLUMN novelty text DEFAULT 'kept'", name)
        postgres.execute("CREATE TABLE novelties (x int)", name)
        postgres.execute(f"UPDATE agui_schema SET version = {schema.known() + 1}", name)
        await store.check()
        thread = await store.lease_thread("alice", "t", "support", "r2")
        await store.commit(thread, Change(entries=said("one", "two"), status="finished"), "r2")
        assert (await store.move("a1", State.CLAIMED)).state is State.CLAIMED
    async with opened(database) as store:
        thread = await store.lease_thread("alice", "t", "support", "r3")
        await store.commit(thread, Change(keep=1, entries=said("three"), status="finished"), "r3")
        assert ids(await store.read_thread("alice", "t")) == ["one", "three"]
    assert postgres.execute("SELECT DISTINCT threads.novelty || approvals.novelty FROM threads, approvals", name) == [
        ("keptkept",)
    ]
    assert postgres.execute("SELECT version FROM agui_schema", name) == [(schema.known() + 1,)]


async def test_a_newer_schema_that_needs_a_newer_version_is_left_alone(database: str, postgres: Postgres) -> None:
    name, newer = name_of(database), schema.known() + 1
    async with opened(database) as store:
        postgres.execute(f"UPDATE agui_schema SET version = {newer}, oldest_reader = {newer}", name)
        with pytest.raises(Unavailable, match="made by a newer agui-gate"):
            await store.check()
    said = await refusal(database)
    assert f"schema {newer}; this one knows {schema.known()}, and {newer} is the oldest" in said


async def test_what_a_newer_version_wrote_is_refused_alone(database: str, postgres: Postgres) -> None:
    """An entry that can't be read safely: that thread is a 503, and its lease is free. The others go on."""
    async with opened(database) as store:
        for thread_id in ("t", "other"):
            thread = await store.lease_thread("alice", thread_id, "support", f"r-{thread_id}")
            await store.commit(thread, Change(entries=said("one"), status="finished"), f"r-{thread_id}")
        postgres.execute(
            'UPDATE journal SET body = \'[{"type":"turn","id":"a","parts":[{"type":"hologram"}]}]\' '
            "WHERE thread = (SELECT key FROM threads WHERE id = 't')",
            name_of(database),
        )
        with pytest.raises(Unreadable):
            await store.lease_thread("alice", "t", "support", "r2")
        (status,) = {head.run_status for head in (await store.list_threads("alice", limit=10)).threads}
        assert status == "finished"
        await store.lease_thread("alice", "other", "support", "r3")


async def test_missing_tables_are_made_as_far_as_they_are_missing(
    database: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database):
        pass
    whole = schema._migrations()
    monkeypatch.setattr(schema, "_migrations", lambda: [*whole, ["CREATE TABLE second (x int)"]])
    async with opened(database):
        pass
    assert postgres.execute("SELECT version FROM agui_schema", name_of(database)) == [(len(whole) + 1,)]
    assert postgres.execute("SELECT * FROM second", name_of(database)) == []


async def test_a_migration_lets_requests_through_while_a_long_query_keeps_it_waiting(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, all of them waited behind it for ten seconds, or for the end of the query."""
    whole = schema._migrations()
    async with opened(database) as older, await psycopg.AsyncConnection.connect(database) as dump:
        await dump.execute("SELECT * FROM threads")
        await dump.execute("SET application_name = 'a dump'")
        monkeypatch.setattr(schema, "_migrations", lambda: [*whole, ["ALTER TABLE threads ADD COLUMN novelty text"]])
        monkeypatch.setattr(schema, "LOCK_MS", 50)
        monkeypatch.setattr(readiness, "MIGRATE_PAUSE_SECONDS", 0.05)
        assert f"PostgreSQL's process {dump.info.backend_pid} (a dump) keeps them locked" in await refusal(database)
        monkeypatch.setattr(readiness, "MIGRATE_TRIES", 10_000)
        newer = PostgresStore(database)
        starting = asyncio.create_task(newer.start())
        for number in range(20):
            await older.lease_thread("alice", f"t{number}", "support", f"r{number}")
        assert not starting.done()
        await dump.rollback()
        await starting
        await newer.aclose()


def add_migration(monkeypatch: pytest.MonkeyPatch, *statements: str) -> None:
    whole = schema._migrations()
    monkeypatch.setattr(schema, "_migrations", lambda: [*whole, list(statements)])


async def test_a_statement_of_an_upgrade_may_take_an_hour_and_is_told_of(
    database: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, an index over some ten million rows took longer than ten seconds, and so every start failed."""
    async with opened(database):
        pass
    bounds = ("statement_timeout", "lock_timeout", "client_connection_check_interval")
    settings = ", ".join(f"current_setting('{name}') AS {name}" for name in bounds)
    add_migration(
        monkeypatch, "-- Why.\nCREATE TABLE second (\n    x int\n)", f"CREATE TABLE bounds AS SELECT {settings}"
    )
    within: list[float | None] = []
    ask = Connection.ask

    async def spying(self: Connection, *texts: bytes, **options: float | None) -> Sequence[Result]:
        if b"TABLE bounds" in texts[-1]:
            within.append(options["within"])
        return await ask(self, *texts, **options)

    monkeypatch.setattr(Connection, "ask", spying)
    with capture_logs() as logs:
        async with opened(database):
            pass
        async with opened(database):
            pass
    assert postgres.execute("SELECT * FROM bounds", name_of(database)) == [("1h", "2s", "5s")]
    assert [seconds and seconds > UPGRADE_SECONDS for seconds in within] == [True]
    new = schema.known()
    assert [(line["event"], line.get("old"), line.get("new"), line.get("statement")) for line in logs] == [
        ("upgrade_begun", new - 1, new, None),
        ("upgrade_step", None, None, "CREATE TABLE second"),
        ("upgrade_step", None, None, f"CREATE TABLE bounds AS SELECT {settings}"[:80]),
        ("upgrade_ended", new - 1, new, None),
    ]


async def test_a_start_waits_for_the_upgrade_of_another_process(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, it failed after fourteen seconds, and told people to end the process that migrated."""
    async with opened(database):
        pass
    add_migration(monkeypatch, "CREATE TABLE second (x int)")
    monkeypatch.setattr(readiness, "MIGRATE_PAUSE_SECONDS", 0.01)
    async with await psycopg.AsyncConnection.connect(database) as other:
        await other.execute(f"SELECT pg_advisory_xact_lock({schema._LOCK})")
        with monkeypatch.context() as impatient:
            impatient.setattr(readiness, "UPGRADE_SECONDS", -1)
            said = await refusal(database)
        assert f"PostgreSQL's process {other.info.backend_pid} migrates the store's tables, and doesn't come" in said
        waits, waits_for = asyncio.Event(), list[str]()

        def wait(_: Upgrade, what_for: str) -> None:
            waits_for.append(what_for)
            waits.set()

        monkeypatch.setattr(Upgrade, "waits", wait)
        store = PostgresStore(database)
        starting = asyncio.create_task(store.start())
        await waits.wait()
        assert waits_for[0] == f"PostgreSQL's process {other.info.backend_pid}, which migrates the tables"
        assert not starting.done()
        await other.rollback()
        await starting
        await store.aclose()
    assert await readiness.schema_of(database) == schema.known()


async def test_an_upgrade_that_breaks_says_where_and_what_to_do(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(database):
        pass
    version, end = schema.known(), "SELECT pg_terminate_backend(pg_backend_pid())"
    add_migration(monkeypatch, "CREATE TABLE second (x int)", end)
    said = await refusal(database)
    assert said.startswith(f"The migration failed at step 2 of 2 ({end}")
    assert said.endswith("Nothing was changed. Run agui-gate migrate, or start again.")
    assert await readiness.schema_of(database) == version
    whole = schema._migrations()
    monkeypatch.setattr(schema, "_migrations", lambda: [*whole[:-1], ["CREATE TABLE second (x int)"]])
    lose(monkeypatch, lambda text: b"INTO agui_schema" in text, before=True, sent=True)
    assert "not known whether it was saved. Run agui-gate migrate" in await refusal(database)
    async with opened(database):
        pass


@pytest.mark.parametrize(("is_new", "said"), [(True, []), (False, [("", "run_ended", 1)])])
async def test_ends_of_runs_stay_written_where_a_process_of_the_version_before_may_read_them(
    database: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, is_new: bool, said: list[object]
) -> None:
    if not is_new:
        with monkeypatch.context() as before:
            script = next(at for at, texts in enumerate(schema._migrations()) if "TABLE outbox_kinds" in str(texts))
            before.setattr(schema, "_migrations", partial(list, schema._migrations()[:script]))
            async with opened(database):
                pass
        postgres.execute(
            "INSERT INTO threads (key, principal, id, agent, created_at, updated_at) "
            "VALUES (1, 'alice', 't', 'a', 1, 1)",
            name_of(database),
        )
    async with opened(database):
        pass
    assert postgres.execute("SELECT * FROM outbox_kinds", name_of(database)) == said


# --- in the middle


async def test_the_server_goes_and_comes_back(database: str, postgres: Postgres) -> None:
    async with opened(database) as store:
        thread = await store.lease_thread("alice", "t", "support", "r1")
        postgres.stop()
        for _ in range(2):
            with pytest.raises(Unavailable, match="The store is not available: "):
                await store.check()
            with pytest.raises(Unavailable):
                await store.commit(thread, Change(entries=said("lost")), "r1")
        postgres.start()
        await store.check()
        await store.commit(thread, Change(entries=said("one"), status="finished"), "r1")
        assert ids(await store.read_thread("alice", "t")) == ["one"]


async def test_who_may_not_look_for_room_waits_for_it_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role without the right to temporary tables: a write that found no room counts for half a minute."""

    class NoRight:
        async def run(self, *_: object) -> None:
            raise Trouble("its role lacks rights", readiness.NO_RIGHT)

    link, room, now = cast(Link, NoRight()), readiness.Room(), 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    room.refused(Trouble("it is locked", "55P03"))
    await room.check(link)
    room.refused(Trouble("the disk is full", "53100"))
    now += readiness.NO_ROOM_SECONDS - 1
    with pytest.raises(Unavailable, match="the disk is full"):
        await room.check(link)
    now += 1
    await room.check(link)
