"""What a customer does while a server is about to die, by the place at which it dies (`SCENES`)."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any

from agui_gate.stores import open_store, sqlite_path
from agui_gate.stores.retention import DAY_MS, FORGET
from tests.crash.customer import Customer
from tests.crash.ground import Ground
from tests.crash.nursery import Replica
from tests.crash.world import World, orders_of
from tests.product.kit import TIMEOUT
from tests.support.failpoints import Place

ORDERS = {
    "order one": orders_of(("look", "L1"), ("refund", "A1"), ("ship", "A2")),
    "order two": orders_of(("refund", "B1"), ("refund", "B2")),
    "order three": orders_of(("stall", "C1")),
    "order four": orders_of(("fuse", "D1")),
}
PLAN = {"A1": True, "A2": True, "B1": True, "B2": False, "C1": True, "D1": True, "P0": True}


class Street:
    """A replica that is about to die (``first``), and another one, which outlives it.

    Where replicas are apart, the other one is there from the beginning, and waits until the lease of the dead one ends.
    """

    def __init__(self, world: World, ground: Ground, **first: Any) -> None:
        self.world, self.ground, self._how = world, ground, first
        self._died = False
        if ground.apart:
            _ = self.other

    @cached_property
    def first(self) -> Replica:
        """It is started when it is looked for."""
        return self.world.replica(machine="first" * self.ground.apart, **self._how)

    @cached_property
    def other(self) -> Replica:
        """The same."""
        return self.world.replica(machine="second" * self.ground.apart, stalls=False)

    async def follow(self) -> str:
        """Where the other one is, once the first has died."""
        if not self._died:
            await self.first.gone()
            self.ground.lapse()
            self._died = True
        return self.other.url

    def customer(self, at: Replica | None = None) -> Customer:
        """One who comes to the first one, or ``at`` another, and knows where to go when that is dead."""
        return self.world.customer(at or self.first, self.follow, plan=dict(PLAN))


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
    here, there = street.first.url, street.other.url
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


async def noting(street: Street) -> Customer:
    """A backup was restored, and somebody answers the questions of before, which is kept and not heeded."""
    customer = street.customer()
    await customer.orders("order two")
    old = [record["id"] for record in await customer.pending()]
    if (path := sqlite_path(street.ground.url)) is not None:
        os.unlink(f"{path}-lock")  # so the restore does not see that the server goes on
    store = open_store(street.ground.url)
    await store.start()
    await store.begin_epoch()
    await store.aclose()
    for approval_id in old:
        said = await customer.surely(lambda i=approval_id: customer.decide_one(i, {"approved": True}))  # type: ignore[misc]  # a default binds
        assert said["error"]["code"] == "approval_refused", said
    assert street.world.ran() == []
    assert {record["id"] for record in await customer.pending()}.isdisjoint(old)
    return customer


async def sweeping(street: Street) -> Customer:
    """What is old is forgotten, in more than one step; what waits for somebody is not, however old."""
    customer, other = street.customer(street.other), street.customer(street.other)
    await customer.orders("order two")
    await other.orders("order one")
    await other.settled()
    for _ in range(FORGET):
        await street.customer(street.other).orders("hello")
    street.ground.age(2 * DAY_MS)
    await street.follow()
    assert len(await customer.pending()) == 2
    left = len((await customer.get("/threads?limit=100"))["threads"])
    street.world.replica(machine="third" * street.ground.apart, forgets=1)
    assert left in (2, 3, FORGET + 2), "a step is done wholly, or not at all"
    async with asyncio.timeout(TIMEOUT):
        while len((await customer.get("/threads?limit=100"))["threads"]) > 1:
            pass
    return customer


SCENES: dict[Place, Scene] = {
    Place.RENEW: stalling,
    Place.STOPPED: stalling,
    Place.STOP: stopping,
    Place.DELIVER: stalling,
    Place.RENAME: renaming,
    Place.DELETE: deleting,
    Place.NOTE: noting,
    Place.SWEEP: sweeping,
}
"""At all others, one is `shopping`."""
