"""PostgreSQL goes away in the middle, or its connections do: nothing runs twice, and nothing has to be started again.

The servers are processes of their own (`tests/crash`). Between them and PostgreSQL is a proxy, which loses messages.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.crowd import nowhere
from tests.crash.customer import Away, Customer
from tests.crash.ground import Ground, on_postgres
from tests.crash.nursery import Nursery, Replica, nursery
from tests.crash.trail import trail
from tests.crash.world import World, dumped, orders_of, world
from tests.faults.trips import Hold, Lost, Trip
from tests.product.kit import TIMEOUT
from tests.requirements import shows
from tests.support.proxy import Proxy
from tests.support.servers import Pgbouncer, Postgres, needs_pgbouncer

pytestmark = [pytest.mark.anyio, shows("B5", "B6", "B9")]

MESSAGES = 60
"""More than one conversation sends to PostgreSQL."""
CLAIM = rb"'claimed'"
ORDERS = {
    f"order {lost} {n};": orders_of(("refund", f"{lost}{n}"), ("ship", f"{lost}{n}s"))
    for n in range(MESSAGES)
    for lost in ("question", "answer")
} | {"order one": orders_of(("refund", "A1")), "order two": orders_of(("wait", "B1"))}
PLAN = {call["arguments"]["order_id"]: True for calls in ORDERS.values() for call in calls}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("replicas") / "log") as found:
        yield found


@dataclass
class Scene:
    """``here`` is a replica that speaks to PostgreSQL through ``proxy``, ``there`` one that needs none."""

    world: World
    ground: Ground
    proxy: Proxy
    here: Replica
    there: Callable[[], Replica]
    door: Path

    def customer(self, at: Replica | None = None) -> Customer:
        customer = self.world.customer(at or self.here, nowhere, plan=dict(PLAN))
        customer.elsewhere = customer.until_ready
        return customer

    async def assert_sound(self, *customers: Customer) -> None:
        """After one word more, all promises were kept. One thread has one customer of it."""
        states: dict[str, str] = {}
        for customer in customers:
            await customer.settled()
            assert (await customer.orders("thanks")).text == "Done."
            states |= {record["id"]: record["state"] for record in await customer.records()}
        broken = await self.world.broken(customers) + (await trail(self.ground.url, states)).broken
        assert not broken, dumped(broken, self.world)


@pytest.fixture
async def scene(
    request: pytest.FixtureRequest, replicas: Nursery, postgres: Postgres, database: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    ground, door = on_postgres(postgres, database), tmp_path / "door"
    os.mkfifo(door)
    async with (
        world(replicas, tmp_path, ground, ORDERS) as found,
        Proxy(postgres.port) as proxy,
        AsyncExitStack() as end,
    ):
        store, bus = ground.url.replace(f":{postgres.port}/", f":{proxy.port}/"), None
        if getattr(request, "param", "") == "pgbouncer":
            pooler = Pgbouncer(proxy.port)
            end.callback(pooler.close)
            pooler.start()
            store, bus = pooler.url(ground.url), ground.url  # nothing is heard through it
        here = found.replica(machine="here", store=store, bus=bus, door=str(door))
        await found.customer(here, nowhere).until_ready()
        yield Scene(found, ground, proxy, here, lambda: found.replica(machine="there", door=str(door)), door)


@pytest.mark.parametrize("scene", ["", pytest.param("pgbouncer", marks=needs_pgbouncer)], indirect=True)
@pytest.mark.parametrize("lost", ["question", "answer"])
async def test_each_message_to_postgres_is_lost_once(scene: Scene, lost: Lost) -> None:
    customers = []
    for number in range(1, MESSAGES):
        customer = scene.customer()
        customers.append(customer)
        trip = Trip(scene.proxy, number, lost)
        async with asyncio.timeout(TIMEOUT):
            await customer.until_ready()
            await customer.orders(f"order {lost} {number};")
            await customer.settled()
        if not trip.sprung.is_set():
            break
    assert 8 < len(customers) < MESSAGES
    Trip(scene.proxy, -1, lost)
    await scene.assert_sound(*customers)
    ran = {effect.order for effect in scene.world.ran()}
    assert {f"{lost}{n}" for n in range(1, len(customers) + 1)} >= ran - {order for order in ran if order[-1] == "s"}


async def asked(scene: Scene, text: str = "order one") -> tuple[Customer, str]:
    """A customer whose refund waits."""
    customer = scene.customer()
    (interrupt,) = (await customer.orders(text)).interrupts
    return customer, interrupt["id"]


async def decide(customer: Customer, approval_id: str) -> str | None:
    """Approve it; the state that is told, or None if the server says that it can't."""
    try:
        state: str = (await customer.decide_one(approval_id, {"approved": True}))["state"]
    except Away:
        return None
    return state


async def approve_there(scene: Scene, customer: Customer, approval_id: str) -> str:
    """Somebody else approves it at another replica, once the lease of the first one is over; the state that is told."""
    scene.ground.lapse()
    other = scene.customer(scene.there())
    other.thread_id = customer.thread_id
    state: str = (await other.decide_one(approval_id, {"approved": True}))["state"]
    return state


async def test_a_claim_that_is_held_up_until_its_lease_is_over_runs_once(scene: Scene) -> None:
    """PostgreSQL ends its transaction after a while. Then either of the two may claim the call."""
    customer, approval_id = await asked(scene)
    hold = Hold(scene.proxy, CLAIM)
    async with asyncio.timeout(TIMEOUT):
        late = asyncio.create_task(decide(customer, approval_id))
        await hold.held.wait()
        assert scene.world.ran() == []
        told = await approve_there(scene, customer, approval_id)
        hold.let_go()
        assert {told, await late} in ({"done"}, {"done", "claimed"}, {"done", None})
    assert [effect.order for effect in scene.world.ran()] == ["A1"]
    await scene.assert_sound(customer)


async def test_a_claim_that_was_lost_is_not_taken_for_the_one_of_somebody_else(scene: Scene) -> None:
    """Two people of one name say yes. One of the two claims never arrived, and the other one's tool is at work."""
    customer, approval_id = await asked(scene, "order two")
    trip = Trip(scene.proxy, 1, "question", CLAIM)
    async with asyncio.timeout(TIMEOUT):
        lost = asyncio.create_task(decide(customer, approval_id))
        await trip.sprung.wait()
        await scene.proxy.away()
        saved = asyncio.create_task(approve_there(scene, customer, approval_id))
        while not scene.world.ran():
            await customer.alive()
        await scene.proxy.restore()
        while not lost.done() and len(scene.world.ran()) == 1:
            await customer.alive()
        assert [effect.order for effect in scene.world.ran()] == ["B1"]
        assert await lost in (None, "claimed")
        await asyncio.to_thread(scene.door.write_bytes, b"")
        assert await saved == "done"
    await scene.assert_sound(customer)


@pytest.mark.parametrize("scene", ["", pytest.param("pgbouncer", marks=needs_pgbouncer)], indirect=True)
async def test_a_claim_that_was_saved_runs_though_nobody_said_so(scene: Scene) -> None:
    customer, approval_id = await asked(scene)
    trip = Trip(scene.proxy, 1, "answer", CLAIM)
    async with asyncio.timeout(TIMEOUT):
        assert (await customer.decide_one(approval_id, {"approved": True}))["state"] == "done"
    assert trip.sprung.is_set()
    assert [effect.order for effect in scene.world.ran()] == ["A1"]
    await scene.assert_sound(customer)


@asynccontextmanager
async def at_work(scene: Scene) -> AsyncIterator[tuple[Customer, "asyncio.Task[None]"]]:
    """A customer whose approved tool has taken effect, and waits at the door; and the task that reads its run."""
    customer = scene.customer()
    await customer.orders("order two")
    (record,) = await customer.pending()
    async with asyncio.timeout(TIMEOUT):
        run = asyncio.create_task(customer.resumed(record["id"]))
        while not scene.world.ran():
            await customer.records()
        yield customer, run
        await run


@pytest.mark.parametrize("crash", [False, True], ids=["restarted", "crashed"])
async def test_postgres_is_restarted_while_a_tool_runs(scene: Scene, postgres: Postgres, crash: bool) -> None:
    """What came of the tool is saved when it is back, and told by the same run of the same process."""
    async with at_work(scene) as (customer, _):
        (postgres.kill if crash else postgres.stop)()
        assert (await customer.http.get(f"{customer.url}/readyz")).status_code == 503
        await asyncio.to_thread(scene.door.write_bytes, b"")
        postgres.start()
    assert customer.streams[-1].text == "Done."
    assert list(customer.told.results.values()) == ["refunded B1"]
    assert [effect.order for effect in scene.world.ran()] == ["B1"]
    await scene.assert_sound(customer)


async def test_nothing_is_decided_while_postgres_is_away(scene: Scene, postgres: Postgres) -> None:
    customer, approval_id = await asked(scene)
    postgres.stop()
    answer = await customer.http.post(f"{customer.url}/approvals/{approval_id}", json={"approved": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    run = await customer.resume((approval_id, {"approved": True}))
    assert run.status == 503
    assert scene.world.ran() == []
    postgres.start()
    await customer.until_ready()
    assert (await customer.decide_one(approval_id, {"approved": True}))["state"] == "done"
    await scene.assert_sound(customer)


async def test_a_slow_network_is_only_slow(scene: Scene) -> None:
    scene.proxy.delay = 0.02
    customer, approval_id = await asked(scene)
    assert (await customer.decide_one(approval_id, {"approved": True}))["state"] == "done"
    await scene.assert_sound(customer)
