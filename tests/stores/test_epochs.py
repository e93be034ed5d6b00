"""A restored backup: what waits gets another id, what had begun is unknown, and the rest is as it was."""

import msgspec
import pytest

from agui_gate.core.approvals import Approval, Decision, State
from agui_gate.core.transcript import ConversationRef, Output
from agui_gate.errors import LeaseLost, NotFound
from agui_gate.stores.base import Change
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.epochs import Epoch
from agui_gate.stores.sql import epochs, rows
from tests.stores.support import Clock, ask, gated, pending, said
from tests.stores.test_newer import written
from tests.stores.trails import kinds, whole_trail

pytestmark = pytest.mark.anyio

YES = Decision(True, "bob", way="card")


async def test_what_waits_is_asked_again_under_another_id(store: FullStore, clock: Clock) -> None:
    await ask(store, gated(expires_at=100), gated("a2"))
    await ask(store, gated("a3", thread_id="u"), thread_id="u")
    await store.move("a2", State.REJECTED)
    clock.advance(10)
    assert await store.begin_epoch() == Epoch(2, 2, 0)
    first, third = await pending(store, "alice")
    assert [(a.id, a.was, a.thread_id) for a in (first, third)] == [("a1.2", "a1", "t"), ("a3.2", "a3", "u")]
    assert first == msgspec.structs.replace(
        gated(), id="a1.2", was="a1", asked_at=clock.now - 10, expires_at=clock.now + 90
    )
    assert await store.approval("alice", "a1.2") == await store.approval("alice", "a1") == first
    assert await store.approval("bob", "a1") is None
    thread = await store.lease_thread("alice", "t", "support", "r2")
    assert [a.id for a in thread.approvals] == ["a1.2", "a2"]
    with pytest.raises(NotFound):
        await store.move("a1", State.CLAIMED, decision=YES, run_key="r2")
    assert (await store.move("a1.2", State.CLAIMED, decision=YES, run_key="r2")).was == "a1"


async def test_it_says_so_in_the_trail_and_to_others(store: FullStore) -> None:
    await ask(store, gated())
    await store.begin_epoch()
    events = await whole_trail(store)
    assert [(e.kind, e.approval_id) for e in events] == [("asked", "a1"), ("restored", "a1"), ("asked", "a1.2")]
    assert msgspec.json.decode(events[1].body) == {"again": "a1.2", "epoch": 2, "state": "pending"}
    assert [n.about for n in await store.take_notices("one", limit=9)] == ["a1", "ask-a1", "a1.2"]


async def test_what_was_agreed_to_and_had_not_ended_is_settled(store: FullStore) -> None:
    names = ("claimed", "passed", "given_back", "done")
    await ask(store, *(gated(name, runner="provider") for name in names))
    for name in names:
        await store.move(name, State.CLAIMED, decision=YES)
    for name in ("passed", "given_back"):
        await store.move(name, State.PASSED)
    await store.move("given_back", State.GIVEN_BACK)
    await store.move("done", State.DONE, output=Output("x"))
    assert await store.begin_epoch() == Epoch(2, 0, 3)
    found = {a.id: a for a in (await store.list_approvals("alice", limit=9, which="all")).approvals}
    assert {name: a.state for name, a in found.items()} == {
        "claimed": State.UNKNOWN,
        "passed": State.UNKNOWN,
        "given_back": State.UNKNOWN,
        "done": State.DONE,
    }
    assert [name for name, a in found.items() if a.output and "backup" in a.output.content] == [*names[2::-1]]
    assert {a.decision for a in found.values()} == {YES}
    assert await kinds(store, "claimed") == ["asked", "approved", "claimed", "restored", "unknown"]
    assert await kinds(store, "done") == ["asked", "approved", "claimed", "done"]


async def test_a_yes_to_a_task_says_that_it_is_of_before(store: FullStore) -> None:
    await ask(store, gated("task", runner="agent"), gated("tool"), gated("later", runner="agent"))
    for name in ("task", "tool"):
        await store.move(name, State.CLAIMED, decision=YES)
        await store.move(name, State.DONE)
    assert await store.begin_epoch() == Epoch(2, 1, 0)
    await store.move("later.2", State.CLAIMED, decision=YES)
    await store.move("later.2", State.DONE)
    found = (await store.list_approvals("alice", limit=9, which="all")).approvals
    assert {(a.id, a.was, a.is_asked_again) for a in found} == {
        ("task", "task", False),
        ("tool", "", False),
        ("later.2", "later", True),
    }


async def test_each_restore_begins_another_epoch(store: FullStore) -> None:
    assert await store.begin_epoch() == Epoch(2, 0, 0)
    await ask(store, gated())
    await store.begin_epoch()
    await store.begin_epoch()
    (again,) = await pending(store, "alice")
    assert (again.id, again.was) == ("a1.4", "a1")
    assert await store.approval("alice", "a1") == again
    assert await store.approval("alice", "a1.3") is None


async def test_whoever_had_a_lease_has_it_no_more(store: FullStore) -> None:
    thread = await store.lease_thread("alice", "t", "support", "r1")
    await store.lease_thread("alice", "u", "support", "decide_2")
    await store.begin_epoch()
    assert await store.renew(["r1", "decide_2"]) == {"r1", "decide_2"}
    with pytest.raises(LeaseLost):
        await store.commit(thread, Change(entries=said("late"), status="finished"), "r1")
    assert [(n.kind, n.about) for n in await store.take_notices("one", limit=9)] == [("run_ended", "r1")]
    for name in ("t", "u"):
        head = await store.read_thread("alice", name)
        assert head is not None
        assert (head.run_status, head.entries) == ("interrupted", [])
        assert (await store.lease_thread("alice", name, "support", f"again-{name}")).run_status == "interrupted"


async def test_a_conversation_that_its_provider_keeps_is_not_continued(store: FullStore) -> None:
    refs = {
        "t": ConversationRef(turn_id="x", origin="o", conversation_id="c1"),
        "u": ConversationRef(turn_id="x", origin="o", previous_response_id="r1"),
    }
    for name, ref in refs.items():
        thread = await store.lease_thread("alice", name, "support", f"r-{name}")
        await store.commit(thread, Change(ref=ref, status="finished"), f"r-{name}")
    await store.begin_epoch()
    found = {name: await store.read_thread("alice", name) for name in ("c1", "u")}
    assert [thread and thread.ref and thread.ref.turn_id for thread in found.values()] == ["", "x"]


async def test_it_goes_by_pages_and_nothing_is_left_out(store: FullStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "PAGE", 4)
    monkeypatch.setattr(rows, "AT_ONCE", 3)
    numbers = {"t": 1, "u": 5, "v": 3, "w": 2}
    ref = ConversationRef(turn_id="x", origin="o", conversation_id="c")
    for name, number in numbers.items():
        await ask(store, *(gated(f"{name}{i}", thread_id=name) for i in range(number)), thread_id=name)
        await store.move(f"{name}0", State.CLAIMED, decision=YES)
    for i in range(9):
        thread = await store.lease_thread("alice", f"r{i}", "support", f"r{i}")
        await store.commit(
            thread, Change(ref=msgspec.structs.replace(ref, conversation_id=f"c{i}"), status="finished"), f"r{i}"
        )
    assert await store.begin_epoch() == Epoch(2, 7, 4)
    assert {a.id for a in await pending(store, "alice")} == {
        f"{n}{i}.2" for n, number in numbers.items() for i in range(1, number)
    }
    assert {(await whole(store, f"{name}0")).state for name in numbers} == {State.UNKNOWN}
    for i in range(9):
        found = await store.read_thread("alice", f"r{i}")
        assert found is not None
        assert found.ref == msgspec.structs.replace(ref, turn_id="", conversation_id=f"c{i}")
    assert len(await whole_trail(store)) == 11 + 4 * 2 + (7 + 4) * 2
    told = [notice.about for notice in await store.take_notices("one", limit=99) if notice.about.endswith(".2")]
    assert sorted(told, key=lambda about: about[0]) == [f"{n}{i}.2" for n in numbers for i in range(1, numbers[n])]


async def whole(store: FullStore, approval_id: str) -> Approval:
    found = await store.approval("alice", approval_id)
    assert found is not None
    return found


@pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)
async def test_what_another_version_wrote_is_no_obstacle(store: FullStore, place: str) -> None:
    """It goes by the state in the row, and by a chain that begins here."""
    await ask(store, gated("waits"), gated("claimed"), gated("settled"))
    await store.move("claimed", State.CLAIMED, decision=YES)
    await store.move("settled", State.REJECTED, decision=Decision(False, "bob"))
    written(place, "UPDATE approvals SET style = 'telepathy'")
    written(place, "DELETE FROM approval_events")
    assert await store.begin_epoch() == Epoch(2, 1, 1)
    rows = written(place, "SELECT id, was, state FROM approvals ORDER BY seq")
    assert rows == [("waits.2", "waits", "pending"), ("claimed", "", "unknown"), ("settled", "", "rejected")]
    assert [(e.seq, e.kind) for e in await whole_trail(store)] == [
        (1, "restored"),
        (2, "asked"),
        (3, "restored"),
        (4, "unknown"),
    ]
