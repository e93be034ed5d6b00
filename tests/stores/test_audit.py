"""The audit trail as stores keep it: each change of an approval is in it, in the same transaction, and nothing else."""

import msgspec
import pytest

from agui_gate.core import audit
from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import ApprovalRefused, IllegalMove, InvalidRequest, LeaseLost, NotFound
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated, pending, said
from tests.stores.trails import heads, kinds, trail, whole_trail

pytestmark = [pytest.mark.anyio, shows("K1")]

YES = Decision(True, "bob", edited_arguments='{"amount":20}', way="card")
NO = Decision(False, "bob", way="http")


async def delete(store: FullStore, thread_id: str = "t", principal: str = "alice") -> None:
    thread = await store.lease_thread(principal, thread_id, "support", "delete", whole=False)
    await store.delete_thread(thread, "delete")


async def test_what_happens_to_an_approval_from_asking_to_its_end(store: FullStore, clock: Clock) -> None:
    thread = await ask(store, gated(expires_at=100))
    clock.advance(5)
    await store.move("a1", State.CLAIMED, decision=YES)
    clock.advance(5)
    await store.move("a1", State.DONE, output=Output("refunded"))
    events = await whole_trail(store)
    assert [(e.kind, e.by, e.way, e.at) for e in events] == [
        ("asked", "", "", clock.now - 10),
        ("approved", "bob", "card", clock.now - 5),
        ("claimed", "", "", clock.now - 5),
        ("done", "", "", clock.now),
    ]
    assert {(e.tenant, e.thread, e.principal, e.thread_id, e.approval_id) for e in events} == {
        ("", thread.key, "alice", "t", "a1")
    }
    asked, approved, claimed, done = (msgspec.json.decode(event.body) for event in events)
    assert (asked["tool"], asked["expires_at"]) == ("refund", clock.now - 10 + 100), "by the store's clock"
    assert asked["arguments"] == audit.digest('{"amount":50}')
    assert approved == {"arguments": audit.digest('{"amount":20}'), "edited": ["/amount"]}
    assert claimed == {}
    assert done == {"output": audit.digest("refunded")}
    assert [e.run_key for e in events] == ["r1", "", "", ""]


async def test_a_move_under_a_lease_names_its_run(store: FullStore) -> None:
    await ask(store, gated())
    await store.lease_thread("alice", "t", "support", "r2")
    await store.move("a1", State.REJECTED, decision=NO, run_key="r2")
    event = (await whole_trail(store))[-1]
    assert (event.kind, event.by, event.way, event.run_key) == ("rejected", "bob", "http", "r2")


async def test_a_held_call_that_is_passed_on_twice(store: FullStore) -> None:
    await ask(store, gated(runner="provider"))
    await store.move("a1", State.CLAIMED, decision=YES)
    for to in (State.PASSED, State.GIVEN_BACK, State.PASSED, State.UNKNOWN):
        await store.move("a1", to)
    assert await kinds(store) == ["asked", "approved", "claimed", "passed", "given_back", "passed", "unknown"]


async def test_what_the_clock_does_is_in_it_once(store: FullStore, clock: Clock) -> None:
    await ask(store, gated(expires_at=10), gated("a2", expires_at=10), gated("a3", expires_at=10))
    clock.advance(10)
    assert await store.read_calls("alice", "t")
    assert await pending(store, "alice") == []
    await store.approval("alice", "a1")
    await store.lease_thread("alice", "t", "support", "r2")
    for name in ("a1", "a2", "a3"):
        assert await kinds(store, name) == ["asked", "expired"]


@pytest.mark.parametrize("by", ["list", "one", "calls", "lease"])
async def test_whoever_notices_that_it_expired_says_so(store: FullStore, clock: Clock, by: str) -> None:
    await ask(store, gated(expires_at=10))
    clock.advance(10)
    match by:
        case "list":
            await pending(store, "alice")
        case "one":
            await store.approval("alice", "a1")
        case "calls":
            await store.read_calls("alice", "t")
        case _:
            await store.lease_thread("alice", "t", "support", "r2")
    assert await kinds(store) == ["asked", "expired"]


async def test_what_changes_nothing_goes_along_with_a_commit(store: FullStore) -> None:
    await ask(store, gated())
    thread = await store.lease_thread("alice", "t", "support", "r2")
    refused = audit.refused(gated(), "bob", "card", ApprovalRefused("No: 5 is too much"), "r2")
    shown = audit.shown(gated(), "bob", "card", "r2")
    await store.commit(thread, Change(happened=[refused, shown], replaced=["a1"], status="waiting"), "r2")
    assert await kinds(store) == ["asked", "refused", "shown", "replaced"]
    assert (await whole_trail(store))[1].body == '{"code":"approval_refused","why":"No"}'


async def test_a_note_needs_no_lease_and_is_about_what_is_there(store: FullStore) -> None:
    await ask(store, gated())
    await store.lease_thread("alice", "t", "support", "r2")
    refused = audit.refused(gated(), "bob", "http", ApprovalRefused("No."), "")
    await store.note([refused, msgspec.structs.replace(refused, approval_id="other")])
    await store.note([])
    assert [(e.kind, e.approval_id) for e in await whole_trail(store)] == [("asked", "a1"), ("refused", "a1")]


async def test_what_did_not_happen_is_not_in_it(store: FullStore) -> None:
    thread = await ask(store, gated())
    shown = audit.shown(gated(), "bob", "card", "r2")
    with pytest.raises(LeaseLost):
        await store.commit(thread, Change(happened=[shown], approvals=[gated("a2")]), "r2")
    with pytest.raises(LeaseLost):
        await store.move("a1", State.REJECTED, run_key="r2")
    with pytest.raises(IllegalMove):
        await store.move("a1", State.DONE)
    thread = await store.lease_thread("alice", "t", "support", "r3")
    with pytest.raises(IllegalMove):
        await store.commit(thread, Change(happened=[shown], approvals=[gated()]), "r3")
    with pytest.raises(NotFound):
        await store.move("a9", State.REJECTED)
    assert await kinds(store) == ["asked"]
    assert len(await whole_trail(store)) == 1


async def test_a_run_without_approvals_leaves_nothing(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.commit(thread, Change(entries=said("hello"), status="finished"), "r1")
    await delete(store)
    assert await trail(store) == []
    assert await heads(store) == []


async def test_a_deleted_thread_keeps_its_trail_and_another_one_of_its_name_begins_anew(store: FullStore) -> None:
    first = await ask(store, gated())
    await store.move("a1", State.CLAIMED, decision=YES)
    await delete(store)
    with pytest.raises(NotFound):  # its process slept, and the tombstone says so since
        await store.move("a1", State.DONE, output=Output("late"))
    second = await ask(store, gated("a2"))
    events = {key: [e for e in await whole_trail(store) if e.thread == key] for key in (first.key, second.key)}
    assert [e.kind for e in events[first.key]] == ["asked", "approved", "claimed", "deleted", "done"]
    assert [e.body for e in events[first.key][3:]] == ['{"state":"claimed"}', f'{{"output":"{audit.digest("late")}"}}']
    assert [(e.kind, e.seq) for e in events[second.key]] == [("asked", 1)]


async def test_it_is_read_in_pages_by_thread_principal_and_time(store: FullStore, clock: Clock) -> None:
    for number, principal in enumerate(["alice", "bob", "alice"]):
        for name in ("x", "y"):
            about = gated(f"a{number}{name}", principal=principal, thread_id=f"t{number}")
            await ask(store, about, principal=principal, thread_id=f"t{number}")
        clock.advance(10)
    everything = await trail(store, limit=1)
    assert everything == await trail(store, limit=100)
    assert [(int(e.thread), e.seq) for e in everything] == sorted((int(e.thread), e.seq) for e in everything)
    assert {e.thread_id for e in await trail(store, principal="alice")} == {"t0", "t2"}
    assert [e.approval_id for e in await trail(store, principal="bob")] == ["a1x", "a1y"]
    assert [e.approval_id for e in await trail(store, thread_id="t2", limit=1)] == ["a2x", "a2y"]
    assert await trail(store, principal="alice", thread_id="t1") == []
    assert {e.thread_id for e in await trail(store, since=clock.now - 20)} == {"t1", "t2"}
    assert await heads(store, limit=1) == [e.head for e in everything if e.seq == 2]


async def test_a_page_goes_on_while_events_are_added(store: FullStore) -> None:
    await ask(store, gated(), gated("a2"))
    page = await store.read_events(limit=1)
    await store.move("a1", State.REJECTED)
    rest = await store.read_events(limit=10, cursor=page.next_cursor)
    assert [(e.kind, e.approval_id) for e in rest.events] == [("asked", "a2"), ("rejected", "a1")]
    with pytest.raises(InvalidRequest):
        await store.read_events(limit=1, cursor="no cursor")
    with pytest.raises(InvalidRequest):
        await store.read_heads(limit=1, cursor="no cursor")


async def test_the_memory_store_keeps_whole_chains_and_so_many_events_of_one_principal(clock: Clock) -> None:
    store = MemoryStore(clock=clock, max_events=(5, 100))
    await store.start()
    for number, (thread, *approvals) in enumerate([("t3", "a", "b"), ("t1", "c", "d"), ("t1", "e"), ("t1", "f")]):
        clock.advance(1)
        await ask(store, *(gated(each, thread_id=thread) for each in approvals), thread_id=thread)
        await ask(store, gated(f"b{number}", principal="bob"), principal="bob", thread_id=f"b{number}")
        assert (await trail(store, thread_id="t3", limit=9) != []) == (number < 3)
    assert [(e.approval_id, e.seq) for e in await trail(store, thread_id="t1", limit=9)] == [
        (name, seq) for seq, name in enumerate("cdef", 1)
    ]
    assert len(await trail(store, principal="bob", limit=9)) == 4


async def test_the_memory_store_keeps_so_many_events_of_all(clock: Clock) -> None:
    store = MemoryStore(clock=clock, max_events=(50, 100))
    await store.start()
    for number in range(120):
        clock.advance(1)
        name = f"user-{number}"
        await ask(store, gated(f"a{number}", principal=name), principal=name)
    events = sorted(await trail(store, limit=1000), key=lambda event: event.at)
    assert [e.approval_id for e in events] == [f"a{number}" for number in range(20, 120)]
    assert store._database.execute("SELECT count(*) FROM has_events").fetchone() == (100,)


async def test_what_a_full_memory_store_cancels_is_in_it(clock: Clock) -> None:
    store = MemoryStore(clock=clock, max_pending=1)
    await store.start()
    await ask(store, gated())
    await ask(store, gated("a2"), thread_id="u")
    assert await kinds(store) == ["asked", "cancelled"]
