"""Expiry as an event: in the order of time, once, however many processes write it, and cheap where nothing expires."""

import asyncio
from typing import Any

import pytest

from agui_gate.core.audit import Event
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated

pytestmark = [pytest.mark.anyio, shows("B26")]


def expiring(approval_id: str, after: int | None, thread_id: str = "t", principal: str = "alice") -> Any:
    return gated(approval_id, expires_at=after, thread_id=thread_id, principal=principal)


async def expired(store: FullStore) -> list[str]:
    """The events, oldest first of each thread; ids of notices say in which order threads came."""
    notices = await store.take_notices("test", limit=100)
    return [notice.about for notice in notices if '"expired"' in notice.body]


async def step(store: FullStore) -> tuple[list[tuple[str, str]], int | None]:
    found = await store.expire()
    assert {(one.principal, one.thread_id) for one in found.approvals} == set(found.threads)
    return found.threads, found.wait_ms


async def events(store: FullStore) -> list[Event]:
    return [event for event in (await store.read_events(limit=100)).events if event.kind == "expired"]


async def test_in_the_order_of_time_over_threads_and_principals(store: FullStore, clock: Clock) -> None:
    await ask(store, expiring("a1", 300), expiring("a2", 100), expiring("a3", None))
    await ask(store, expiring("b1", 200, "u", "bob"), principal="bob", thread_id="u")
    await ask(store, expiring("c1", 5000, "v"), thread_id="v")
    assert await step(store) == ([], 100)
    clock.advance(99)
    assert await step(store) == ([], 1)
    clock.advance(1)
    assert await step(store) == ([("alice", "t")], 100)
    clock.advance(900)
    assert await step(store) == ([("bob", "u"), ("alice", "t")], 4000)
    assert await expired(store) == ["a2", "b1", "a1"]
    assert {event.approval_id: event.at for event in await events(store)} == {
        "a2": 1_000_100, "b1": 1_001_000, "a1": 1_001_000
    }  # fmt: skip
    clock.advance(4000)
    assert await step(store) == ([("alice", "v")], None)
    assert await step(store) == ([], None)


async def test_after_a_long_time_alone_they_still_come_in_order(store: FullStore, clock: Clock) -> None:
    """Two threads whose approvals expire in turns."""
    for number in range(6):
        thread_id = "tu"[number % 2]
        await ask(store, expiring(f"a{number}", 100 * (6 - number), thread_id), thread_id=thread_id)
    clock.advance(10_000)
    assert (await store.expire(4)).wait_ms == 0
    assert (await store.expire(4)).wait_ms is None
    assert await expired(store) == [f"a{number}" for number in reversed(range(6))]


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_each_once_however_many_processes_write_it(store: FullStore, place: str, clock: Clock) -> None:
    for number in range(20):
        await ask(store, expiring(f"a{number}", 100, f"t{number}"), thread_id=f"t{number}")
    kind = PostgresStore if isinstance(store, PostgresStore) else SQLiteStore
    others: list[FullStore] = [kind(place, clock=clock) for _ in range(2)]
    for other in others:
        await other.start()
    clock.advance(100)
    came = await asyncio.gather(*(one.expire() for one in (store, *others)))
    for other in others:
        await other.aclose()
    assert sorted(thread for one in came for _, thread in one.threads) == sorted(f"t{n}" for n in range(20))
    assert sorted(event.approval_id for event in await events(store)) == sorted(f"a{n}" for n in range(20))
    assert len(await expired(store)) == 20
