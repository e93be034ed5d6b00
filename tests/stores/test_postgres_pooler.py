"""PostgreSQL behind somebody who answers in its place: a COMMIT whose answer is lost is never taken for nothing.

pgbouncer, by transaction, answers with an SQLSTATE when it has lost PostgreSQL: as PostgreSQL does when it refuses.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.stores.base import Change
from agui_gate.stores.postgres import PostgresStore
from tests.faults.trips import Answer, Lost, Trip, refusal
from tests.requirements import shows
from tests.stores.support import ask, gated, ids, said
from tests.support.proxy import Proxy
from tests.support.servers import Pgbouncer, Postgres, needs_pgbouncer

pytestmark = [pytest.mark.anyio, shows("B5", "B6")]

Lose = Callable[[Lost, bytes], "Trip | Answer"]
"""Loses, the next time, the message that the pattern is found in, or what is said to it."""


@pytest.fixture
async def proxy(postgres: Postgres) -> AsyncIterator[Proxy]:
    async with Proxy(postgres.port) as made:
        yield made


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url)
    await store.start()
    yield store
    await store.aclose()


@pytest.fixture
def pooler(proxy: Proxy) -> Iterator[Pgbouncer]:
    made = Pgbouncer(proxy.port)
    yield made
    made.close()


@pytest.fixture(params=[pytest.param("pgbouncer", marks=needs_pgbouncer), "08P01", "08006", "40003", "57P01", "58000"])
async def scene(request: pytest.FixtureRequest, proxy: Proxy, tables: str) -> AsyncIterator[tuple[PostgresStore, Lose]]:
    """A store, and who loses messages of it: pgbouncer, which closes the connection then, or one that keeps it."""
    if request.param == "pgbouncer":
        pooler: Pgbouncer = request.getfixturevalue("pooler")
        pooler.start()
        async with opened(pooler.url(tables)) as store:
            yield store, lambda lost, pattern: Trip(proxy, 1, lost, pattern)
        return
    database = tables.rpartition("/")[2]
    async with opened(f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}") as store:
        yield store, lambda lost, pattern: Answer(proxy, pattern, refusal(request.param), lost)


LOST: tuple[Lost, ...] = ("question", "answer")


@pytest.mark.parametrize("lost", LOST)
async def test_entries_are_saved_once(scene: tuple[PostgresStore, Lose], lost: Lost) -> None:
    store, lose = scene
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(after=0, entries=said("one")), "r1")
    trip = lose(lost, b"INSERT INTO journal")
    await store.commit(thread, Change(after=1, entries=said("two")), "r1")
    assert trip.sprung.is_set()
    assert ids(await store.read_thread("alice", "t")) == ["one", "two"]
    await store.commit(thread, Change(after=2, entries=said("three"), status="finished"), "r1")
    assert ids(await store.read_thread("alice", "t")) == ["one", "two", "three"]


@pytest.mark.parametrize("lost", LOST)
async def test_a_question_is_asked_once(scene: tuple[PostgresStore, Lose], lost: Lost) -> None:
    store, lose = scene
    thread = await store.lease_thread("alice", "t", "support", "r1")
    trip = lose(lost, b"INSERT INTO approvals")
    await store.commit(thread, Change(after=0, entries=said("one"), approvals=[gated("a1")]), "r1")
    assert trip.sprung.is_set()
    after = await store.read_thread("alice", "t")
    assert ids(after) == ["one"]
    assert [event.kind for event in (await store.read_events(limit=9)).events] == ["asked"]


@pytest.mark.parametrize("lost", LOST)
async def test_a_claim_is_known_to_who_made_it(scene: tuple[PostgresStore, Lose], lost: Lost) -> None:
    store, lose = scene
    await ask(store, gated())
    yes = Decision(True, by="alice", way="http")
    trip = lose(lost, b"'claimed'")
    claimed = await store.move("a1", State.CLAIMED, decision=yes)
    assert trip.sprung.is_set()
    assert (claimed.state, claimed.decision) == (State.CLAIMED, yes)
    assert [event.kind for event in (await store.read_events(limit=9)).events] == ["asked", "approved", "claimed"]
