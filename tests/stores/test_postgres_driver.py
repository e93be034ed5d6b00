"""How the PostgreSQL store speaks to its database: texts as they are, few round trips, broken connections."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import Transformer

from agui_gate.errors import Unavailable
from agui_gate.stores.postgres import pool as pools
from agui_gate.stores.postgres.connection import Connection
from agui_gate.stores.postgres.errors import OutcomeUnknown, Trouble
from agui_gate.stores.postgres.link import Link, parameters
from agui_gate.stores.postgres.literals import ADAPTERS, MARK, bind
from agui_gate.stores.sql.operations import Conflict, Kind, Last, Operation, Statement, Steps
from tests.stores.breaking import lose, spy
from tests.support.servers import Postgres

pytestmark = pytest.mark.anyio

HARD = (
    "",
    "'",
    "''",
    "\\",
    "\\'",
    "\\\\'; DROP TABLE kept; --",
    "a\0b",
    MARK,
    f"{MARK}0",
    f"\0{MARK}\0",
    "é€😀",
    "$$",
    "%s",
    ":a",
)


CLOSE_ALL = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'agui-gate'"
"""Ends the server's side of each connection of ours, and waits until it has ended."""


@asynccontextmanager
async def linked(url: str) -> AsyncIterator[Link]:
    link = Link(parameters(url), lambda: (("tenant", "''"),))
    try:
        yield link
    finally:
        await link.aclose()


def one(text: str, **values: object) -> Operation[list[tuple[Any, ...]]]:
    """An operation of one statement; its rows."""

    def steps() -> Steps[list[tuple[Any, ...]]]:
        (found,) = yield Last([Statement(text, values)])
        return found.rows

    return steps


def several(*batches: str, last: bool = True) -> Operation[int]:
    """An operation of one statement a batch; how many rows the last one changed, or gave."""

    def steps() -> Steps[int]:
        for text in batches[:-1]:
            yield [Statement(text)]
        (found,) = yield (Last if last else list)([Statement(batches[-1])])
        return found.changed

    return steps


@pytest.fixture
async def link(database: str, postgres: Postgres) -> AsyncIterator[Link]:
    postgres.execute("CREATE TABLE kept (name text PRIMARY KEY, number int)", database.rpartition("/")[2])
    async with linked(database) as made:
        yield made


def kept(postgres: Postgres, database: str) -> list[tuple[Any, ...]]:
    return postgres.execute("SELECT * FROM kept ORDER BY name", database.rpartition("/")[2])


# --- texts


@pytest.mark.parametrize("conforming", ["on", "off"])
async def test_a_text_comes_back_as_it_was_whatever_is_in_it(
    link: Link, postgres: Postgres, database: str, conforming: str
) -> None:
    name = database.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET standard_conforming_strings = {conforming}")
    async with linked(database) as fresh:
        for text in HARD:
            assert await fresh.run("read", one("SELECT :a::text, :b::text", a=text, b=text + "!")) == [
                (text, text + "!")
            ]
            assert await fresh.run("write", one("INSERT INTO kept (name) VALUES (:a) RETURNING name", a=text)) == [
                (text,)
            ]
            assert await fresh.run("read", one("SELECT count(*) FROM kept WHERE name = :a", a=text)) == [(1,)]
    assert len(kept(postgres, database)) == len(HARD)


async def test_json_that_the_database_makes_of_a_text_says_nul_as_json_does(link: Link) -> None:
    (found,) = await link.run("read", one("SELECT json_build_array(:a::text)", a=f"a\0b{MARK}"))
    assert found == (f'["a\\u0000b{MARK}"]',)


async def test_a_text_that_was_cut_in_the_middle_of_a_pair_lacks_that(link: Link) -> None:
    assert await link.run("read", one("SELECT left(:a, 2)", a="a\0b")) == [("a",)]


async def test_values_of_every_kind(link: Link) -> None:
    row = await link.run(
        "read",
        one(
            "SELECT :a, :b, :c, :d, :e::text, 3 = ANY(:f), 'x' = ANY(:g)",
            a=1,
            b=-(2**62),
            c=True,
            d=None,
            e=b"{}",
            f=[1, 3],
            g=[],
        ),
    )
    assert row == [(1, -(2**62), 1, None, "{}", True, False)]


def bound(text: str, **values: object) -> bytes:
    return bind(Statement(text, values), (("now", "5"),), Transformer(ADAPTERS))


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        bound("SELECT :a", a="\ud800")


def test_names_are_told_from_casts_and_signs_of_percent_are_left() -> None:
    assert bound("SELECT :a::text, x::json, :now % 2", a="%b") == b"SELECT '%b'::text, x::json, 5 % 2"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_ends_its_quotes(text: str) -> None:
    for value in (text, text.replace("\0", "").encode(), [text]):
        written = bound(":a", a=value).decode().strip().removesuffix("::text[]")
        escaped = written.startswith("E")
        inside = written[2:-1] if escaped else written[1:-1]
        assert "\0" not in inside
        rest = inside.replace("\\\\", "") if escaped else inside
        assert "'" not in rest.replace("''", "")
        assert "\\" not in rest


# --- transactions


async def test_a_batch_is_one_round_trip_and_the_last_one_commits(
    link: Link, postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = spy(monkeypatch)
    assert await link.run("write", several("INSERT INTO kept VALUES ('a')")) == 1
    assert await link.run("write", several("INSERT INTO kept VALUES ('b')", "UPDATE kept SET number = 1")) == 2
    assert await link.run("read", several("SELECT * FROM kept", "SELECT 1")) == 1
    assert await link.run("write", several("INSERT INTO kept VALUES ('c')", last=False)) == 1
    assert len(sent) == 1 + 2 + 2 + 2
    assert sent[0].startswith(b"SET LOCAL statement_timeout")
    assert sent[1].startswith(b"BEGIN; SET LOCAL")
    assert sent[2].endswith(b"; COMMIT")
    assert sent[3].startswith(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    assert sent[6] == b"COMMIT"
    assert kept(postgres, database) == [("a", 1), ("b", 1), ("c", None)]


async def test_nothing_of_a_transaction_stays_in_the_connection(link: Link) -> None:
    """A pooler may give the next transaction another connection."""
    await link.run("write", several("INSERT INTO kept VALUES ('a')", "SELECT 1"))
    names = ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_isolation")
    now = [(await link.run("write", several_shown(name)))[-1] for name in names]
    assert now == ["10s", "0", "read committed"]
    assert await link.run("read", one("SELECT count(*) FROM pg_prepared_statements")) == [(0,)]


def several_shown(name: str) -> Operation[tuple[Any, ...]]:
    def steps() -> Steps[tuple[Any, ...]]:
        (found,) = yield Last([Statement(f"SHOW {name}")])
        row: tuple[Any, ...] = found.rows[0]
        return row

    return steps


@pytest.mark.parametrize("batches", [1, 2])
async def test_what_an_operation_raises_rolls_back(link: Link, postgres: Postgres, database: str, batches: int) -> None:
    def steps() -> Steps[None]:
        for number in range(batches):
            yield [Statement(f"INSERT INTO kept VALUES ('{number}')")]
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await link.run("write", steps)
    assert kept(postgres, database) == []
    assert await link.run("read", one("SELECT 1")) == [(1,)]


async def test_a_key_that_is_there_is_a_conflict_in_the_operation(
    link: Link, postgres: Postgres, database: str
) -> None:
    def steps() -> Steps[str]:
        try:
            yield Last([Statement("INSERT INTO kept VALUES ('x')"), Statement("INSERT INTO kept VALUES ('x')")])
        except Conflict:
            return "known"
        return "new"

    assert await link.run("write", steps) == "known"
    assert kept(postgres, database) == []


async def test_what_comes_after_the_last_batch_is_another_transaction(
    link: Link, postgres: Postgres, database: str
) -> None:
    def steps() -> Steps[None]:
        yield Last([Statement("INSERT INTO kept VALUES ('a')")])
        yield [Statement("INSERT INTO kept VALUES ('b')")]
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await link.run("write", steps)
    assert kept(postgres, database) == [("a", None)]


async def test_a_read_sees_one_state_and_changes_nothing(link: Link, postgres: Postgres, database: str) -> None:
    def steps() -> Steps[tuple[int, int]]:
        (before,) = yield [Statement("SELECT count(*) FROM kept")]
        postgres.execute("INSERT INTO kept VALUES ('a')", database.rpartition("/")[2])
        (after,) = yield Last([Statement("SELECT count(*) FROM kept")])
        return before.rows[0][0], after.rows[0][0]

    assert await link.run("read", steps) == (0, 0)
    with pytest.raises(Trouble, match="read-only"):
        await link.run("read", several("SELECT 1", "DELETE FROM kept"))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("53100", "the disk of the database is full"),
        ("53200", "out of memory"),
        ("58030", "the disk of the database fails"),
        ("57014", "took too long"),
        ("42501", "lacks rights"),
        ("25006", "read-only"),
        ("XX001", "damaged"),
        ("22012", "can't be read or written"),
    ],
)
async def test_each_refusal_is_one_sentence_and_nothing_is_changed(
    link: Link, postgres: Postgres, database: str, state: str, said: str
) -> None:
    name = database.rpartition("/")[2]
    refuse(postgres, name, state)
    for batches in (1, 2):
        with pytest.raises(Trouble, match=rf"^The store is not available: .*{said}.*\.$") as caught:
            await link.run("write", several(*["INSERT INTO kept VALUES ('a')"] * batches))
        assert caught.value.state == state
        assert "secret" not in caught.value.message
    postgres.execute("DROP TRIGGER refuse ON kept", name)
    assert kept(postgres, database) == []
    await link.run("write", several("INSERT INTO kept VALUES ('a')"))


def refuse(postgres: Postgres, name: str, state: str, times: int = 10**6) -> None:
    """From now on what is added to ``kept`` is refused so many times, with that SQLSTATE and a secret in its words."""
    postgres.execute("CREATE SEQUENCE refusals", name)
    postgres.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF nextval('refusals') > {times} THEN RETURN NEW; END IF; "
        f"RAISE EXCEPTION 'secret words' USING ERRCODE = '{state}', DETAIL = 'secret row'; END $$",
        name,
    )
    postgres.execute("CREATE TRIGGER refuse BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION refuse()", name)


@pytest.mark.parametrize("state", ["40001", "40P01"])
async def test_two_that_were_in_each_others_way_are_tried_again(
    link: Link, postgres: Postgres, database: str, state: str
) -> None:
    refuse(postgres, database.rpartition("/")[2], state, times=2)
    assert await link.run("write", several("SELECT 1", "INSERT INTO kept VALUES ('a')")) == 1
    assert kept(postgres, database) == [("a", None)]


async def test_they_are_tried_again_a_few_times_only(link: Link, postgres: Postgres, database: str) -> None:
    refuse(postgres, database.rpartition("/")[2], "40001", times=3)
    with pytest.raises(Trouble):
        await link.run("write", several("INSERT INTO kept VALUES ('a')"))
    assert await link.run("write", several("INSERT INTO kept VALUES ('a')")) == 1


# --- connections


async def test_a_connection_that_the_server_closed_is_not_used(link: Link, postgres: Postgres, database: str) -> None:
    await link.run("write", several("INSERT INTO kept VALUES ('a')"))
    kinds: tuple[Kind, ...] = ("read", "write")
    for kind in kinds:
        postgres.execute(CLOSE_ALL)
        assert await link.run(kind, one("SELECT 1")) == [(1,)]
    postgres.kill()
    postgres.start()
    await asyncio.gather(*(link.run("write", several(f"INSERT INTO kept VALUES ('{n}')")) for n in range(20)))
    assert len(kept(postgres, database)) == 21


async def test_who_waits_is_not_told_of_a_try_that_began_before(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database may have been away then."""
    pool = pools.Pool(parameters(database), size=1)
    broken = await pool.take()
    connect, begun, fails = Connection.connect, asyncio.Event(), asyncio.Event()

    async def connecting(conninfo: str = "", **kwargs: Any) -> Connection:
        if begun.is_set():
            return await connect(conninfo, **kwargs)
        begun.set()
        await fails.wait()
        raise Trouble("it was away")

    monkeypatch.setattr(Connection, "connect", connecting)
    await broken.close()
    await pool.give(broken)
    await begun.wait()
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    fails.set()
    try:
        await pool.give(await waiting)
    finally:
        await pool.aclose()


@pytest.mark.parametrize("before", [True, False])
async def test_what_broke_before_anything_was_committed_is_done_again(
    link: Link, postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    lose(monkeypatch, lambda query: b"INSERT" in query, before=before)
    assert await link.run("write", several("INSERT INTO kept VALUES ('a')", "SELECT 1")) == 1
    assert kept(postgres, database) == [("a", None)]


async def test_what_was_never_sent_is_done_again(
    link: Link, postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(monkeypatch, lambda query: b"INSERT" in query, before=True)
    assert await link.run("write", several("INSERT INTO kept VALUES ('a')")) == 1
    assert kept(postgres, database) == [("a", None)]


@pytest.mark.parametrize("batches", [1, 2])
async def test_a_commit_whose_answer_is_lost_is_not_done_again(
    link: Link, postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    texts = ["SELECT 1", "INSERT INTO kept VALUES ('a')"][-batches:]
    lose(monkeypatch, lambda query: b"INSERT" in query, before=False)
    with pytest.raises(OutcomeUnknown, match="not known whether it was saved"):
        await link.run("write", several(*texts))
    assert kept(postgres, database) == [("a", None)]


async def test_who_is_cancelled_stops_nothing_that_has_begun(link: Link, postgres: Postgres, database: str) -> None:
    await link.run("write", several("INSERT INTO kept VALUES ('a', 0)"))
    async with linked(database) as other:
        holding = asyncio.create_task(other.run("write", holds := Holding("UPDATE kept SET number = 1")))
        await holds.held.wait()
        waiting = asyncio.create_task(link.run("write", several("SELECT 1", "UPDATE kept SET number = number + 10")))
        await blocked(postgres, 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        holds.go_on.set()
        await holding
    await link.aclose()  # waits for it
    assert kept(postgres, database) == [("a", 11)]


class Holding:
    """An operation that keeps its transaction open until it may `go_on`."""

    def __init__(self, text: str) -> None:
        self.text, self.held, self.go_on = text, asyncio.Event(), asyncio.Event()

    def __call__(self) -> Steps[None]:
        yield [Statement(self.text)]
        self.held.set()
        while not self.go_on.is_set():
            yield [Statement("SELECT 1")]
        yield Last([Statement("SELECT 1")])


async def blocked(postgres: Postgres, number: int) -> None:
    """Wait until so many wait for a lock."""
    text = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with asyncio.timeout(60):
        while (await asyncio.to_thread(postgres.execute, text))[0][0] != number:
            pass


async def test_who_finds_no_connection_free_waits_and_is_told(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pools.Pool(parameters(database), size=1)
    only = await pool.take()
    monkeypatch.setattr(pools, "WAIT_SECONDS", 0.05)
    with pytest.raises(Unavailable, match="all of its connections are busy"):
        await pool.take()
    monkeypatch.setattr(pools, "WAIT_SECONDS", 60.0)
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    await pool.give(only)
    assert await waiting is only
    await pool.aclose()
    await pool.give(only)
    with pytest.raises(Unavailable, match="closed"):
        await pool.take()


async def test_who_waits_for_a_server_that_never_answers_is_told(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def connecting(conninfo: str = "", **kwargs: Any) -> Connection:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    monkeypatch.setattr(Connection, "connect", connecting)
    monkeypatch.setattr(pools, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(pools, "OPEN_SECONDS", 0.02)
    pool = pools.Pool(parameters(database))
    async with asyncio.timeout(60):
        try:
            with pytest.raises(Unavailable, match="reached"):
                await pool.take()
        finally:
            await pool.aclose()


@pytest.mark.parametrize("steps", range(12))
async def test_who_is_cancelled_while_it_gets_a_connection_learns_of_it(database: str, steps: int) -> None:
    """asyncio's `wait_for` of Python 3.11 forgets a cancellation that comes together with what it waits for."""
    pool = pools.Pool(parameters(database), size=1)
    only = await pool.take()
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    giving = asyncio.create_task(pool.give(only))
    for _ in range(steps):
        await asyncio.sleep(0)
    late = waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting, giving])
    assert waiting.cancelled() is not late
    if late:
        await pool.give(waiting.result())
    await pool.give(await pool.take())
    await pool.aclose()


async def test_who_closes_ends_what_is_under_way(link: Link, postgres: Postgres, database: str) -> None:
    await link.run("write", several("INSERT INTO kept VALUES ('a', 0)"))
    async with linked(database) as other:
        holding = asyncio.create_task(other.run("write", holds := Holding("UPDATE kept SET number = 1")))
        await holds.held.wait()
        waiting = asyncio.create_task(link.run("read", one("SELECT 1 FROM kept FOR UPDATE")))
        deciding = asyncio.create_task(link.run("write", several("UPDATE kept SET number = 2")))
        await blocked(postgres, 1)
        await link.aclose()
        assert isinstance((await asyncio.gather(deciding, return_exceptions=True))[0], OutcomeUnknown)
        assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], Trouble)
        holds.go_on.set()
        await holding


async def test_what_the_pool_logs_names_no_host_and_no_role(
    database: str, postgres: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "psycopg.pool")
    pool = pools.Pool(parameters(database))
    connection = await pool.take()
    postgres.execute(CLOSE_ALL)
    await pool.give(connection)
    await pool.give(await pool.take())
    await pool.aclose()
    pool = pools.Pool(parameters(database.replace("postgres@", "nobody_special@")))
    with pytest.raises(Trouble, match="there is no such role"):
        await pool.take()
    await pool.aclose()
    assert "there is no such role" in caplog.text
    for word in ("nobody_special", "127.0.0.1", str(postgres.port), database.rpartition("/")[2]):
        assert word not in caplog.text


async def test_a_connection_that_was_idle_for_long_is_asked_first(
    database: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pools.Pool(parameters(database), size=1)
    first = await pool.take()
    await pool.give(first)
    monkeypatch.setattr(pools, "IDLE_SECONDS", -1.0)
    assert await pool.take() is first
    await pool.give(first)
    lose(monkeypatch, lambda query: query == b"SELECT 1", before=False)
    second = await pool.take()
    assert second is not first
    await pool.give(second)
    await pool.aclose()


async def test_a_server_that_says_nothing_is_given_up(
    database: str, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agui_gate.stores.postgres.connection.ANSWER_SECONDS", 0.05)
    with pytest.raises(OutcomeUnknown):
        await link.run("write", one("SELECT pg_sleep(1)"))
    with pytest.raises(Trouble, match="can't be reached"):
        await link.run("read", one("SELECT pg_sleep(1)"))


async def test_what_is_longer_than_the_network_takes_at_once_is_sent_whole(link: Link) -> None:
    text = "x" * 30_000_000
    assert await link.run("read", one("SELECT length(:a), :a::text", a=text)) == [(30_000_000, text)]


async def test_nothing_is_ever_prepared(link: Link) -> None:
    """Behind a pooler, two clients' statements of one name would be taken for each other: a COMMIT for a ROLLBACK."""

    def fails() -> Steps[None]:
        yield [Statement("SELECT 1")]
        raise LookupError

    for _ in range(10):
        await link.run("write", several("SELECT 1", "SELECT 2", last=False))
        with pytest.raises(LookupError):
            await link.run("write", fails)
        assert await link.run("read", one("SELECT name FROM pg_prepared_statements")) == []


async def test_an_end_that_is_not_its_own_is_not_taken_for_one(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "last_tag", "ROLLBACK")
    with pytest.raises(Unavailable):
        await link.run("write", several("INSERT INTO kept VALUES ('a')", "UPDATE kept SET number = 1", last=False))


async def test_who_is_cancelled_twice_opens_no_connection_to_cancel(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = []

    async def cancel(connection: Connection, **_: Any) -> None:
        cancelled.append(connection)

    monkeypatch.setattr(Connection, "_try_cancel", cancel)
    pool = pools.Pool(parameters(database), size=1)
    connection = await pool.take()
    asking = asyncio.create_task(connection.ask_or_hang_up(b"SELECT pg_sleep(30)"))
    for _ in range(5):
        await asyncio.sleep(0)
        asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await pool.give(connection)
    await pool.aclose()
    assert cancelled == []
