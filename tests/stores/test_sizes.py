"""How large a thread is, known without reading it; and what may be read (T13). Over every store."""

from collections.abc import Callable

import msgspec
import pytest

from agui_gate.core.approvals import Decision, State
from agui_gate.core.transcript import Output
from agui_gate.errors import TooLarge
from agui_gate.stores.base import Bounds, Change, Thread
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated, ids, pending, said

pytestmark = [pytest.mark.anyio, shows("T13")]


async def commit(store: FullStore, change: Change, thread_id: str = "t") -> None:
    thread = await store.lease_thread("alice", thread_id, "support", "r")
    await store.commit(thread, msgspec.structs.replace(change, status="finished"), "r")


async def read(store: FullStore) -> Thread:
    thread = await store.read_thread("alice", "t")
    assert thread is not None
    return thread


async def size(store: FullStore) -> int:
    return (await read(store)).bytes


async def test_a_threads_size_follows_what_is_kept_of_it(store: FullStore) -> None:
    await commit(store, Change(entries=said("a")))
    one = await size(store)
    assert one == len(msgspec.json.encode(said("a")))
    await commit(store, Change(entries=said("b" * 1000)))
    assert await size(store) >= one + 2000  # an id and a text
    await commit(store, Change(keep=1))
    assert await size(store) == one
    await commit(store, Change(state={"text": "x" * 100}))
    await commit(store, Change(state={"text": "x"}))
    assert await size(store) == one + len('{"text":"x"}')
    await ask(store, gated("a1", arguments='{"amount":50}'))
    assert await size(store) == one + len('{"text":"x"}{"amount":50}')
    asked, yes, output = await size(store), Decision(True, "alice"), Output("y" * 500)
    await store.move("a1", State.CLAIMED, decision=yes)
    assert await size(store) == asked
    await store.move("a1", State.DONE, output=output)
    assert await size(store) == asked + len(msgspec.json.encode(yes) + msgspec.json.encode(output))


async def test_a_cut_inside_a_batch_is_counted_too(store: FullStore) -> None:
    await commit(store, Change(entries=said("a", "b", "c")))
    await commit(store, Change(keep=1, entries=said("d")))
    thread = await read(store)
    assert ids(thread) == ["a", "d"]
    assert abs(thread.bytes - len(msgspec.json.encode(thread.entries))) < 5  # brackets and commas of the batches


async def test_a_head_is_read_without_the_rest_of_the_thread(store: FullStore) -> None:
    await commit(store, Change(entries=said("a"), state={"a": 1}, default_title="Orders"))
    head = await store.read_thread("alice", "t", whole=False)
    assert head is not None
    assert (head.title, head.entries, head.approvals, head.state) == ("Orders", [], [], None)
    assert head.bytes == await size(store)
    leased = await store.lease_thread("alice", "t", "support", "r2", whole=False)
    assert (leased.key, leased.entries, leased.run_status) == (head.key, [], "finished")
    await store.commit(leased, Change(status="finished"), "r2")
    assert ids(await store.read_thread("alice", "t")) == ["a"]
    assert await store.read_thread("alice", "nothing", whole=False) is None


@pytest.fixture(params=["memory", "sqlite"])
def bounded(request: pytest.FixtureRequest, clock: Clock, path: str) -> Callable[[], FullStore]:
    """A store that reads threads of up to 1,000 bytes."""
    if request.param == "memory":
        return lambda: MemoryStore(clock=clock, bounds=Bounds(thread_bytes=1000))
    return lambda: SQLiteStore(path, clock=clock, bounds=Bounds(thread_bytes=1000))


async def test_what_is_too_large_is_not_read_and_can_be_deleted(bounded: Callable[[], FullStore]) -> None:
    store = bounded()
    await store.start()
    await commit(store, Change(entries=said("x" * 600)))
    with pytest.raises(TooLarge, match="1,000"):
        await store.read_thread("alice", "t")
    with pytest.raises(TooLarge, match="Deleting"):
        await store.lease_thread("alice", "t", "support", "r1")
    thread = await store.lease_thread("alice", "t", "support", "r2", whole=False)  # the refused one holds no lease
    assert thread.run_status == "finished"
    await store.delete_thread(thread, "r2")
    assert await store.read_thread("alice", "t") is None
    await store.aclose()


async def test_nobody_evicts_what_another_principal_asked_for(clock: Clock) -> None:
    store = MemoryStore(clock=clock, max_pending=2)
    await store.start()
    await ask(store, gated("hers"))
    for number in range(5):
        await ask(store, gated(f"b{number}", principal="bob", thread_id=f"t{number}"), principal="bob")
    assert [approval.id for approval in await pending(store, "alice")] == ["hers"]
    assert [approval.id for approval in await pending(store, "bob")] == ["b3", "b4"]
    (oldest,) = [await store.approval("bob", "b0")]
    assert oldest is not None
    assert oldest.state is State.CANCELLED


def kept(store: MemoryStore) -> dict[str, int]:
    """How many rows each table of the store has, but those of what happened, which stays, up to a limit."""
    names = store._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    tables = {name for (name,) in names} - {"approval_events", "has_events", "outbox", "sqlite_sequence"}
    return {name: store._database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}


async def test_principals_without_threads_leave_nothing_in_memory(clock: Clock) -> None:
    """Else each name that was ever used would stay for as long as the process lives."""
    store = MemoryStore(clock=clock)
    await store.start()
    before = kept(store)
    for number in range(20):
        name = f"user-{number}"
        await ask(store, gated(f"a{number}", principal=name), principal=name)
    full = kept(store)
    assert {table for table in full if full[table] == 20} == {"has_threads", "threads", "approvals"}
    for number in range(20):
        thread = await store.lease_thread(f"user-{number}", "t", "support", "r2")
        await store.delete_thread(thread, "r2")
    assert kept(store) == before
    await store.aclose()
