"""The contract of `ApprovalStore`: one record a gated call, moved along the table by the store's clock."""

import asyncio
from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest

from agui_gate.core.approvals import MOVES, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove, LeaseLost, NotFound
from agui_gate.stores.base import LEASE_MS, Change, Which
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from tests.stores.support import Clock, ask, gated, pending

pytestmark = pytest.mark.anyio

WAY = {
    State.PENDING: [],
    State.CLAIMED: [State.CLAIMED],
    State.PASSED: [State.CLAIMED, State.PASSED],
    State.GIVEN_BACK: [State.CLAIMED, State.PASSED, State.GIVEN_BACK],
    State.DONE: [State.CLAIMED, State.DONE],
    State.FAILED: [State.CLAIMED, State.FAILED],
    State.UNKNOWN: [State.CLAIMED, State.UNKNOWN],
    State.REJECTED: [State.REJECTED],
    State.SUPERSEDED: [State.SUPERSEDED],
    State.CANCELLED: [State.CANCELLED],
    State.EXPIRED: [State.EXPIRED],
}
"""How to bring a record into each state."""


def each_on_one(*axes: Iterable[Any]) -> list[Any]:
    """The product of the lists with the stores; each case but one store's is spare, the stores taking turns."""
    cases = list(product(*map(list, axes)))
    stores = ("memory", "sqlite", "postgres")
    return [
        pytest.param(*case, store, marks=() if (n + n // 11) % 3 == at else pytest.mark.spare)
        for n, case in enumerate(cases)
        for at, store in enumerate(stores)
    ]


@pytest.mark.parametrize(
    ("overdue", "to", "source", "store"), each_on_one([False, True], State, State), indirect=["store"]
)
async def test_every_move_is_made_or_refused_by_the_table_and_the_clock(
    store: FullStore, clock: Clock, source: State, to: State, overdue: bool
) -> None:
    await ask(store, gated(expires_at=100, runner="provider"))
    if source is State.EXPIRED:
        clock.advance(100)
    for state in WAY[source]:
        await store.move("a1", state)
    if overdue:
        clock.advance(100)
    legal = to in MOVES[source]
    if to in (State.CLAIMED, State.REJECTED):
        legal = legal and not overdue
    if to is State.EXPIRED:
        legal = legal and overdue
    if legal:
        assert (await store.move("a1", to)).state is to
    else:
        with pytest.raises(IllegalMove):
            await store.move("a1", to)
    after = await store.approval("alice", "a1")
    assert after is not None
    if not legal and source is State.PENDING and overdue:
        assert after.state is State.EXPIRED, "reading expires what is overdue"
    else:
        assert after.state is (to if legal else source)


async def test_a_call_that_runs_here_is_never_passed_on(store: FullStore, clock: Clock) -> None:
    await ask(store, gated())
    await store.move("a1", State.CLAIMED)
    with pytest.raises(IllegalMove, match="runs here"):
        await store.move("a1", State.PASSED)


async def test_times_are_made_absolute_by_the_stores_clock(store: FullStore, clock: Clock) -> None:
    asked = clock.now
    thread = await ask(store, gated("a1", expires_at=500), gated("a2", asked_at=7))
    first, second = thread.approvals
    assert (first.asked_at, first.expires_at, first.decided_at) == (asked, asked + 500, None)
    assert (second.asked_at, second.expires_at) == (asked + 7, None)


async def test_the_rest_of_a_record_is_kept_as_given(store: FullStore, clock: Clock) -> None:
    given = gated(
        style="card",
        provider_ref="conv_1",
        editable=("amount", 'quo"ted'),
        message="Really?\n\x00 😀 'x'",
        arguments='{"amount":50,"to":"Łódź"}',
        decision=Decision(approved=False),
    )
    await ask(store, given)
    kept = await store.approval("alice", "a1")
    assert kept is not None
    for name in set(given.__struct_fields__) - {"asked_at"}:
        assert getattr(kept, name) == getattr(given, name), name


async def test_what_a_move_says_is_recorded_and_stays(store: FullStore, clock: Clock) -> None:
    await ask(store, gated())
    clock.advance(5)
    decided = clock.now
    decision = Decision(True, by="alice", reason="fine", edited_arguments='{"amount":40}')
    claimed = await store.move("a1", State.CLAIMED, decision=decision)
    assert (claimed.state, claimed.decision, claimed.decided_at) == (State.CLAIMED, decision, decided)
    assert claimed.effective_arguments == '{"amount":40}'
    clock.advance(5)
    output = Output("refunded", is_error=False)
    done = await store.move("a1", State.DONE, output=output)
    assert (done.state, done.decision, done.decided_at, done.output) == (State.DONE, decision, decided, output)
    assert await store.approval("alice", "a1") == done
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    assert thread.approvals == [done]


async def test_a_refused_move_changes_nothing(store: FullStore) -> None:
    await ask(store, gated())
    rejected = await store.move("a1", State.REJECTED, decision=Decision(False, reason="no"))
    with pytest.raises(IllegalMove, match="a1 is rejected"):
        await store.move("a1", State.CLAIMED, decision=Decision(True), output=Output("x"))
    assert await store.approval("alice", "a1") == rejected


async def test_moving_what_does_not_exist(store: FullStore) -> None:
    with pytest.raises(NotFound):
        await store.move("a1", State.CLAIMED)


async def test_reading_is_for_the_principal_alone(store: FullStore) -> None:
    await ask(store, gated())
    assert await store.approval("bob", "a1") is None
    assert await pending(store, "bob") == []
    assert await store.approval("alice", "a2") is None


async def test_pending_are_listed_oldest_first_over_all_threads(store: FullStore, clock: Clock) -> None:
    await ask(store, gated("a1"), gated("a2"), thread_id="t1")
    clock.advance(1)
    await ask(store, gated("b1", principal="bob"), principal="bob")
    await ask(store, gated("a3"), gated("a0"), thread_id="t2")
    await store.move("a2", State.SUPERSEDED)
    assert [approval.id for approval in await pending(store, "alice")] == ["a1", "a3", "a0"]
    assert [approval.id for approval in await pending(store, "bob")] == ["b1"]


@pytest.mark.parametrize("look", ["approval", "list_approvals", "lease_thread", "read_thread"])
async def test_whoever_looks_finds_the_overdue_expired(store: FullStore, clock: Clock, look: str) -> None:
    await ask(store, gated("a1", expires_at=10), gated("a2", expires_at=11), gated("a3"))
    clock.advance(10)
    if look == "approval":
        found = await store.approval("alice", "a1")
    elif look == "list_approvals":
        assert [approval.id for approval in await pending(store, "alice")] == ["a2", "a3"]
        found = await store.approval("alice", "a1")
    else:
        if look == "lease_thread":
            thread = await store.lease_thread("alice", "t", "support", "r2")
        else:
            thread = await store.read_thread("alice", "t")  # type: ignore[assignment]  # it exists
        assert [approval.state for approval in thread.approvals] == [State.EXPIRED, State.PENDING, State.PENDING]
        found = thread.approvals[0]
    assert found is not None
    assert (found.state, found.decided_at) == (State.EXPIRED, clock.now)
    clock.advance(5)
    again = await store.approval("alice", "a1")
    assert again is not None
    assert again.decided_at == clock.now - 5, "it expired once"


async def test_a_claimed_call_does_not_expire(store: FullStore, clock: Clock) -> None:
    await ask(store, gated(expires_at=10))
    await store.move("a1", State.CLAIMED)
    clock.advance(100)
    assert (await store.move("a1", State.DONE)).state is State.DONE


async def test_of_a_hundred_claims_one_wins(store: FullStore) -> None:
    """B6, S4: within one process."""
    await ask(store, gated())
    claims = (store.move("a1", State.CLAIMED, decision=Decision(True, by=str(n))) for n in range(100))
    results = await asyncio.gather(*claims, return_exceptions=True)
    won = [result for result in results if not isinstance(result, IllegalMove)]
    assert len(won) == 1
    assert await store.approval("alice", "a1") == won[0]


async def test_the_memory_store_bounds_what_waits_and_says_what_became_of_the_oldest(clock: Clock) -> None:
    store = MemoryStore(clock=clock, max_pending=3)
    await store.start()
    for number in range(5):
        await ask(store, gated(f"a{number}", provider_ref="conv"), thread_id=f"t{number}")
    assert [approval.id for approval in await pending(store, "alice")] == ["a2", "a3", "a4"]
    oldest = await store.approval("alice", "a0")
    assert oldest is not None
    assert oldest.state is State.CANCELLED
    await store.aclose()


async def test_who_decides_has_to_hold_the_thread(store: FullStore, clock: Clock) -> None:
    """A process that slept for so long that its lease ended, and then goes on with an approval (T7)."""
    await ask(store, gated("a1"), gated("a2"))
    await store.lease_thread("alice", "t", "support", "slept")
    assert (await store.move("a1", State.CLAIMED, run_key="slept")).state is State.CLAIMED
    clock.advance(LEASE_MS)
    thread = await store.lease_thread("alice", "t", "support", "later")
    for to in (State.CLAIMED, State.REJECTED, State.SUPERSEDED):
        with pytest.raises(LeaseLost):
            await store.move("a2", to, run_key="slept")
    done = await store.move("a1", State.DONE, output=Output("paid"))
    assert done.state is State.DONE, "what came of a call is known, whoever holds the thread"
    await store.commit(thread, Change(status="finished"), "later")
    with pytest.raises(LeaseLost):
        await store.move("a2", State.CLAIMED, run_key="later")
    assert (await store.move("a2", State.CLAIMED)).state is State.CLAIMED


async def test_lists_go_by_who_is_asked_and_by_state_and_expire_what_is_overdue(store: FullStore, clock: Clock) -> None:
    await ask(store, gated("a1"), gated("a2", expires_at=50), gated("a3"))
    await ask(store, gated("b1", principal="bob"), principal="bob")
    await store.move("a3", State.REJECTED)
    clock.advance(50)
    listed: dict[Which, list[str]] = {"pending": ["a1"], "decided": ["a3", "a2"], "all": ["a3", "a2", "a1"]}
    for which, expected in listed.items():
        page = await store.list_approvals("alice", limit=10, which=which)
        assert ([approval.id for approval in page.approvals], page.next_cursor) == (expected, None)
    first = await store.list_approvals("alice", limit=2, which="all")
    assert first.next_cursor is not None
    await ask(store, gated("a4"), thread_id="t2")
    rest = await store.list_approvals("alice", limit=2, which="all", cursor=first.next_cursor)
    assert [approval.id for approval in (*first.approvals, *rest.approvals)] == ["a3", "a2", "a1"]


async def test_the_calls_of_a_thread_are_read_without_its_journal(store: FullStore, clock: Clock) -> None:
    await ask(store, gated("a1", expires_at=50), gated("a2"))
    clock.advance(50)
    calls = await store.read_calls("alice", "t")
    assert calls is not None
    assert [(approval.id, approval.state) for approval in calls.approvals] == [
        ("a1", State.EXPIRED),
        ("a2", State.PENDING),
    ]
    assert (calls.head.id, calls.head.run_status, calls.head.pending) == ("t", "waiting", 1)
    assert await store.read_calls("bob", "t") is None


async def test_a_branch_marks_the_records_of_its_own_thread(store: FullStore) -> None:
    await ask(store, gated("a1"), gated("a2"))
    await ask(store, gated("b1"), thread_id="other")
    thread = await store.lease_thread("alice", "t", "support", "branch")
    await store.commit(thread, Change(keep=0, replaced=["a1", "b1"], status="finished"), "branch")
    found = {a.id: a.replaced for a in (await store.list_approvals("alice", limit=10, which="all")).approvals}
    assert found == {"a1": True, "a2": False, "b1": False}
