"""The store's one clock: what happens to leases and approvals when somebody sets the machine's (T9)."""

from collections.abc import AsyncIterator, Callable

import pytest

from agui_gate.core.approvals import State
from agui_gate.errors import IllegalMove, ThreadBusy
from agui_gate.stores import clock as clocks
from agui_gate.stores import lease
from agui_gate.stores.base import LEASE_MS
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.stores.sqlite import SQLiteStore
from agui_gate.stores.sqlite import store as sqlite_store
from tests.requirements import shows
from tests.stores.support import Clock, ask, gated, pending

pytestmark = [pytest.mark.anyio, shows("T9")]

HOUR = 3_600_000


class Machine:
    """Two clocks: one that somebody may set, and one that nobody can."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.ticks, self.boot = Clock(1_000_000_000), Clock(5_000), "first"
        monkeypatch.setattr(clocks, "boot_clock", self.ticks)
        monkeypatch.setattr(clocks, "wall_clock", self.wall)
        for module in (lease, sqlite_store):
            monkeypatch.setattr(module, "boot_id", lambda: self.boot)

    def pass_time(self, ms: int) -> None:
        self.wall.advance(ms)
        self.ticks.advance(ms)

    def reboot(self) -> None:
        self.ticks.now, self.boot = 0, "second"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.fixture(params=["memory", "sqlite"])
async def make(request: pytest.FixtureRequest, machine: Machine, path: str) -> AsyncIterator[Callable[[], FullStore]]:
    made: list[FullStore] = []

    def new() -> FullStore:
        kind = MemoryStore if request.param == "memory" else lambda **options: SQLiteStore(path, **options)
        made.append(kind(clock=clocks.wall_clock))
        return made[-1]

    yield new
    for store in made:
        await store.aclose()


async def test_setting_the_clock_forwards_ends_no_lease(make: Callable[[], FullStore], machine: Machine) -> None:
    store = make()
    await store.start()
    await store.lease_thread("alice", "t", "support", "r1")
    machine.wall.advance(HOUR)
    with pytest.raises(ThreadBusy):
        await store.lease_thread("alice", "t", "support", "r2")
    machine.pass_time(LEASE_MS)
    assert (await store.lease_thread("alice", "t", "support", "r2")).run_status == "interrupted"


async def test_setting_the_clock_back_prolongs_no_lease(make: Callable[[], FullStore], machine: Machine) -> None:
    store = make()
    await store.start()
    await store.lease_thread("alice", "t", "support", "r1")
    machine.wall.advance(-HOUR)
    machine.pass_time(LEASE_MS)
    assert (await store.lease_thread("alice", "t", "support", "r2")).run_status == "interrupted"


async def test_setting_the_clock_back_brings_no_approval_back(make: Callable[[], FullStore], machine: Machine) -> None:
    """Nobody has looked since it expired, so no record says so yet."""
    store = make()
    await store.start()
    await ask(store, gated(expires_at=1000))
    machine.pass_time(1000)
    store.now()
    machine.wall.advance(-HOUR)
    with pytest.raises(IllegalMove):
        await store.move("a1", State.CLAIMED)
    assert await pending(store, "alice") == []
    found = await store.approval("alice", "a1")
    assert found is not None
    assert found.state is State.EXPIRED


async def test_what_the_clock_says_never_goes_back_and_goes_on(make: Callable[[], FullStore], machine: Machine) -> None:
    store = make()
    await store.start()
    before = store.now()
    machine.wall.advance(-HOUR)
    machine.pass_time(10)
    assert store.now() == before + 10
    machine.wall.advance(3 * HOUR)
    assert store.now() == before + 10 + 2 * HOUR


async def test_a_process_that_starts_later_has_the_same_clock(path: str, machine: Machine) -> None:
    one, two = SQLiteStore(path, clock=clocks.wall_clock), SQLiteStore(path, clock=clocks.wall_clock)
    await one.start()
    await ask(one, gated(expires_at=1000))
    machine.pass_time(1000)
    machine.wall.advance(-HOUR)
    await two.start()
    assert two.now() == one.now()
    with pytest.raises(IllegalMove):
        await two.move("a1", State.CLAIMED)
    await one.aclose()
    await two.aclose()


async def test_after_a_new_start_of_the_machine_what_had_expired_is_expired(path: str, machine: Machine) -> None:
    """Then the wall clock is believed again, also if it was an hour ahead before."""
    store = SQLiteStore(path, clock=clocks.wall_clock)
    await store.start()
    await ask(store, gated("a1", expires_at=1000), gated("a2", expires_at=HOUR))
    await store.lease_thread("alice", "t", "support", "r1")
    machine.pass_time(1000)
    await store.renew(["r1"])
    await store.aclose()
    machine.reboot()
    machine.wall.advance(-HOUR)
    store = SQLiteStore(path, clock=clocks.wall_clock)
    await store.start()
    assert store.now() == machine.wall.now
    assert [approval.id for approval in await pending(store, "alice")] == ["a2"]
    await store.aclose()


async def test_no_lease_outlives_the_boot_it_was_given_in(path: str, machine: Machine) -> None:
    """The boot clock begins again, so that its end may lie far in the future."""
    machine.ticks.now = 30 * 24 * HOUR
    store = SQLiteStore(path, clock=clocks.wall_clock)
    await store.start()
    await store.lease_thread("alice", "t", "support", "r1")
    machine.reboot()
    other = SQLiteStore(path, clock=clocks.wall_clock)
    await other.start()
    assert (await other.lease_thread("alice", "t", "support", "r2")).run_status == "interrupted"
    await other.aclose()
    await store.aclose()


def test_the_boot_clock_goes_on() -> None:
    assert 0 < clocks.boot_clock() <= clocks.boot_clock() < clocks.wall_clock()
