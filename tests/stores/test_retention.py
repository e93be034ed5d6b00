"""What a store forgets by itself: what is old and settled, in small steps, and never what waits or is at work."""

import asyncio

import msgspec
import pytest

from agui_gate.core.approvals import UNFINISHED, Decision, State
from agui_gate.core.content import CallKind, CallPart, Output
from agui_gate.core.transcript import Entry, ResultEntry, TurnEntry
from agui_gate.errors import NotFound
from agui_gate.stores import retention
from agui_gate.stores.base import LEASE_MS, Bounds, Change, RunStatus
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.retention import BEGINNING, Ages, Tally
from agui_gate.stores.sql import retention as in_sql
from agui_gate.stores.sqlite import SQLiteStore
from tests.stores.support import Clock, ask, gated, ids, said
from tests.stores.trails import trail, whole_trail

pytestmark = pytest.mark.anyio

DAY = retention.DAY_MS
THREADS = Ages(threads=DAY)
RECORDS = Ages(records=DAY)
EMPTY = Tally(
    threads=0,
    bytes=0,
    approvals=0,
    pending=0,
    tombstones=0,
    events=0,
    notices=0,
    oldest_thread=None,
    oldest_event=None,
)


async def sweep(store: FullStore, ages: Ages) -> tuple[int, int]:
    """All steps of one round: how many threads and records went."""
    threads = records = 0
    place = BEGINNING
    for _ in range(100):
        swept = await store.sweep(ages, place)
        threads, records, place = threads + swept.threads, records + swept.records, swept.place
        if place == BEGINNING:
            return threads, records
    raise AssertionError("it goes on for ever")


async def listed(store: FullStore, principal: str = "alice") -> set[str]:
    return {head.id for head in (await store.list_threads(principal, limit=1000)).threads}


async def say(store: FullStore, thread_id: str, principal: str = "alice") -> None:
    thread = await store.lease_thread(principal, thread_id, "support", f"say-{thread_id}")
    await store.commit(thread, Change(entries=said("hello"), status="finished"), f"say-{thread_id}")


async def delete(store: FullStore, thread_id: str = "t") -> None:
    thread = await store.lease_thread("alice", thread_id, "support", "delete")
    await store.delete_thread(thread, "delete")


async def test_a_thread_goes_when_nobody_changed_it_for_so_long(store: FullStore, clock: Clock) -> None:
    await say(store, "old")
    await say(store, "bobs", "bob")
    clock.advance(1)
    await say(store, "new")
    clock.advance(DAY - 1)
    assert await sweep(store, Ages()) == (0, 0)
    assert await sweep(store, THREADS) == (2, 0)
    assert await listed(store) == {"new"}
    assert await listed(store, "bob") == set()
    assert await store.read_thread("alice", "old") is None
    assert await sweep(store, THREADS) == (0, 0)
    assert ids(await store.read_thread("alice", "new")) == ["hello"]


WAYS = {
    State.PENDING: [],
    State.CLAIMED: [State.CLAIMED],
    State.PASSED: [State.CLAIMED, State.PASSED],
    State.GIVEN_BACK: [State.CLAIMED, State.PASSED, State.GIVEN_BACK],
}


@pytest.mark.parametrize("state", sorted(UNFINISHED))
async def test_what_waits_or_is_at_work_keeps_its_thread(store: FullStore, clock: Clock, state: State) -> None:
    await ask(store, gated(runner="provider"))
    for step in WAYS[state]:
        await store.move("a1", step)
    clock.advance(2 * DAY)
    assert await sweep(store, THREADS) == (0, 0)
    approval = await store.approval("alice", "a1")
    assert approval is not None
    assert approval.state is state


async def test_what_is_overdue_waits_no_more(store: FullStore, clock: Clock) -> None:
    await ask(store, gated(expires_at=10))
    clock.advance(2 * DAY)
    assert await sweep(store, THREADS) == (1, 0)
    assert [event.kind for event in await trail(store)] == ["asked", "expired", "deleted"]


async def test_a_run_keeps_its_thread_and_one_that_died_does_not(store: FullStore, clock: Clock) -> None:
    await say(store, "t")
    clock.advance(2 * DAY)
    await store.lease_thread("alice", "t", "support", "r")
    assert await sweep(store, THREADS) == (0, 0)
    clock.advance(LEASE_MS)
    assert await sweep(store, THREADS) == (1, 0)


def turn(name: str, *calls: tuple[str, CallKind], task: str = "") -> TurnEntry:
    made = [CallPart(call_id, call_id, "tool", "{}", name, kind) for call_id, kind in calls]
    return TurnEntry(name, tuple(made), origin="test/1", task=task)


def result(call_id: str) -> ResultEntry:
    return ResultEntry(call_id, f"result-{call_id}", Output("42"))


ENDS: list[RunStatus] = ["waiting", "failed", "cancelled", "interrupted"]
"""How a run can leave a call to its page."""


@pytest.mark.parametrize("status", ENDS)
@pytest.mark.parametrize("task", [False, True], ids=["conversation", "task"])
async def test_a_call_that_its_page_is_to_run_keeps_its_thread(
    store: FullStore, clock: Clock, task: bool, status: RunStatus
) -> None:
    delegating = [turn("m1", ("task", "task"))] if task else []
    entries: list[Entry] = [*said("hello"), *delegating, turn("m2", ("pick", "client"), task="task" if task else "")]
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=entries, status=status), "r1")
    clock.advance(DAY)
    assert await sweep(store, THREADS) == (0, 0)
    assert ids(await store.read_thread("alice", "t")) == ["hello"]
    thread = await store.lease_thread("alice", "t", "support", "r2")
    await store.commit(thread, Change(entries=[result("pick")], status="waiting"), "r2")
    clock.advance(DAY)
    assert await sweep(store, THREADS) == (1, 0)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_thread_that_nobody_can_answer_in_goes(kind: str, clock: Clock, tables: str, path: str) -> None:
    """It is too large to be read."""
    bounds = Bounds(thread_bytes=100)
    store: FullStore = PostgresStore(tables, clock=clock, bounds=bounds)
    if kind == "sqlite":
        store = SQLiteStore(path, clock=clock, bounds=bounds)
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "r1")
    entries: list[Entry] = [*said("long " * 100), turn("m1", ("pick", "client"))]
    await store.commit(thread, Change(entries=entries, status="waiting"), "r1")
    clock.advance(DAY)
    assert await sweep(store, THREADS) == (1, 0)
    await store.aclose()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_one_step_reads_little(
    kind: str, clock: Clock, tables: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal keeps the event loop waiting. Of one that is too long for that, the run's end says whether it waits."""
    monkeypatch.setattr(in_sql, "READ", 3_000)
    store: FullStore = SQLiteStore(path, clock=clock) if kind == "sqlite" else PostgresStore(tables, clock=clock)
    await store.start()
    for name in ("done", "over", "ended"):
        thread = await store.lease_thread("alice", name, "support", name)
        await store.commit(thread, Change(entries=said("x" * 2_000), status="finished"), name)
    clock.advance(DAY)
    swept = await store.sweep(THREADS)
    assert (swept.threads, swept.place) == (3, BEGINNING), "in one step: what finished is not read"
    lengths: dict[str, tuple[int, RunStatus]] = {
        **{f"t{number}": (1_000, "waiting") for number in range(6)},
        "long": (4_000, "waiting"),
        "long and failed": (4_000, "failed"),
    }
    for name, (length, status) in lengths.items():
        thread = await store.lease_thread("alice", name, "support", name)
        entries: list[Entry] = [*said("x" * length), turn("m1", ("pick", "client"))]
        await store.commit(thread, Change(entries=entries, status=status), name)
    clock.advance(DAY)
    steps, place = 0, BEGINNING
    while steps == 0 or place != BEGINNING:
        place, steps = (await store.sweep(THREADS, place)).place, steps + 1
    assert 1 < steps < 6, "some of them in each"
    assert await listed(store) == set(lengths) - {"long and failed"}
    await store.aclose()


async def test_a_call_that_a_crash_left_keeps_nothing(store: FullStore, clock: Clock) -> None:
    """Nobody is waited for: the next run would say that it was interrupted."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=[*said("hello"), turn("m1", ("search", "server"))]), "r1")
    clock.advance(DAY)
    assert await sweep(store, THREADS) == (1, 0)


async def test_what_ran_leaves_what_a_deletion_leaves(store: FullStore, clock: Clock) -> None:
    await ask(store, gated())
    await store.move("a1", State.REJECTED, decision=Decision(False, by="bob", way="card"))
    clock.advance(DAY)
    assert await sweep(store, THREADS) == (1, 0)
    (tomb,) = await store.tombstones("alice")
    assert (tomb.state, tomb.decided_by, tomb.deleted_at) == (State.REJECTED, "bob", clock.now)
    last = (await whole_trail(store))[-1]
    assert (last.kind, last.run_key) == ("deleted", "")
    assert await store.approval("alice", "a1") is None


async def test_records_of_what_is_gone_go_whole_and_of_what_is_there_they_stay(store: FullStore, clock: Clock) -> None:
    for name in ("t", "u"):
        await ask(store, gated(name), thread_id=name)
        await store.move(name, State.REJECTED)
    await delete(store)
    clock.advance(DAY - 1)
    assert await sweep(store, RECORDS) == (0, 0)
    clock.advance(1)
    assert await sweep(store, RECORDS) == (0, 3 + 1), "three events and a tombstone"
    assert await store.tombstones("alice") == []
    assert {event.approval_id for event in await whole_trail(store)} == {"u", ""}, "and one that says so"
    assert await sweep(store, RECORDS) == (0, 0)


async def test_a_trail_stays_as_long_as_its_last_event_is_young(store: FullStore, clock: Clock) -> None:
    await ask(store, gated())
    await store.move("a1", State.REJECTED)
    clock.advance(DAY)
    await delete(store)
    clock.advance(DAY - 1)
    assert await sweep(store, RECORDS) == (0, 0)
    assert len(await whole_trail(store)) == 3


async def test_steps_are_small_and_come_to_everything(
    store: FullStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_sql, "LOOK", 3)
    for number in range(8):
        await ask(store, gated(f"a{number}"), thread_id=f"t{number}")
        await store.move(f"a{number}", State.CANCELLED if number % 2 else State.REJECTED)
    clock.advance(DAY)
    assert [(await store.sweep(THREADS, most=2)).threads for _ in range(5)] == [2, 2, 2, 2, 0]
    assert await listed(store) == set()
    clock.advance(DAY)
    assert await sweep(store, RECORDS) == (0, 8 * 3 + 4)
    assert await sweep(store, Ages(threads=1, records=1)) == (0, 0)


async def test_two_sweep_at_once_while_threads_are_taken_up(store: FullStore, clock: Clock) -> None:
    """Each thread goes once and wholly, or stays wholly with who took it up."""
    names = [f"t{number}" for number in range(16)]
    for name in names:
        await ask(store, gated(f"a-{name}"), thread_id=name)
        await store.move(f"a-{name}", State.REJECTED)
    clock.advance(2 * DAY)

    async def take(name: str) -> str | None:
        try:
            thread = await store.lease_thread("alice", name, "support", f"r-{name}", create=False)
        except NotFound:
            return None
        return name if [a.id for a in thread.approvals] == [f"a-{name}"] else f"half of {name}"

    ages = Ages(threads=DAY, records=DAY)
    taking = asyncio.gather(*map(take, reversed(names)))
    first, second, taken = await asyncio.gather(sweep(store, ages), sweep(store, ages), taking)
    stay = {name for name in taken if name is not None}
    assert stay <= set(names)
    assert await listed(store) == stay
    assert first[0] + second[0] == len(names) - len(stay)
    assert len(await store.tombstones("alice")) == len(names) - len(stay)
    for name in stay:
        assert (await store.read_thread("alice", name)) is not None
    assert len({event.approval_id for event in await whole_trail(store)}) == len(names)


async def test_what_it_holds(store: FullStore, clock: Clock) -> None:
    assert await store.tally() == EMPTY
    began = clock.now
    await ask(store, gated("a1"), gated("a2", expires_at=5))
    clock.advance(10)
    await say(store, "u")
    tally = await store.tally()
    found = [await store.read_thread("alice", name) for name in ("t", "u")]
    assert tally == msgspec.structs.replace(
        EMPTY,
        threads=2,
        bytes=sum(thread.bytes for thread in found if thread is not None),
        approvals=2,
        pending=1,
        events=2,
        notices=4,
        oldest_thread=began,
        oldest_event=began,
    )
