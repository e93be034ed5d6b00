"""The bus in memory: for how long it keeps what."""

import pytest

from agui_gate.bus.base import Publisher
from agui_gate.bus.memory import LOG_BYTES, MemoryBus
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B17")]


class Clock:
    """Time that is told what it is."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def said(bus: MemoryBus, key: str, size: int = 10, thread_id: str = "t", principal: str = "alice") -> Publisher:
    publisher = await bus.open(key, principal, thread_id)
    publisher.append(b"." * size)
    publisher.end()
    return publisher


async def test_a_run_is_kept_while_it_lives_and_a_while_after(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    publisher = await bus.open("a", "alice", "t")
    clock.now = 1e6
    await bus.expire()
    assert await bus.find("a") is not None
    publisher.end()
    clock.now += 9.9
    assert await bus.find("a") is not None
    clock.now += 0.2
    assert await bus.find("a") is None
    assert not bus._runs
    assert not bus._ended
    assert bus._ended_bytes == 0


async def test_expire_needs_no_reader(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    for number in range(5):
        await said(bus, f"run-{number}")
        clock.now += 3
    await bus.expire()
    assert list(bus._runs) == ["run-2", "run-3", "run-4"]


async def test_the_oldest_go_when_all_together_are_too_large(clock: Clock) -> None:
    bus = MemoryBus(kept_bytes=1000 + 3 * LOG_BYTES, clock=clock)
    alive = await bus.open("alive", "alice", "t")
    alive.append(b"." * 5000)
    for number in range(5):
        await said(bus, f"run-{number}", 300)
    assert list(bus._runs) == ["alive", "run-2", "run-3", "run-4"]
    assert bus._ended_bytes == 900 + 3 * LOG_BYTES


async def test_who_has_the_most_loses_it_and_nobody_else(clock: Clock) -> None:
    """T13."""
    bus = MemoryBus(kept_bytes=1000 + 4 * LOG_BYTES, clock=clock)
    await said(bus, "his", 100, principal="bob")
    for number in range(5):
        await said(bus, f"run-{number}", 300)
    assert list(bus._runs) == ["his", "run-2", "run-3", "run-4"]


async def test_a_run_ends_once(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    (await said(bus, "a")).end()
    clock.now = 11
    await bus.expire()
    assert (bus._runs, bus._ended_bytes) == ({}, 0)


async def test_all_who_read_a_run_that_ended_share_its_frames(clock: Clock) -> None:
    bus = MemoryBus(clock=clock)
    await said(bus, "a", 100_000)
    readers = [await bus.read("a") for _ in range(2)]
    first, second = [await reader.read() for reader in readers if reader is not None]
    assert first is second


async def test_what_is_unknown_changes_nothing(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    assert await bus.find("nothing") is None
    await bus.forget("alice", "nothing")
    assert not bus._ended


async def test_the_runs_of_a_deleted_thread_go_and_no_others(clock: Clock) -> None:
    bus = MemoryBus(clock=clock)
    for key, thread_id in (("a", "t"), ("b", "u"), ("c", "t")):
        await said(bus, key, thread_id=thread_id)
    await bus.open("d", "alice", "t")
    await bus.forget("bob", "t")
    assert list(bus._runs) == ["a", "b", "c", "d"]
    await bus.forget("alice", "t")
    assert list(bus._runs) == ["b", "d"]
    assert bus._ended_bytes == 10 + LOG_BYTES
