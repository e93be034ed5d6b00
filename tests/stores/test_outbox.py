"""The outbox: notices are written with what they tell, and taken by one at a time, in order, at least once."""

import asyncio

import psycopg
import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.errors import LeaseLost
from agui_gate.stores.base import LEASE_MS, Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.lease import DECIDES, DELETES
from agui_gate.stores.outbox import TAKE_MS, ChoosyOutbox
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio


async def taken(store: FullStore, taker: str = "one", limit: int = 100) -> list[tuple[str, str, str]]:
    return [(n.kind, n.about, n.body) for n in await store.take_notices(taker, limit=limit)]


ASKED = [
    ("approval_pending", "a1", '{"state":"pending"}'),
    ("run_ended", "ask-a1", '{"status":"waiting"}'),
]


async def test_what_waits_was_decided_and_ended_is_told_in_its_order(store: FullStore, clock: Clock) -> None:
    assert await taken(store) == []
    await ask(store, gated())
    clock.advance(1)
    await store.move("a1", State.CLAIMED, decision=Decision(True, "bob"))
    await store.move("a1", State.DONE)
    assert await taken(store) == [
        *ASKED,
        ("approval_decided", "a1", '{"state":"claimed"}'),
        ("approval_decided", "a1", '{"state":"done"}'),
    ]
    notices = await store.take_notices("one", limit=100)
    assert [n.id for n in notices] == sorted({n.id for n in notices})
    assert {(n.principal, n.thread_id) for n in notices} == {("alice", "t")}
    assert [n.created_at for n in notices] == [clock.now - 1, clock.now - 1, clock.now, clock.now]


async def test_one_takes_them_and_says_which_were_told(store: FullStore) -> None:
    await ask(store, gated())
    (first,) = await store.take_notices("one", limit=1)
    assert await taken(store, "two") == []
    assert not await store.take_notices("one", told=[first.id, 999], limit=0)
    assert await taken(store, "two") == ASKED[1:], "the other one goes on"
    assert await taken(store, "one") == []


async def test_who_dies_leaves_them_to_another(store: FullStore, clock: Clock) -> None:
    await ask(store, gated())
    notices = await store.take_notices("one", limit=100)
    clock.advance(TAKE_MS - 1)
    assert await taken(store, "two") == []
    clock.advance(1)
    assert await taken(store, "two") == ASKED
    assert not await store.take_notices("one", told=[n.id for n in notices], limit=100)
    assert await taken(store, "two") == []


async def test_a_run_whose_lease_is_taken_over_has_ended(store: FullStore, clock: Clock) -> None:
    await store.lease_thread("alice", "t", "support", "r1")
    clock.advance(LEASE_MS)
    await store.lease_thread("alice", "t", "support", "r2")
    assert await taken(store) == [("run_ended", "r1", '{"status":"interrupted"}')]


async def test_what_did_not_happen_is_not_told(store: FullStore) -> None:
    thread = await ask(store, gated())
    with pytest.raises(LeaseLost):
        await store.commit(thread, Change(approvals=[gated("a2")], status="waiting"), "other")
    assert await taken(store) == ASKED


async def test_a_commit_that_does_not_end_its_run_tells_nothing(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(state={"a": 1}), "r1")
    assert await taken(store) == []


@pytest.mark.parametrize("what", [DECIDES, DELETES])
async def test_the_end_of_what_is_no_run_is_not_told(store: FullStore, clock: Clock, what: str) -> None:
    await store.lease_thread("alice", "t", "support", f"{what}1")
    clock.advance(LEASE_MS)
    thread = await store.lease_thread("alice", "t", "support", f"{what}2")
    await store.commit(thread, Change(status="waiting"), f"{what}2")
    assert await taken(store) == []


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_no_end_is_told_of_a_run_whose_lease_another_one_takes_at_that_moment(
    store: FullStore, place: str
) -> None:
    """That one has begun, and isn't done: whoever writes the end waits for it, before anything is told."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    async with await psycopg.AsyncConnection.connect(place) as other:
        await other.execute("UPDATE threads SET run_key = 'r2'")
        commit = asyncio.ensure_future(store.commit(thread, Change(status="failed"), "r1"))
        async with asyncio.timeout(60):
            while not await waits_for_a_lock(place):
                pass
        await other.commit()
    with pytest.raises(LeaseLost):
        await commit
    assert await taken(store) == []


async def waits_for_a_lock(place: str) -> bool:
    async with await psycopg.AsyncConnection.connect(place) as connection:
        found = await connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return await found.fetchone() is not None


async def test_ends_of_runs_are_left_out_while_nobody_reads_them(store: FullStore) -> None:
    """Until then they are written; and again, from the time on that anybody reads them, whoever else doesn't."""

    async def told() -> list[str]:
        thread = await store.lease_thread("alice", "t", "support", "r")
        await store.commit(thread, Change(status="finished"), "r")
        notices = await store.take_notices("one", limit=100)
        await store.take_notices("one", told=[notice.id for notice in notices], limit=0)
        return [notice.kind for notice in notices]

    assert isinstance(store, ChoosyOutbox)
    assert await told() == ["run_ended"]
    await store.want_runs(False)
    assert await told() == []
    await store.want_runs(True)
    assert await told() == ["run_ended"]
    await store.want_runs(False)  # another process, which doesn't know the one that does
    assert await told() == ["run_ended"]
