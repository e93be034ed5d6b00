"""The places at which tests kill processes: all writes are among them."""

import os
import signal
from typing import get_args

import pytest

from agui_gate import Agent, create_app
from agui_gate.bus.memory import MemoryBus
from agui_gate.config.settings import Settings
from agui_gate.core.approvals import State
from agui_gate.http import app as applications
from agui_gate.stores.base import Change, StoreLifecycle
from agui_gate.stores.capabilities import FullStore
from agui_gate.stores.memory import MemoryStore
from agui_gate.turns import tool_execution
from tests.product.inprocess import Parrot
from tests.stores.support import Clock
from tests.support.failpoints import (
    EVERY,
    WRITES,
    Failpoint,
    GuardedBus,
    GuardedStore,
    Place,
    Side,
    Trap,
    arm_server,
    parse,
)
from tests.support.house import DONE, LOOKS, House

pytestmark = pytest.mark.anyio

OTHERS = {*vars(StoreLifecycle), "bus_url", "neighbours", "operators", "trail"}
PROTOCOLS = [base for base in FullStore.__mro__ if base.__module__.startswith("agui_gate")]
READS = {
    "approval",
    "at_work",
    "backlog",
    "counted_calls",
    "deliveries",
    "deputies",
    "expire",
    "freezes",
    "grants",
    "is_agreed",
    "list_approvals",
    "list_threads",
    "orphans",
    "people_approval",
    "people_waiting",
    "waiting_people",
    "emergencies",
    "read_events",
    "read_heads",
    "read_ledger",
    "tally",
    "read_approvals",
    "read_calls",
    "read_thread",
    "tombstones",
    "unknown",
    "waiting_ids",
}
"""What else a store does. Some of it expires what is overdue, which is done again by whoever reads next."""


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that this process was sent, instead of being sent them."""
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(number) if pid == os.getpid() else None)
    monkeypatch.setitem(vars(applications), "Engine", vars(applications)["Engine"])
    monkeypatch.setitem(vars(tool_execution), "run_tool", vars(tool_execution)["run_tool"])
    return sent


def test_every_method_of_a_store_that_writes_is_a_failpoint() -> None:
    methods = {name for protocol in PROTOCOLS for name in vars(protocol) if name[0] != "_"} - OTHERS
    assert set(WRITES) | READS == methods, "a new method is one or the other"
    assert not set(WRITES) & READS


def test_every_kind_of_write_has_its_place() -> None:
    commits = [Change(approvals=[object()]), Change(), Change(status="finished")]  # type: ignore[list-item]  # is not looked at
    places = {WRITES["commit"](None, change, "run") for change in commits}
    places |= {WRITES["move"]("id", to) for to in State if to is not State.PENDING}
    places |= {WRITES[name]() for name in WRITES.keys() - {"commit", "move"}}
    assert places == set(Place) - {Place.TOOL, Place.EVENT, Place.TERMINAL}


@pytest.mark.parametrize("point", EVERY, ids=str)
def test_a_failpoint_is_read_as_it_is_written(point: Failpoint) -> None:
    assert parse(str(point)) == point
    assert parse(f"{point.side} {point.place}") == point
    assert len(set(EVERY)) == len(EVERY) == len(Place) * len(get_args(Side))


async def test_the_process_ends_at_the_wanted_time(kills: list[int]) -> None:
    store = GuardedStore(MemoryStore(), Trap("after lease 2").reach)
    await store.start()
    await store.lease_thread("ann", "one", "agent", "run 1")
    assert kills == []
    await store.lease_thread("ann", "two", "agent", "run 2")
    await store.lease_thread("ann", "three", "agent", "run 3")
    assert kills == [signal.SIGKILL]
    assert store.now() > 0


@pytest.mark.parametrize(("place", "after"), [("event 2", 2), ("terminal", 3)])
async def test_events_and_the_last_one_are_told_apart(kills: list[int], place: str, after: int) -> None:
    bus = GuardedBus(MemoryBus(), Trap(f"after {place}").reach)
    publisher = await bus.open("run", "ann", "one")
    frames = [b'data: {"type":"RUN_STARTED"}', b'data: {"type":"CUSTOM"}', b'data: {"type":"RUN_FINISHED"}']
    died = []
    for frame in frames:
        publisher.append(frame)
        died.append(bool(kills))
    publisher.end()
    assert died.index(True) == after - 1


async def test_an_application_heeds_it(kills: list[int]) -> None:
    arm_server("before renew")
    app = create_app(Agent(name="a", model=Parrot()), store="memory://", settings=Settings())
    await app.state.engine.start()
    await app.state.engine.store.renew(["run"])
    assert kills == [signal.SIGKILL]
    await app.state.engine.aclose()


@pytest.mark.parametrize(("side", "ran"), [("before", 0), ("after", 1)])
async def test_a_tool_is_a_failpoint(kills: list[int], monkeypatch: pytest.MonkeyPatch, side: str, ran: int) -> None:
    arm_server(f"{side} tool")
    clock = Clock()
    house = House(MemoryStore(clock=clock), clock, LOOKS, DONE)
    await house.engine.start()
    house.go.set()
    killed_after: list[int] = []
    monkeypatch.setattr(os, "kill", lambda *_: killed_after.append(house.ran))
    live = await house.start("look")
    assert live.task is not None
    await live.task
    assert (killed_after, house.ran) == ([ran], 1)
    await house.engine.aclose()
