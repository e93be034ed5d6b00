"""A server is killed at each of its failpoints. Another one goes on, and every promise is kept.

What ran is counted in a file, and what was told is remembered by the customer (`world`, `customer`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_gate.failpoints import EVERY, Failpoint, Place
from tests.crash.customer import Customer
from tests.crash.ground import Ground
from tests.crash.nursery import Nursery, Replica
from tests.crash.trail import trail
from tests.crash.world import World, dumped, orders_of, world
from tests.product.kit import TIMEOUT
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("B5", "B9")]

ORDERS = {
    "order one": orders_of(("look", "L1"), ("refund", "A1"), ("ship", "A2")),
    "order two": orders_of(("refund", "B1"), ("refund", "B2")),
    "order three": orders_of(("stall", "C1")),
    "order four": orders_of(("fuse", "D1")),
}
PLAN = {"A1": True, "A2": True, "B1": True, "B2": False, "C1": True, "D1": True, "P0": True}


@dataclass
class Street:
    """A replica that is about to die. ``there``: where the other one is; ``follow``: the same, after the first died."""

    world: World
    first: Replica
    there: Callable[[], str]
    follow: Callable[[], Awaitable[str]]

    def customer(self) -> Customer:
        return self.world.customer(self.first, self.follow, plan=dict(PLAN))


stores = pytest.mark.parametrize("ground", ["sqlite", "postgres"], indirect=True)
Scene = Callable[[Street], Awaitable[Customer]]


async def shopping(street: Street) -> Customer:
    """Everything that is asked is answered, every way."""
    customer = street.customer()
    await customer.orders("order one")
    await customer.settled()
    await customer.orders("order two")
    await customer.decided()
    await customer.settled()
    await customer.orders("pay")
    await customer.settled()
    return customer


async def stalling(street: Street) -> Customer:
    """A tool is at work while leases are renewed and stops are looked for: both are done within a second."""
    customer = street.customer()
    await customer.orders("order three")
    await customer.decided()
    return customer


async def stopping(street: Street) -> Customer:
    """A run at the other replica is stopped from here."""
    customer = street.customer()
    here, there = street.first.url, street.there()
    await customer.orders("order three")
    customer.url = there
    work = asyncio.create_task(customer.decided())
    async with asyncio.timeout(TIMEOUT):
        while not street.world.ran():
            await customer.records()
    canceller = street.customer()
    canceller.url = here
    await canceller.surely(lambda: canceller.cancelled(customer.thread_id))
    await work
    return customer


async def renaming(street: Street) -> Customer:
    """Its thread gets a title."""
    customer = street.customer()
    await customer.orders("order two")
    await customer.surely(lambda: customer.renamed("Refunds"))
    assert (await customer.get(f"/threads/{customer.thread_id}"))["title"] == "Refunds"
    return customer


async def deleting(street: Street) -> Customer:
    """A thread goes, and begins anew. What had been decided in it stays decided."""
    customer = street.customer()
    await customer.orders("order one")
    await customer.settled()
    (first, *_) = await customer.records()
    await customer.surely(customer.deleted)
    response = await customer.http.post(f"{customer.url}/approvals/{first['id']}", json={"approved": True})
    assert response.status_code in (404, 410)
    customer.messages.clear()
    customer.told.results.clear()
    return customer


async def fusing(street: Street) -> Customer:
    """It dies in the middle of a tool."""
    customer = street.customer()
    await customer.orders("order four")
    await customer.settled()
    return customer


SCENES: dict[Place, Scene] = {
    Place.RENEW: stalling,
    Place.STOPPED: stalling,
    Place.STOP: stopping,
    Place.DELIVER: stalling,
    Place.RENAME: renaming,
    Place.DELETE: deleting,
}
UNREACHED = {Place.NOTE, Place.SWEEP, Place.EPOCH}
"""What a server doesn't do in these scenes: a command does it, or it comes once an hour, or nobody does it yet."""
POINTS = [point for point in EVERY if point.place not in UNREACHED]
ONCE = SCENES.keys() | {Place.SAVE, Place.PASS, Place.CLOSE}
"""What `shopping` does not come to a second time."""
AGAIN = [Failpoint(point.side, point.place, 2) for point in POINTS if point.place not in ONCE]


@pytest.fixture
async def street(replicas: Nursery, ground: Ground, tmp_path: Path) -> AsyncIterator[World]:
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        yield found


async def walk(found: World, ground: Ground, scene: Scene, **first: Any) -> None:
    """Play a scene whose first replica dies in it; then say one thing more, and look whether all promises are kept.

    Where replicas are apart, the other one is there from the beginning, and waits until the lease of the dead one ends.
    """
    dies = found.replica(machine="first" * ground.apart, **first)
    others: list[Replica] = []
    deaths: list[str] = []

    def there() -> str:
        if not others:
            others.append(found.replica(machine="second" * ground.apart, stalls=False))
        return others[0].url

    async def follow() -> str:
        if not deaths:
            await dies.gone()
            ground.lapse()
            deaths.append("first")
        return there()

    if ground.apart:
        there()
    async with asyncio.timeout(2 * TIMEOUT):
        customer = await scene(Street(found, dies, there, follow))
        customer.url = await follow()
        await customer.settled()
        done = await customer.orders("thanks")
        assert (done[-1]["type"], done.text) == ("RUN_FINISHED", "Done.")
    broken = await found.broken([customer])
    broken += (await trail(ground.url, {record["id"]: record["state"] for record in await customer.records()})).broken
    assert not broken, dumped(broken, found)
    assert found.passed_on() <= 1


@pytest.mark.parametrize(
    ("ground", "point"),
    [*(("sqlite", point) for point in (*POINTS, *AGAIN)), *(("postgres", point) for point in POINTS)],
    ids=str,
    indirect=["ground"],
)
async def test_killed_at_a_failpoint(street: World, ground: Ground, point: Failpoint) -> None:
    await walk(street, ground, SCENES.get(point.place, shopping), failpoint=str(point))


@stores
async def test_killed_in_the_middle_of_a_tool(street: World, ground: Ground) -> None:
    await walk(street, ground, fusing, fused=True)
    assert [(effect.tool, effect.order) for effect in street.ran()] == [("fuse", "D1")]


@stores
async def test_a_customer_whose_servers_live_gets_everything(street: World) -> None:
    """What the others are measured by: each order took effect once."""
    alive = street.replica()

    async def nowhere() -> str:
        raise AssertionError(f"it died: {street.log()}")

    customer = await shopping(Street(street, alive, lambda: alive.url, nowhere))
    assert sorted(effect.order for effect in street.ran()) == ["A1", "A2", "B1"]
    assert await street.broken([customer]) == []
    assert {record["state"] for record in await customer.records()} == {"done", "rejected"}
    assert street.passed_on() == 1
