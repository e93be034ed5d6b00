"""The bus in memory: for how long it keeps what."""

import pytest

from agui_gate.bus.memory import LOG_BYTES, MemoryBus
from tests.requirements import shows

pytestmark = shows("B17")


class Clock:
    """Time that is told what it is."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def said(bus: MemoryBus, key: str, size: int = 10, thread_id: str = "t", principal: str = "alice") -> None:
    bus.open(key, principal, thread_id).log.append(b"." * size)
    bus.ended(key)


def test_a_run_is_kept_while_it_lives_and_a_while_after(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    opened = bus.open("a", "alice", "t")
    clock.now = 1e6
    bus.expire()
    assert bus.find("a") is opened
    bus.ended("a")
    assert opened.log.ended
    clock.now += 9.9
    assert bus.find("a") is opened
    clock.now += 0.2
    assert bus.find("a") is None
    assert not bus._logs
    assert not bus._ended
    assert bus._ended_bytes == 0


def test_expire_needs_no_reader(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    for number in range(5):
        said(bus, f"run-{number}")
        clock.now += 3
    bus.expire()
    assert list(bus._logs) == ["run-2", "run-3", "run-4"]


def test_the_oldest_go_when_all_together_are_too_large(clock: Clock) -> None:
    bus = MemoryBus(kept_bytes=1000 + 3 * LOG_BYTES, clock=clock)
    alive = bus.open("alive", "alice", "t")
    alive.log.append(b"." * 5000)
    for number in range(5):
        said(bus, f"run-{number}", 300)
    assert list(bus._logs) == ["alive", "run-2", "run-3", "run-4"]
    assert bus._ended_bytes == 900 + 3 * LOG_BYTES


def test_who_has_the_most_loses_it_and_nobody_else(clock: Clock) -> None:
    """Issue 9, line 13."""
    bus = MemoryBus(kept_bytes=1000 + 4 * LOG_BYTES, clock=clock)
    said(bus, "his", 100, principal="bob")
    for number in range(5):
        said(bus, f"run-{number}", 300)
    assert list(bus._logs) == ["his", "run-2", "run-3", "run-4"]


def test_a_run_ends_once(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    said(bus, "a")
    bus.ended("a")
    clock.now = 11
    bus.expire()
    assert (bus._logs, bus._ended_bytes) == ({}, 0)


def test_what_is_unknown_or_ended_twice_changes_nothing(clock: Clock) -> None:
    bus = MemoryBus(kept_seconds=10, clock=clock)
    assert bus.find("nothing") is None
    bus.ended("nothing")
    assert not bus._ended


def test_the_logs_of_a_deleted_thread_go_and_no_others(clock: Clock) -> None:
    bus = MemoryBus(clock=clock)
    for key, thread_id in (("a", "t"), ("b", "u"), ("c", "t")):
        said(bus, key, thread_id=thread_id)
    bus.open("d", "alice", "t")
    bus.forget("bob", "t")
    assert list(bus._logs) == ["a", "b", "c", "d"]
    bus.forget("alice", "t")
    assert list(bus._logs) == ["b", "d"]
    assert bus._ended_bytes == 10 + LOG_BYTES
