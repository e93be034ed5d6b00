"""A connection to PostgreSQL breaks while something is saved: what stands is found out, and nothing is done twice."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, TypeVar

import psycopg
import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove, LeaseLost, NotFound, Unavailable
from agui_gate.stores.base import Change, JournalVersion
from agui_gate.stores.postgres import PostgresStore
from agui_gate.stores.postgres import commit_check as sure_module
from agui_gate.stores.postgres.commit_check import Sure
from agui_gate.stores.postgres.errors import OutcomeUnknown, Trouble
from agui_gate.stores.sql.ledger import Move
from agui_gate.stores.sql.operations import Kind, Operation, Steps
from tests.stores.breaking import lose, spy
from tests.stores.support import Clock, ask, gated, ids, said

T = TypeVar("T")

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tables: str) -> AsyncIterator[PostgresStore]:
    made = PostgresStore(tables)
    await made.start()
    yield made
    await made.aclose()


def changes(query: bytes) -> bool:
    """Whether this saves something, and commits it."""
    return b"UPDATE threads SET" in query or b"UPDATE approvals" in query or b"DELETE FROM threads" in query


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("status", [None, "finished"])
async def test_entries_are_saved_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool, status: Literal["finished"] | None
) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=said("one")), "r1")
    lose(monkeypatch, changes, before=before)
    await store.commit(thread, Change(entries=said("two"), status=status), "r1")
    after = await store.read_thread("alice", "t")
    assert ids(after) == ["one", "two"]
    assert after is not None
    assert after.run_status == (status or "running")


@pytest.mark.parametrize("before", [True, False])
async def test_approvals_are_asked_for_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    lose(monkeypatch, changes, before=before)
    await store.commit(thread, Change(approvals=[gated("a1"), gated("a2")]), "r1")
    assert [one.id for one in (await store.list_approvals("alice", limit=10)).approvals] == ["a1", "a2"]
    await store.commit(thread, Change(status="waiting"), "r1")


@pytest.mark.parametrize("before", [True, False])
async def test_a_call_is_claimed_and_its_result_saved_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    await ask(store, gated())
    yes = Decision(True, by="alice", way="http")
    lose(monkeypatch, changes, before=before)
    claimed = await store.move("a1", State.CLAIMED, decision=yes)
    assert (claimed.state, claimed.decision) == (State.CLAIMED, yes)
    lose(monkeypatch, changes, before=before)
    done = await store.move("a1", State.DONE, output=Output("refunded"))
    assert (done.state, done.output) == (State.DONE, Output("refunded"))
    with pytest.raises(IllegalMove):
        await store.move("a1", State.DONE, output=Output("refunded"))
    events = (await store.read_events(limit=100)).events
    assert [event.kind for event in events] == ["asked", "approved", "claimed", "done"]


async def test_a_claim_of_another_one_is_not_taken_for_ours(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks before ours is there, and before it is looked somebody else has claimed it."""
    await ask(store, gated())
    bob = Decision(True, by="bob", way="card")
    committed, tries = store._do, iter([True])

    async def overtaken(kind: Kind, operation: Operation[T]) -> T:
        if next(tries, False):
            await committed("durable", lambda: store._sql.ledger.move(Move("a1", State.CLAIMED, bob, None, None)))
            raise OutcomeUnknown
        return await committed(kind, operation)

    monkeypatch.setattr(store, "_do", overtaken)
    with pytest.raises(IllegalMove):
        await store.move("a1", State.CLAIMED, decision=Decision(True, by="alice", way="http"))
    record = await store.approval("alice", "a1")
    assert record is not None
    assert record.decision == bob


@pytest.mark.parametrize("before", [True, False])
async def test_a_thread_is_deleted_once(store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    await ask(store, gated())
    await store.move("a1", State.REJECTED, decision=Decision(False, by="alice", way="http"))
    thread = await store.lease_thread("alice", "t", "support", "r1")
    lose(monkeypatch, changes, before=before)
    await store.delete_thread(thread, "r1")
    assert await store.read_thread("alice", "t") is None
    assert [tomb.id for tomb in await store.tombstones("alice")] == ["a1"]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("branched", [False, True])
async def test_what_is_repeated_with_more_is_saved_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool, branched: bool
) -> None:
    """It was not found out in time what came of a commit. The next one brings the same again, and what is new."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(after=0, entries=said("one", "gone")), "r1")
    keep = 1 if branched else None
    with monkeypatch.context() as broken:
        lose(broken, changes, before=before, sent=True)
        broken.setattr(store, "_do", once_then_away(store._do))
        broken.setattr(sure_module, "LOOK_SECONDS", -1)
        with pytest.raises(OutcomeUnknown):
            await store.commit(thread, Change(after=2, keep=keep, entries=said("two")), "r1")
    more = Change(after=2, keep=keep, entries=said("two", "three"), status="finished")
    await store.commit(thread, more, "r1")
    after = await store.read_thread("alice", "t")
    assert ids(after) == ["one", *([] if branched else ["gone"]), "two", "three"]
    assert after is not None
    assert after.run_status == "finished"


@pytest.mark.parametrize("before", [True, False])
async def test_a_run_whose_end_was_saved_after_all_has_not_lost_its_lease(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """It could not know of its end, so it ended once more, as failed. Its log named another holder."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    with monkeypatch.context() as broken:
        lose(broken, changes, before=before, sent=True)
        broken.setattr(store, "_do", once_then_away(store._do))
        broken.setattr(sure_module, "LOOK_SECONDS", -1)
        with pytest.raises(OutcomeUnknown):
            await store.commit(thread, Change(after=0, entries=said("one"), status="finished"), "r1")
    await store.commit(thread, Change(after=0, entries=said("one"), status="failed"), "r1")
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (ids(after), after.run_status) == (["one"], "failed" if before else "finished")


@pytest.mark.parametrize("before", [True, False])
async def test_what_was_asked_and_given_up_by_its_run_runs_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """The run could not know whether it had asked. It told that the call was not executed, so no yes may run it."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    with monkeypatch.context() as broken:
        lose(broken, changes, before=before, sent=True)
        broken.setattr(store, "_do", once_then_away(store._do))
        broken.setattr(sure_module, "LOOK_SECONDS", -1)
        with pytest.raises(OutcomeUnknown):
            await store.commit(thread, Change(after=0, entries=said("one"), approvals=[gated("a1")]), "r1")
    await store.commit(thread, Change(after=0, entries=said("one", "not executed"), status="failed"), "r1")
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (ids(after), after.run_status) == (["one", "not executed"], "failed")
    assert [one.state for one in after.approvals] == ([] if before else [State.CANCELLED])


def once_then_away(do: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Does the first operation. Then the database is away."""
    first = iter([True])

    async def does(kind: Kind, operation: Operation[T]) -> T:
        if next(first, False):
            return await do(kind, operation)
        raise Unavailable("away")

    return does


@pytest.mark.parametrize("looked", [False, True])
async def test_a_commit_that_arrives_late_changes_nothing(
    store: PostgresStore, tables: str, monkeypatch: pytest.MonkeyPatch, looked: bool
) -> None:
    """The network delivers it when it was made again, or (``looked``) when it was just looked for in vain."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(after=0, entries=said("one")), "r1")
    lose(monkeypatch, changes, before=True, sent=True)
    sent = spy(monkeypatch)
    committed = sure_module.committed

    def look(*args: Any) -> Steps[bool]:
        found = yield from committed(*args)
        if looked:
            deliver(tables, late())
        return found

    def late() -> bytes:
        return next(query for query in sent if b"INSERT INTO journal" in query)

    monkeypatch.setattr(sure_module, "committed", look)
    await store.commit(thread, Change(after=1, entries=said("two"), state={"n": 2}), "r1")
    await store.commit(thread, Change(after=2, entries=said("three"), state={"n": 3}), "r1")
    deliver(tables, late())
    after = await store.read_thread("alice", "t")
    assert after is not None
    assert (ids(after), after.state) == (["one", "two", "three"], {"n": 3})


def deliver(url: str, query: bytes) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(query)


async def test_a_lease_of_which_nobody_knows_is_given_back(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(monkeypatch, changes, before=False)
    with pytest.raises(OutcomeUnknown):
        await store.lease_thread("alice", "t", "support", "r1")
    async with asyncio.timeout(60):
        while (await store.at_work([("alice", "t")])) != {}:
            pass
    thread = await store.lease_thread("alice", "t", "support", "r2")
    assert thread.run_status == "interrupted"
    with pytest.raises(LeaseLost):
        await store.commit(thread, Change(entries=said("late")), "r1")


async def test_a_journal_that_has_changed_is_read_along_with_the_lease(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another transaction that could fail, and leave the lease behind."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=said("one"), status="finished"), "r1")
    sent = spy(monkeypatch)
    for run_key, entries in (("r1", 1), ("r0", 1)):
        known = JournalVersion(thread.key, run_key, "finished", entries)
        thread = await store.lease_thread("alice", "t", "support", f"after {run_key}", known=known)
        assert thread.is_known == (run_key == "r1")
        assert ids(thread) == ([] if thread.is_known else ["one"])
        assert len(sent) == 1
        await store.commit(thread, Change(status="finished"), f"after {run_key}")
        sent.clear()


async def test_a_lease_whose_thread_cannot_be_read_to_the_end_is_given_back(
    tables: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What expired meanwhile is read again, after the lease is saved."""
    store = PostgresStore(tables, clock=clock)
    await store.start()
    thread = await store.lease_thread("alice", "t", "support", "r1")
    approvals = [gated("a1", expires_at=1)]
    await store.commit(thread, Change(entries=said("one"), approvals=approvals, status="waiting"), "r1")
    clock.advance(2)
    sent = spy(monkeypatch)
    lose(monkeypatch, lambda _: len(sent) == 1, before=True)
    with pytest.raises(Trouble):
        await store.lease_thread("alice", "t", "support", "r2")
    async with asyncio.timeout(60):
        while (await store.at_work([("alice", "t")])) != {}:
            pass
    thread = await store.lease_thread("alice", "t", "support", "r3")
    assert thread.run_status == "interrupted"
    await store.aclose()


async def test_what_was_overtaken_is_lost_and_not_saved(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done again after a look is under the same fence as ever."""
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(status="finished"), "r1")
    await store.lease_thread("alice", "t", "support", "r2")
    sure = Sure()
    with pytest.raises(LeaseLost):
        await sure.do("x", None, failing(OutcomeUnknown(), lambda: store.commit(thread, Change(), "r1")), nothing)


# --- what is not found out at once


def failing(error: Exception, then: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Raises ``error`` the first time."""
    errors = iter([error])

    async def once(*_: object) -> T:
        if (first := next(errors, None)) is not None:
            raise first
        return await then()

    return once


async def nothing(*_: object) -> None:
    """It was not done."""


async def something(*_: object) -> str:
    return "done"


async def test_it_is_looked_until_the_database_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sure_module, "PAUSE_SECONDS", 0)
    looks = failing(Unavailable("away"), failing(Unavailable("away"), something))

    async def never(*_: object) -> str:
        raise AssertionError("done twice")

    assert await Sure().do("x", None, failing(OutcomeUnknown(), never), looks) == "done"


async def test_what_is_not_found_out_in_time_is_looked_for_first_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sure_module, "LOOK_SECONDS", -1)
    sure = Sure()

    async def never(*_: object) -> str:
        raise AssertionError("done twice")

    change = failing(OutcomeUnknown(), never)
    with pytest.raises(OutcomeUnknown):
        await sure.do("x", None, change, failing(Unavailable("away"), something))
    assert await sure.do("y", None, something, never) == "done", "another change is none of its business"
    assert await sure.do("x", None, change, something) == "done"
    with pytest.raises(AssertionError, match="done twice"):
        await sure.do("x", None, change, something)


async def test_errors_of_the_change_itself_come_through() -> None:
    for error in (LeaseLost(), NotFound("no"), Unavailable("away")):
        with pytest.raises(type(error)):
            await Sure().do("x", None, failing(error, something), something)
