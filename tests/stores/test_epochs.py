"""A restored backup: what waits gets another id, what had begun is unknown, and the rest is as it was."""

import msgspec
import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import ConversationRef, Output
from agui_gate.errors import NotFound
from agui_gate.stores.base import Change, Store
from agui_gate.stores.epochs import Epoch
from tests.stores.support import Clock, ask, gated, pending
from tests.stores.trails import kinds, whole_trail

pytestmark = pytest.mark.anyio

YES = Decision(True, "bob", way="card")


async def test_what_waits_is_asked_again_under_another_id(store: Store, clock: Clock) -> None:
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


async def test_it_says_so_in_the_trail_and_to_others(store: Store) -> None:
    await ask(store, gated())
    await store.begin_epoch()
    events = await whole_trail(store)
    assert [(e.kind, e.approval_id) for e in events] == [("asked", "a1"), ("restored", "a1"), ("asked", "a1.2")]
    assert msgspec.json.decode(events[1].body) == {"again": "a1.2", "epoch": 2, "state": "pending"}
    assert [n.about for n in await store.take_notices("one", limit=9)] == ["a1", "ask-a1", "a1.2"]


async def test_what_was_agreed_to_and_had_not_ended_is_settled(store: Store) -> None:
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
        "given_back": State.FAILED,
        "done": State.DONE,
    }
    assert [name for name, a in found.items() if a.output and "backup" in a.output.content] == [*names[2::-1]]
    assert {a.decision for a in found.values()} == {YES}
    assert await kinds(store, "claimed") == ["asked", "approved", "claimed", "restored", "unknown"]
    assert await kinds(store, "done") == ["asked", "approved", "claimed", "done"]


async def test_each_restore_begins_another_epoch(store: Store) -> None:
    assert await store.begin_epoch() == Epoch(2, 0, 0)
    await ask(store, gated())
    await store.begin_epoch()
    await store.begin_epoch()
    (again,) = await pending(store, "alice")
    assert (again.id, again.was) == ("a1.4", "a1")
    assert await store.approval("alice", "a1") == again
    assert await store.approval("alice", "a1.3") is None


async def test_a_conversation_that_its_provider_keeps_is_not_continued(store: Store) -> None:
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
