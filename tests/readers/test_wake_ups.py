"""Waiting for what works on a thread costs one look at the store for all who wait, and none for what happens here."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from agui_gate.errors import Unavailable
from agui_gate.readers import wake_ups as watching
from agui_gate.readers.wake_ups import Watch
from agui_gate.stores.base import AtWork
from tests.support.house import house

pytestmark = pytest.mark.anyio

HERE = ("alice", "t")
LONG = 1000.0


class Looked:
    """A store that counts how often it is looked at. ``now``: what is at work."""

    def __init__(self, **now: AtWork) -> None:
        self.now: dict[tuple[str, str], AtWork] = {("alice", name): work for name, work in now.items()}
        self.looks = 0
        self.away = False
        self.twice = asyncio.Event()

    async def at_work(self, threads: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], AtWork]:
        self.looks += 1
        if self.looks == 2:
            self.twice.set()
        if self.away:
            raise Unavailable("The store is away.")
        return {place: self.now[place] for place in threads if place in self.now}


def over(store: Looked) -> Watch:
    anything: Any = store
    return Watch(anything)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing looks by itself."""
    monkeypatch.setattr(watching, "LOOK_SECONDS", LONG)


@pytest.mark.usefixtures("seldom")
async def test_what_happens_here_needs_no_look() -> None:
    store = Looked()
    watch = over(store)
    async with asyncio.timeout(60):
        with watch.on(HERE) as watcher, watch.on(("alice", "other")) as other:
            waiting = asyncio.ensure_future(watcher.wait(LONG))
            await asyncio.sleep(0)
            watch.happened(*HERE)
            assert await waiting is True
            assert await other.wait(0) is False
            watch.happened(*HERE)
            assert await watcher.wait(LONG) is True, "also what happened while it didn't wait"
            assert await watcher.wait(0) is False, "once"
    watch.happened(*HERE)  # nobody waits
    assert store.looks == 0
    await watch.aclose()


@pytest.mark.usefixtures("seldom")
async def test_one_look_serves_all_who_wait() -> None:
    works = AtWork("run_1", 1)
    store = Looked(t=works)
    watch = over(store)
    async with asyncio.timeout(60):
        knows = [watch.enter(HERE, works) for _ in range(1000)]
        asks = [watch.enter(HERE) for _ in range(1000)]
        tasks = asyncio.all_tasks()
        waiting = [asyncio.ensure_future(each.wait(LONG)) for each in (*knows, *asks)]
        await watch.look()
        assert not any(each.done() for each in waiting), "what they know, or what they see first, is no news"
        assert len(asyncio.all_tasks() - tasks) == len(waiting), "no task of ours for any of them"
        for now in (AtWork("run_1", 2), AtWork("run_2", 2), None):
            store.now = {} if now is None else {HERE: now}
            await watch.look()
            assert all(await asyncio.gather(*waiting))
            waiting = [asyncio.ensure_future(each.wait(LONG)) for each in (*knows, *asks)]
        assert store.looks == 4
        for each in (*knows, *asks):
            watch.leave(HERE, each)
            each.wake()
        assert not any(await asyncio.gather(*waiting))
        await watch.look()
        assert store.looks == 4, "nobody waits, so nothing is looked at"
    await watch.aclose()


@pytest.mark.usefixtures("seldom")
async def test_who_finds_nothing_at_work_waits_no_more() -> None:
    """It had been refused as busy a moment before."""
    watch = over(Looked())
    async with asyncio.timeout(60):
        with watch.on(HERE) as watcher:
            waiting = asyncio.ensure_future(watcher.wait(LONG))
            await watch.look()
            assert await waiting is True
    await watch.aclose()


async def test_it_looks_by_itself_while_anybody_waits_also_when_the_store_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.001)
    store = Looked(t=AtWork("run_1", 1))
    store.away = True
    watch = over(store)
    async with asyncio.timeout(60):
        with watch.on(HERE) as watcher:
            await store.twice.wait()
            store.away, store.now = False, {}
            assert await watcher.wait(LONG) is True
        looking = watch._looking
        assert looking is not None
        await looking  # which ends by itself
    await watch.aclose()


@pytest.mark.usefixtures("seldom")
async def test_nobody_waits_for_a_server_that_stops() -> None:
    watch = over(Looked())
    async with asyncio.timeout(60):
        with watch.on(HERE) as watcher:
            waiting = asyncio.ensure_future(watcher.wait(LONG))
            await asyncio.sleep(0)
            watch.stop()
            with pytest.raises(Unavailable):
                await waiting
        with watch.on(HERE) as late, pytest.raises(Unavailable):
            await late.wait(LONG)
        watch.open()
        with watch.on(HERE) as again:
            assert await again.wait(0) is False
            looking = watch._looking
            await watch.aclose()
    assert looking is not None
    assert looking.done(), "it looks no more"


async def test_an_engine_that_is_started_again_lets_people_wait_again() -> None:
    """An application may be served twice by one process: closing it the first time is not for ever."""
    async with house() as h:
        await h.engine.aclose()
        await h.engine.start()
        with h.engine._watch.on(HERE) as watcher:
            watcher.wake()
            assert await watcher.wait(LONG) is False
