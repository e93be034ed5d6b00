"""What a database of an older version becomes, and that deletion empties every table but the tombstones."""

import asyncio
import signal
import sqlite3
import threading
from contextlib import closing
from functools import partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agui_gate.core.approvals import State
from agui_gate.core.transcript import ConversationRef, Entry
from agui_gate.stores import open_store, schema_of
from agui_gate.stores.base import Change
from agui_gate.stores.postgres import schema
from agui_gate.stores.sqlite import SQLiteStore, database
from agui_gate.stores.sqlite.database import APPLICATION_ID, Database
from agui_gate.stores.upgrade import Upgrade
from tests.cli.support import call
from tests.releases.fixture import connected
from tests.stores.support import OTHERS, Clock, ask, gated, ids, said

pytestmark = pytest.mark.anyio


def version_1(path: str) -> None:
    """A database as the first version left it: two principals' threads, one of them with an approval that waits."""
    connection = sqlite3.connect(path)
    connection.executescript((files("agui_gate.stores") / "migrations/0001_initial.sql").read_text())
    threads = (
        "INSERT INTO threads (key, principal, id, agent, created_at, updated_at, entries, run_status, title, state)"
    )
    connection.execute(f"{threads} VALUES (1, 'alice', 't', 'support', 10, 30, 2, 'waiting', 'Orders', '{{\"a\":1}}')")
    connection.execute(f"{threads} VALUES (2, 'bob', 't', 'support', 20, 20, 0, 'finished', NULL, NULL)")
    entries: list[Entry] = [*said("a", "b")]
    connection.execute("INSERT INTO journal VALUES (1, 0, 2, ?)", (msgspec.json.encode(entries),))
    connection.execute(
        "INSERT INTO approvals (id, thread, principal, thread_id, agent, run_key, turn_id, call_id, tool, arguments, "
        "style, editable, asked_at, state) VALUES ('a1', 1, 'alice', 't', 'support', 'r', 'turn', 'c', 'refund', '{}', "
        "'interrupt', '[]', 15, 'pending')"
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def rows(path: str) -> dict[str, int]:
    """Number of rows of every table about threads."""
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counts = {
        name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables if name not in OTHERS
    }
    connection.close()
    return counts


async def test_a_database_of_version_1_is_taken_over_with_all_its_data(path: str, clock: Clock) -> None:
    version_1(path)
    store = SQLiteStore(path, clock=clock)
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "r2")
    assert (ids(thread), thread.title, thread.state, thread.archived) == (["a", "b"], "Orders", {"a": 1}, False)
    assert [(a.id, a.state, a.run_id) for a in thread.approvals] == [("a1", State.PENDING, "")]
    assert thread.bytes == len(msgspec.json.encode(said("a", "b"))) + len('{"a":1}') + len("{}")
    (head,) = (await store.list_threads("alice", limit=10)).threads
    assert (head.id, head.created_at, head.updated_at, head.pending) == ("t", 10, 30, 1)
    await store.commit(thread, Change(entries=said("c"), status="finished"), "r2")
    await store.update_thread("alice", "t", archived=True)
    assert ids(await store.read_thread("alice", "t")) == ["a", "b", "c"]
    assert [h.id for h in (await store.list_threads("bob", limit=10)).threads] == ["t"]
    assert (await store.move("a1", State.REJECTED)).state is State.REJECTED
    await store.aclose()
    await store.start()
    assert [h.id for h in (await store.list_threads("alice", limit=10, archived=True)).threads] == ["t"]
    await store.aclose()


async def test_an_upgrade_waits_for_who_has_the_file_locked(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as another process that upgrades it: before, a start failed after five seconds."""
    version_1(path)
    monkeypatch.setattr(database, "BUSY_MS", 1)
    waits = threading.Event()
    monkeypatch.setattr(Upgrade, "waits", lambda _, what_for: waits.set())
    store = SQLiteStore(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL").fetchone()
        other.execute("BEGIN IMMEDIATE")
        starting = asyncio.create_task(store.start())
        assert await asyncio.to_thread(waits.wait, 30)
        assert not starting.done()
        other.execute("ROLLBACK")
        await starting
    await store.aclose()
    assert await schema_of(f"sqlite:///{path}") == len(SCRIPTS)


SCRIPTS = sorted((files("agui_gate.stores") / "migrations").iterdir(), key=lambda file: file.name)
KEPT = {
    "threads": "key, principal, id, agent, created_at, updated_at, entries, run_status, title, alias, ref, state",
    "journal": "thread, seq, count, body",
    "approvals": "seq, id, thread, principal, call_id, tool, arguments, asked_at, expires_at, state, decision, output",
}


@pytest.mark.parametrize("version", range(1, len(SCRIPTS)))
async def test_every_earlier_version_is_taken_over_row_by_row(path: str, version: int) -> None:
    """Tables that are made anew take nothing along, and lose nothing; and what belongs together still does."""
    version_1(path)

    def kept(connection: sqlite3.Connection) -> dict[str, list[object]]:
        return {
            table: connection.execute(f"SELECT {columns} FROM {table}").fetchall() for table, columns in KEPT.items()
        }

    with closing(sqlite3.connect(path)) as connection, connection:
        for script in SCRIPTS[1:version]:
            connection.executescript(script.read_text())
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("UPDATE threads SET alias = 'resp_1', ref = '{}' WHERE key = 1")
        before = kept(connection)
    store = SQLiteStore(path)
    await store.start()
    await store.aclose()
    with closing(sqlite3.connect(path)) as connection:
        assert kept(connection) == before
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM threads")
        assert not any(connection.execute(f"SELECT 1 FROM {table}").fetchall() for table in KEPT)


KILLED = """
import asyncio, os, signal, sqlite3, sys
from agui_gate.stores.postgres.connection import Connection
from agui_gate.stores.postgres.link import Link, parameters
from agui_gate.stores.postgres.readiness import DatabaseClock, migrate
from agui_gate.stores.sqlite.database import open_database

url, left = sys.argv[1], int(sys.argv[2])
connect, ask = sqlite3.connect, Connection.ask

def reach(*_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

def connected(*args, **options):
    connection = connect(*args, **options)
    connection.set_trace_callback(reach)
    return connection

async def asked(self, *texts, within=None):
    reach()
    results = await ask(self, *texts, within=within)
    reach()
    return results

async def migrated():
    link = Link(parameters(url), DatabaseClock().given)
    await migrate(link)
    await link.aclose()

sqlite3.connect, Connection.ask = connected, asked
if url.startswith("sqlite"):
    open_database(url.removeprefix("sqlite:///")).close()
else:
    asyncio.run(migrated())
"""
"""Migrates a store, and is killed at its n-th statement (of PostgreSQL: before or after what it sends)."""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_migration_that_is_killed_leaves_the_version_before_or_the_new_one(
    kind: str, path: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed at each of its statements, and done again after each."""
    url, shape = f"sqlite:///{path}", "SELECT name, sql FROM sqlite_master ORDER BY name"
    if kind == "postgres":
        url = request.getfixturevalue("database")
        shape = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"

    async def start() -> tuple[int, list[object]]:
        with monkeypatch.context() as before:
            if kind == "postgres":
                before.setattr(schema, "_migrations", partial(list, schema._migrations()[:-2]))
            else:
                before.setattr(database, "migrations", partial(list, database.migrations()[:-2]))
            store = open_store(url)
            await store.start()
            await store.aclose()
        return await look()

    async def look() -> tuple[int, list[object]]:
        with closing(connected(url)) as connection:
            return await schema_of(url), connection.execute(shape).fetchall()

    old = await start()
    seen = [old]
    for number in count(1):
        code = call(tmp_path, url, str(number), command=KILLED).returncode
        seen.append(await look())
        if code == 0:
            break
        assert code == -signal.SIGKILL
    new = seen[-1]
    assert new[0] == old[0] + 2
    assert seen == [*[old] * seen.index(new), *[new] * (len(seen) - seen.index(new))]
    assert seen.index(new) > 4, "it was killed on its way"


@pytest.mark.parametrize(("is_new", "said"), [(True, []), (False, [("", "run_ended", 1)])])
async def test_ends_of_runs_stay_written_where_a_process_of_the_version_before_may_read_them(
    path: str, is_new: bool, said: list[object]
) -> None:
    if not is_new:
        version_1(path)
    store = SQLiteStore(path)
    await store.start()
    await store.aclose()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM outbox_kinds").fetchall() == said


async def test_every_table_and_index_begins_with_the_tenant(path: str) -> None:
    """But for those of the machine and the file as a whole, and for numbers that are unique by themselves."""
    store = SQLiteStore(path)
    await store.start()
    await store.aclose()
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if table in ("clock", "processes", "checks", "epoch", "sqlite_sequence", "sqlite_stat1"):
                continue
            columns = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            assert ("tenant",) in columns, table
            for (index,) in connection.execute("SELECT name FROM pragma_index_list(?)", (table,)).fetchall():
                first = connection.execute("SELECT name FROM pragma_index_info(?) WHERE seqno = 0", (index,)).fetchone()
                assert first == ("tenant",), index


async def test_deletion_leaves_nothing_but_tombstones(path: str, clock: Clock) -> None:
    store = SQLiteStore(path, clock=clock)
    await store.start()
    empty = rows(path)
    assert {"threads", "journal", "approvals"} <= empty.keys()
    for thread_id in ("t", "u"):
        await ask(store, gated(f"{thread_id}1"), gated(f"{thread_id}2"), thread_id=thread_id)
        await store.move(f"{thread_id}2", State.CLAIMED)
        thread = await store.lease_thread("alice", thread_id, "support", "r")
        ref = ConversationRef("t", "o", conversation_id=thread_id)
        await store.commit(thread, Change(entries=said("a"), ref=ref, state={"a": 1}), "r")
        await store.commit(thread, Change(entries=said("b"), default_title="x", status="waiting"), "r")
    full = rows(path)
    thread = await store.lease_thread("alice", "t", "support", "delete")
    await store.delete_thread(thread, "delete")
    half = {name: count // 2 for name, count in full.items()}
    assert rows(path) == half | {"tombstones": 1}, "the other thread is whole; the call that was claimed leaves a mark"
    thread = await store.lease_thread("alice", "u", "support", "delete")
    await store.delete_thread(thread, "delete")
    assert rows(path) == empty | {"tombstones": 2}
    assert not any(empty.values())
    await store.aclose()


async def test_a_deletion_survives_a_loss_of_power(path: str, clock: Clock) -> None:
    """It is committed as durably as a decision: what waits for the disk is told by the last setting before it."""
    store = SQLiteStore(path, clock=clock)
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "delete")
    seen: list[str] = []
    await store._run(lambda db: db.connection.set_trace_callback(seen.append))
    await store.delete_thread(thread, "delete")
    assert [text.rpartition(" ")[2] for text in seen if "synchronous" in text] == ["FULL"]
    await store.aclose()


def _plan(text: str, db: Database) -> list[tuple[Any, ...]]:
    return db.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()


async def test_a_page_of_a_long_list_reads_that_page_alone(path: str, clock: Clock) -> None:
    store = SQLiteStore(path, clock=clock)
    await store.start()
    statements: list[str] = []
    await store._run(lambda db: db.connection.set_trace_callback(statements.append))
    page = await store.list_threads("alice", limit=50)
    assert page.threads == []
    await store._run(lambda db: db.connection.set_trace_callback(None))
    found, heads = [text for text in statements if "json_group_array" in text]
    plans = [await store._run(partial(_plan, text)) for text in (found, heads)]
    keys, read = (" / ".join(str(step[3]) for step in plan) for plan in plans)
    assert "threads_by_agent (tenant=? AND principal=? AND agent=? AND archived=? AND " in keys
    assert keys.count("TEMP B-TREE") == 1, "the agents are sorted, and not their threads"
    assert "threads USING INTEGER PRIMARY KEY" in read
    assert "approvals_waiting" in read
    await store.aclose()


@pytest.mark.parametrize("package", ["agui_gate.stores", "agui_gate.stores.postgres"])
def test_migrations_are_numbered_one_by_one(package: str) -> None:
    names = sorted(file.name for file in (files(package) / "migrations").iterdir() if file.name.endswith(".sql"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
