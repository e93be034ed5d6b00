"""Asking the run that holds a lease to stop, wherever it is."""

import pytest

from agui_gate.stores.base import LEASE_MS, Change, RunStatus, StopRequest
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import Clock

pytestmark = pytest.mark.anyio

STOP = StopRequest()


async def test_a_run_is_asked_once_and_hears_it_once(store: FullStore) -> None:
    await store.lease_thread("alice", "t", "support", "r1")
    assert await store.take_stops({"r1"}) == {}
    assert await store.ask_to_stop("alice", "t", STOP) == "r1"
    assert await store.take_stops({"other"}) == {}, "it is another's"
    assert await store.ask_to_stop("alice", "t", StopRequest(gently=True, run_id="mine")) == "r1"
    assert await store.take_stops({"r1", "other"}) == {"r1": StopRequest(True, "mine")}, "the later one counts"
    assert await store.take_stops({"r1"}) == {}


async def test_nobody_is_asked_where_nothing_is_at_work(store: FullStore, clock: Clock) -> None:
    assert await store.ask_to_stop("alice", "t", STOP) is None
    thread = await store.lease_thread("alice", "t", "support", "r1")
    assert await store.ask_to_stop("bob", "t", STOP) is None, "another principal's thread"
    clock.advance(LEASE_MS)
    assert await store.ask_to_stop("alice", "t", STOP) is None, "whoever held the lease is gone"
    await store.renew(["r1"])
    assert await store.ask_to_stop("alice", "t", STOP) == "r1"
    await store.commit(thread, Change(status="finished"), "r1")
    assert await store.ask_to_stop("alice", "t", STOP) is None


async def test_a_run_does_not_hear_what_was_asked_of_the_one_before(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.ask_to_stop("alice", "t", STOP)
    await store.commit(thread, Change(status="finished"), "r1")
    await store.lease_thread("alice", "t", "support", "r2")
    assert await store.take_stops({"r1", "r2"}) == {}


async def test_two_stores_on_one_file(path: str) -> None:
    here, there = SQLiteStore(path), SQLiteStore(path)
    await here.start()
    await there.start()
    await here.lease_thread("alice", "t", "support", "r1")
    assert await here.take_stops({"r1"}) == {}
    assert await there.ask_to_stop("alice", "t", STOP) == "r1"
    assert await here.take_stops({"r1"}) == {"r1": STOP}
    await here.aclose()
    await there.aclose()


async def test_looking_costs_no_write_and_no_query_while_nobody_asks(path: str) -> None:
    store = SQLiteStore(path)
    await store.start()
    await store.lease_thread("alice", "t", "support", "r1")
    await store.take_stops({"r1"})
    statements: list[str] = []
    await store._run(lambda db: db.connection.set_trace_callback(statements.append))
    await store.take_stops({"r1"})
    await store._run(lambda db: db.connection.set_trace_callback(None))
    assert [text for text in statements if "PRAGMA" not in text] == []
    await store.aclose()


@pytest.mark.parametrize("status", [None, "finished"])
async def test_a_lease_that_nobody_has_lapses_never(path: str, status: RunStatus | None) -> None:
    """By a real clock, whose two parts differ. A run that begins after the look isn't lost when the next one begins."""
    store = SQLiteStore(path)
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(status=status), "r1")
    head = await store.read_thread("alice", "t", whole=False)
    assert head is not None
    assert (head.lapses_at > head.now) if status is None else (head.lapses_at == 0)
    await store.aclose()
