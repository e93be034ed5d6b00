"""Telling what is to be told: at least once, in order, by whoever is free, whatever fails meanwhile."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path

import pytest

from agui_gate.approvals import outbox
from agui_gate.approvals.outbox import BATCH, Courier
from agui_gate.core.approvals import Approval, State
from agui_gate.errors import Unavailable
from agui_gate.extension import Extension
from agui_gate.extras.inbox import feed as inbox
from agui_gate.extras.inbox.feed import Waiting, inbox_of
from agui_gate.stores.base import Change
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.outbox import KINDS, TAKE_MS, Notice
from agui_gate.stores.sqlite import SQLiteStore
from tests.extras.test_replica_signals import Mute, replicas
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated
from tests.support.house import DONE, LOOKS, PAYS

pytestmark = [pytest.mark.anyio, shows("B17")]


class Told(Extension):
    """A consumer that remembers; ``fails`` is raised as often as there are any."""

    notice_kinds = KINDS

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.calls = 0
        self.fails: list[Exception] = []
        self._more = asyncio.Event()

    async def notices(self, batch: Sequence[Notice]) -> None:
        self.calls += 1
        if self.fails:
            raise self.fails.pop()
        self.heard += [notice.about for notice in batch]
        self._more.set()

    async def until(self, about: str) -> None:
        async with asyncio.timeout(60):
            while about not in self.heard:
                self._more.clear()
                await self._more.wait()


class Counted(MemoryStore):
    """Counts how often it is asked. ``away``: for so many times it is."""

    takes = 0
    away = 0
    removed = 0

    async def take_notices(self, taker: str, *, told: Collection[int] = (), limit: int) -> Sequence[Notice]:
        self.takes += 1
        if self.away:
            self.away -= 1
            raise Unavailable("The store is away.")
        self.removed += len(told)
        return await super().take_notices(taker, told=told, limit=limit)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(clock: Clock) -> Counted:
    made = Counted(clock=clock)
    await made.start()
    return made


async def runs(store: MemoryStore, *keys: str) -> None:
    for key in keys:
        thread = await store.lease_thread("alice", "t", "a", key)
        await store.commit(thread, Change(status="finished"), key)


@asynccontextmanager
async def working(courier: Courier) -> AsyncIterator[None]:
    task = asyncio.create_task(courier.work())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def left(store: MemoryStore) -> list[str]:
    """What nobody was told yet, for one who looks at it."""
    notices = await store.take_notices("looker", limit=1000)
    await store.take_notices("looker", limit=0)
    return [notice.about for notice in notices]


async def test_many_runs_are_one_batch_and_two_steps(store: Counted) -> None:
    await runs(store, *(f"r{n}" for n in range(BATCH - 1)))
    told = Told()
    assert await Courier(store, "me", [told]).deliver() is False
    assert (told.heard, told.calls, store.takes) == ([f"r{n}" for n in range(BATCH - 1)], 1, 2)
    assert await left(store) == []


async def test_who_reads_ends_of_runs_says_so_again_to_a_backup_that_does_not_know_it(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "gate.db"))
    await store.start()
    courier = Courier(store, "me", [Told()])
    await courier.want()
    with closing(sqlite3.connect(tmp_path / "gate.db")) as restored:
        with restored:
            assert restored.execute("UPDATE outbox_kinds SET wanted = 0").rowcount == 1
        await courier.want()
        ((wanted,),) = restored.execute("SELECT wanted FROM outbox_kinds").fetchall()
        assert wanted == 1
        ((before,),) = restored.execute("PRAGMA data_version").fetchall()
        await courier.want()
        assert restored.execute("PRAGMA data_version").fetchall() == [(before,)], "nothing is written again"
    await store.aclose()


async def test_more_than_a_batch_is_delivered_batch_by_batch(store: Counted) -> None:
    keys = [f"r{n}" for n in range(2 * BATCH + 1)]
    await runs(store, *keys)
    told = Told()
    courier = Courier(store, "me", [told])
    assert [await courier.deliver() for _ in range(3)] == [True, True, False]
    assert (told.heard, store.takes) == (keys, 4)
    assert await left(store) == []


async def test_what_a_consumer_did_not_take_comes_again_to_it_alone_and_in_order(store: Counted) -> None:
    await runs(store, "r1", "r2")
    told, other = Told(), Told()
    told.fails = [ValueError("no")]
    courier = Courier(store, "me", [told, other])
    with pytest.raises(ValueError, match="no"):
        await courier.deliver()
    assert other.heard == ["r1", "r2"], "it waits for nobody"
    await runs(store, "r3")
    await courier.deliver()
    assert (told.heard, other.heard) == (["r1", "r2", "r3"], ["r1", "r2", "r3"])
    await runs(store, "r4")
    await courier.deliver()
    assert (told.heard[-1], other.heard[-1], other.calls) == ("r4", "r4", 3)


async def test_a_consumer_that_does_not_come_back_is_not_waited_for(
    store: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "TELL_SECONDS", 0.001)
    await runs(store, "r1")

    class Stuck(Told):
        async def notices(self, batch: Sequence[Notice]) -> None:
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await Courier(store, "me", [Stuck()]).deliver()
    assert await left(store) == [], "somebody else may not have it yet"


async def test_consumers_are_told_side_by_side(store: Counted) -> None:
    """Together they are done within `TELL_SECONDS`, before another replica may tell the same."""
    await runs(store, "r1")
    meeting = asyncio.Barrier(2)

    class Meets(Told):
        async def notices(self, batch: Sequence[Notice]) -> None:
            await meeting.wait()
            await super().notices(batch)

    one, two = Meets(), Meets()
    async with asyncio.timeout(60):
        await Courier(store, "me", [one, two]).deliver()
    assert (one.heard, two.heard) == (["r1"], ["r1"])


async def test_a_replica_that_dies_leaves_it_to_another_one(store: Counted, clock: Clock) -> None:
    await runs(store, "r1")
    first, second = Told(), Told()
    first.fails = [RuntimeError("it dies here")]
    with pytest.raises(RuntimeError):
        await Courier(store, "first", [first]).deliver()
    await Courier(store, "second", [second]).deliver()
    assert second.heard == []
    clock.advance(TAKE_MS)
    await Courier(store, "second", [second]).deliver()
    assert second.heard == ["r1"]


async def test_it_works_by_itself_when_woken_and_after_failures(
    store: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.001)
    monkeypatch.setattr(outbox, "LOOK_SECONDS", 1000.0)
    await runs(store, "before")
    told = Told()
    courier = Courier(store, "me", [told])
    async with working(courier):
        await told.until("before")
        async with asyncio.timeout(60):
            while store.removed < 1:  # noqa: ASYNC110  (it has no event)
                await asyncio.sleep(0)
        await runs(store, "after")
        store.away, told.fails = 2, [ValueError("no")]
        courier.wake()
        await told.until("after")
        async with asyncio.timeout(60):
            while store.removed < 2:  # noqa: ASYNC110  (it has no event)
                await asyncio.sleep(0)
    assert told.heard == ["before", "after"]
    assert await left(store) == []


async def test_who_stops_lets_another_one_go_on_at_once(store: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.001)
    monkeypatch.setattr(outbox, "TELL_SECONDS", 1000.0)
    await runs(store, "r1")
    begun = asyncio.Event()

    class Slow(Told):
        async def notices(self, batch: Sequence[Notice]) -> None:
            begun.set()
            await asyncio.Event().wait()

    async with asyncio.timeout(60), working(Courier(store, "me", [Slow()])):
        await begun.wait()
    assert await left(store) == ["r1"]


async def test_only_approvals_wake_who_watches_them(store: Counted) -> None:
    woken: list[str] = []

    class Woken(inbox.Inbox):
        def changed(self, principal: str) -> None:
            woken.append(principal)

    await ask(store, gated("a1"))
    await runs(store, "r1")
    await Courier(store, "me", [Woken(store)]).deliver()
    assert woken == ["alice"]


async def test_a_stream_of_approvals_is_told_though_its_signal_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that died told nobody; another one does, from the outbox."""
    monkeypatch.setattr(outbox, "GATHER_SECONDS", 0.001)
    monkeypatch.setattr(outbox, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(inbox, "LOOK_SECONDS", 1000.0)
    async with replicas(PAYS) as (r, _, there, _), aclosing(inbox_of(there).watch("alice")) as told:
        assert await anext(told) == Waiting([])
        await ask(r.store, gated("a1"))
        now = await anext(told)
        assert isinstance(now, Approval)
        assert (now.id, now.state) == ("a1", State.PENDING)


async def test_a_run_leaves_nothing_behind_in_the_outbox(monkeypatch: pytest.MonkeyPatch) -> None:
    async with replicas(LOOKS, DONE, bus=Mute()) as (r, here, *_):
        r.go.set()
        live = await r.run(here)
        assert live.task is not None
        await live.task
        assert here._courier is not None
        await here._courier.deliver()
        assert await left(r.store) == []
