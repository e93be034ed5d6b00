"""What streams of approvals cost while nothing happens, counted: one look for all of them, and no record read again."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest

from agui_gate.core.approvals import Approval, State
from agui_gate.errors import Unavailable
from agui_gate.extras.inbox import feed as inbox
from agui_gate.extras.inbox.feed import Gone, Inbox, Told, Waiting
from agui_gate.stores.base import ApprovalPage, Store
from agui_gate.stores.cursor import PAGE_BYTES
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from tests.product.inprocess import TIMEOUT
from tests.requirements import shows
from tests.stores.support import ask, gated

pytestmark = [pytest.mark.anyio, shows("H2")]

LARGE = '{"text":"' + "x" * 100_000 + '"}'


class Counted:
    """What is asked of a store: its looks, and the bytes of the records that it read."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.looks = self.bytes = self.reads = 0
        self.largest = 0
        self.away = False

    async def waiting_ids(self, principals: Collection[str], limit: int) -> Mapping[str, list[str]]:
        if self.away:
            raise Unavailable("away")
        self.looks += 1
        return await self.store.waiting_ids(principals, limit)

    async def read_approvals(self, principal: str, ids: Sequence[str]) -> tuple[list[Approval], Sequence[str]]:
        found, left = await self.store.read_approvals(principal, list(map(str, ids)))
        size = sum(len(approval.arguments) for approval in found)
        self.reads, self.bytes, self.largest = self.reads + 1, self.bytes + size, max(self.largest, size)
        return found, left

    async def list_approvals(self, principal: str, **which: Any) -> ApprovalPage:
        return await self.store.list_approvals(principal, **which)

    def begin(self) -> None:
        """Count anew."""
        self.looks = self.bytes = self.reads = self.largest = 0


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Store]:
    path = str(tmp_path_factory.mktemp("inbox") / "store.db")
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(path)
    await made.start()
    yield made
    await made.aclose()


@pytest.fixture(autouse=True)
def never_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 3600.0)


async def asked(store: Store, number: int, **more: Any) -> None:
    await ask(store, *(gated(f"a{n:04}", **more) for n in range(number)))


async def told(stream: Any) -> Told:
    async with asyncio.timeout(TIMEOUT):
        found: Told = await anext(stream)
    return found


@asynccontextmanager
async def streams(found: Inbox, number: int, principal: str = "alice") -> AsyncIterator[list[Any]]:
    """So many streams that were told what waits."""
    async with AsyncExitStack() as exits:
        made = [await exits.enter_async_context(aclosing(found.watch(principal))) for _ in range(number)]
        for stream in made:
            while not isinstance(await told(stream), Waiting):
                pass
        yield made


async def test_twenty_idle_streams_over_large_calls_are_one_look_of_ids(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty times 6 MB were read every three seconds."""
    await asked(store, 60, arguments=LARGE)
    counted = Counted(store)
    found = Inbox(counted)  # type: ignore[arg-type]  # of a store it needs no more
    async with streams(found, 20) as made:
        assert counted.largest <= PAGE_BYTES
        counted.begin()
        for _ in range(5):
            await found._look(["alice"])
        assert (counted.looks, counted.reads, counted.bytes) == (5, 0, 0)
        await ask(store, gated("b1", arguments=LARGE))
        found.changed("alice")
        news = await asyncio.gather(*(told(stream) for stream in made))
        assert {approval.id for approval in news if isinstance(approval, Approval)} == {"b1"}
        assert (counted.looks, counted.reads, counted.bytes) == (6, 1, len(LARGE)), "read once, for all"


async def test_calls_at_work_of_many_are_one_look_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each had its records read, in a job of its own: 1,000 watchers were 333 jobs of the store a second."""
    monkeypatch.setattr(inbox, "AT_ONCE", 20)
    names = [f"user-{n}" for n in range(30)]
    for name in names:
        await ask(store, gated(f"{name}'s", principal=name), principal=name)
        await store.move(f"{name}'s", State.CLAIMED)
    jobs: list[object] = []
    do = store._do  # type: ignore[attr-defined]

    def counted(kind: object, operation: object) -> Any:
        jobs.append(operation)
        return do(kind, operation)

    found = Inbox(store)  # type: ignore[arg-type]
    async with AsyncExitStack() as exits:
        made = [await exits.enter_async_context(streams(found, 1, name)) for name in names]
        monkeypatch.setattr(store, "_do", counted)
        await found._look(names)
        assert len(jobs) == 4, "two for each twenty"
        await store.move("user-7's", State.DONE)  # another process, that says nothing
        jobs.clear()
        await found._look(names)
        assert len(jobs) == 5
        last = await told(made[7][0])
        assert isinstance(last, Approval)
        assert (last.id, last.state) == ("user-7's", State.DONE)


class Id(str):
    """An id that counts how often it is compared and hashed."""

    compared = hashed = 0
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Id.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        Id.hashed += 1
        return str.__hash__(self)


class CountedIds(Counted):
    """Whose ids count."""

    async def waiting_ids(self, principals: Collection[str], limit: int) -> Mapping[str, list[str]]:
        found = await self.store.waiting_ids(principals, limit)
        return {principal: [Id(each) for each in ids] for principal, ids in found.items()}


async def test_a_thousand_that_wait_are_compared_once_for_all(store: Store) -> None:
    """A set of all was made for each of them, in each stream: for a look of one, a million and more."""
    await asked(store, 999)
    found = Inbox(CountedIds(store))  # type: ignore[arg-type]
    async with streams(found, 20) as made:
        Id.compared = Id.hashed = 0
        await found._look(["alice"])
        assert (Id.compared <= 1000, Id.hashed) == (True, 0)
        await ask(store, gated("b1"))
        await found._look(["alice"])
        assert Id.hashed < 10_000
        assert {getattr(await told(stream), "id", "") for stream in made} == {"b1"}


async def test_one_look_is_for_all_principals(store: Store) -> None:
    await asked(store, 2)
    await ask(store, msgspec.structs.replace(gated("b1"), principal="bob"), principal="bob")
    counted = Counted(store)
    found = Inbox(counted)  # type: ignore[arg-type]
    async with streams(found, 3), streams(found, 3, "bob") as bobs:
        counted.begin()
        await store.move("b1", State.CANCELLED)
        await found._look(["alice", "bob"])
        assert (counted.looks, counted.reads) == (1, 1)
        record = await told(bobs[0])
        assert isinstance(record, Approval)
        assert (record.id, record.state) == ("b1", State.CANCELLED)


async def test_who_comes_while_others_watch_costs_them_nothing(store: Store) -> None:
    await asked(store, 1)
    found = Inbox(store)
    async with streams(found, 1) as (first,):
        await ask(store, gated("b1"))
        async with aclosing(found.watch("alice")) as second:
            assert [getattr(await told(second), "id", "") for _ in range(3)] == ["a0000", "b1", ""]
            assert getattr(await told(first), "id", "") == "b1", "it is told with the look of the other one"
            thread = await store.lease_thread("alice", "t", "support", "d1")
            await store.delete_thread(thread, "d1")
            found.changed("alice")
            for stream in (first, second):
                assert {await told(stream) for _ in range(2)} == {Gone("a0000"), Gone("b1")}


async def test_a_store_that_is_away_ends_no_stream(store: Store) -> None:
    counted = Counted(store)
    found = Inbox(counted)  # type: ignore[arg-type]
    async with streams(found, 1) as (stream,):
        counted.away = True
        with pytest.raises(Unavailable):
            await found._look(["alice"])
        found.changed("alice")
        coming = asyncio.ensure_future(told(stream))
        await asyncio.sleep(0)
        counted.away = False
        await ask(store, gated("a1"))
        found.changed("alice")
        assert getattr(await coming, "id", "") == "a1"


async def test_what_a_slow_stream_keeps_in_memory_has_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MAX_BEHIND_BYTES", 2 * len(LARGE))
    found = Inbox(store)
    async with streams(found, 2) as (slow, quick):
        for number in range(5):
            await ask(store, gated(f"a{number}", arguments=LARGE))
            await found._look(["alice"])
            assert getattr(await told(quick), "id", "") == f"a{number}", "what was taken counts no more"
        assert [getattr(await told(slow), "id", "") for _ in range(2)] == ["a0", "a1"]
        with pytest.raises(Unavailable, match="Connect again"):
            await told(slow)


async def test_who_takes_nothing_is_let_go_and_comes_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MAX_BEHIND", 2)
    found = Inbox(store)
    async with streams(found, 2) as (slow, quick):
        for number in range(3):
            await ask(store, gated(f"a{number}"))
            await found._look(["alice"])
            assert getattr(await told(quick), "id", "") == f"a{number}"
        assert [getattr(await told(slow), "id", "") for _ in range(2)] == ["a0", "a1"]
        with pytest.raises(Unavailable):
            await told(slow)
