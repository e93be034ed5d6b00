"""What outlives a deleted thread: that something ran or was decided, and nothing that was said (T7)."""

import asyncio
import hashlib
from pathlib import Path

import msgspec
import pytest

from agui_gate.core.approvals import RAN, UNFINISHED, Approval, Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import NotFound
from agui_gate.stores.base import MAX_LISTED
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Result
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.tombstones import Tombstone
from tests.stores.support import Clock, ask, gated

pytestmark = pytest.mark.anyio


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def delete(store: FullStore, thread_id: str = "t", principal: str = "alice") -> None:
    thread = await store.lease_thread(principal, thread_id, "support", "delete", whole=False)
    await store.delete_thread(thread, "delete")


async def test_who_decided_when_which_way_and_digests_of_what_ran(store: FullStore, clock: Clock) -> None:
    await ask(store, gated(source="mcp:shop"))
    clock.advance(10)
    decision = Decision(True, by="bob", reason="she called", edited_arguments='{"amount":20}', way="card")
    await store.move("a1", State.CLAIMED, decision=decision)
    await store.move("a1", State.DONE, output=Output("refunded 20"))
    clock.advance(5)
    await delete(store)
    assert await store.tombstones("alice") == [
        Tombstone(
            id="a1",
            principal="alice",
            thread_id="t",
            agent="support",
            tool="refund",
            source="mcp:shop",
            state=State.DONE,
            arguments_digest=sha('{"amount":20}'),
            output_digest=sha("refunded 20"),
            approved=True,
            decided_by="bob",
            way="card",
            asked_at=clock.now - 15,
            decided_at=clock.now - 5,
            deleted_at=clock.now,
        )
    ]
    assert await store.approval("alice", "a1") is None


async def test_what_was_decided_or_may_have_run_stays_and_what_came_to_nothing_goes(store: FullStore) -> None:
    names = {state: f"a-{state}" for state in State}
    await ask(store, *(gated(name, runner="provider") for name in names.values()))
    for state, name in names.items():
        if state in RAN | {State.PASSED, State.GIVEN_BACK}:
            await store.move(name, State.CLAIMED, decision=Decision(True, by="alice", way="http"))
        if state is State.GIVEN_BACK:
            await store.move(name, State.PASSED)
        if state not in (State.PENDING, State.EXPIRED):
            await store.move(name, state, output=None if state in UNFINISHED else Output("x"))
    await delete(store)
    left = {tomb.id.removeprefix("a-"): tomb.state for tomb in await store.tombstones("alice")}
    assert left == {
        "claimed": State.FAILED,  # its provider was not told of the yes, and nobody tells it any more
        "passed": State.UNKNOWN,
        "given_back": State.FAILED,
        "done": State.DONE,
        "failed": State.FAILED,
        "unknown": State.UNKNOWN,
        "rejected": State.REJECTED,
    }


async def test_tombstones_are_their_principals_and_found_by_thread_and_by_approval(
    store: FullStore, clock: Clock
) -> None:
    for principal, thread_id, name in (("alice", "t", "a1"), ("alice", "u", "a2"), ("bob", "t", "b1")):
        await ask(
            store, gated(name, principal=principal, thread_id=thread_id), principal=principal, thread_id=thread_id
        )
        await store.move(name, State.REJECTED, decision=Decision(False, by=principal))
        clock.advance(1)
        await delete(store, thread_id, principal)
    assert [tomb.id for tomb in await store.tombstones("alice")] == ["a2", "a1"], "the latest first"
    assert [tomb.id for tomb in await store.tombstones("alice", thread_id="t")] == ["a1"]
    assert [tomb.id for tomb in await store.tombstones("alice", approval_id="a2")] == ["a2"]
    assert await store.tombstones("alice", approval_id="b1") == []
    assert [tomb.id for tomb in await store.tombstones("alice", limit=1)] == ["a2"]


async def test_long_outputs_are_read_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may have a hundred of them, of megabytes each; all that is left of each is its digest."""
    read: list[int] = []
    approvals = Ledger.approvals

    def watch(result: Result) -> list[Approval]:
        found = approvals(result)
        read.append(sum(len(one.output.content) for one in found if one.output is not None))
        return found

    store = MemoryStore()
    await store.start()
    await ask(store, gated("a1"), gated("a2"))
    for name in ("a1", "a2"):
        await store.move(name, State.CLAIMED)
        await store.move(name, State.DONE, output=Output(name * MAX_LISTED))
    thread = await store.lease_thread("alice", "t", "support", "delete", whole=False)
    monkeypatch.setattr(Ledger, "approvals", staticmethod(watch))
    await store.delete_thread(thread, "delete")
    assert read == [2 * (MAX_LISTED + 1), 2 * MAX_LISTED, 2 * MAX_LISTED]
    left = {tomb.id: tomb.output_digest for tomb in await store.tombstones("alice")}
    assert left == {name: sha(name * MAX_LISTED) for name in ("a1", "a2")}


async def test_nothing_that_was_said_is_left_in_the_file(path: str) -> None:
    store = SQLiteStore(path)
    await store.start()
    secret = "swordfish"
    await ask(store, gated(arguments=msgspec.json.encode({"note": secret}).decode(), message=f"Send {secret}?"))
    await store.move("a1", State.CLAIMED, decision=Decision(True, by="alice", reason=secret))
    await store.move("a1", State.DONE, output=Output(f"sent {secret}"))
    await delete(store)
    (tomb,) = await store.tombstones("alice")
    assert secret not in repr(tomb)
    await store._run(lambda db: db.execute("VACUUM"))  # SQLite itself leaves deleted pages as they were
    await store.aclose()
    assert secret.encode() not in await asyncio.to_thread(Path(path).read_bytes)


async def test_a_thread_that_is_not_there_is_not_made_for_those_who_do_not_want_one(store: FullStore) -> None:
    with pytest.raises(NotFound):
        await store.lease_thread("alice", "t", "support", "r", create=False)
    assert await store.read_thread("alice", "t") is None
    await store.lease_thread("alice", "t", "support", "r")
    assert (await store.lease_thread("alice", "t", "support", "r", create=False)).run_status == "running"


async def test_a_result_that_comes_after_the_deletion_is_marked(store: FullStore, clock: Clock) -> None:
    """Its process slept, so that its lease ended and the thread was deleted, and then came back."""
    await ask(store, gated("a1"), gated("a2"))
    for name in ("a1", "a2"):
        await store.move(name, State.CLAIMED, decision=Decision(True, by="alice"))
    await store.move("a2", State.DONE, output=Output("first"))
    await delete(store)
    for name, state in (("a1", State.DONE), ("a2", State.FAILED), ("a3", State.DONE)):
        with pytest.raises(NotFound):
            await store.move(name, state, output=Output("late"))
    left = {tomb.id: (tomb.state, tomb.output_digest) for tomb in await store.tombstones("alice")}
    assert left == {"a1": (State.DONE, sha("late")), "a2": (State.DONE, sha("first"))}


async def test_of_a_tool_that_was_at_work_nobody_knows(store: FullStore) -> None:
    """Its process died while it ran, and nobody will ever say what came of it."""
    await ask(store, gated())
    await store.move("a1", State.CLAIMED)
    await delete(store)
    assert [tomb.state for tomb in await store.tombstones("alice")] == [State.UNKNOWN]
