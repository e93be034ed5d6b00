"""Valkey is emptied, or killed and started again, under whole server processes: it carries what is told, and nothing
that has to last. So runs go on, answers count once, and what is told elsewhere is told again when it is back.
"""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.crash.ground import on_postgres
from tests.crash.nursery import Nursery, nursery
from tests.crash.trail import trail
from tests.crash.world import World, orders_of, world
from tests.product.kit import TIMEOUT, Chat, Product, streamed
from tests.product.live import Following, connect, rest, resuming, starting
from tests.product.test_approval_events import watching
from tests.replicas.place import moved
from tests.requirements import shows
from tests.support.servers import Postgres, Valkey

pytestmark = [pytest.mark.anyio, shows("B5", "B6", "B9", "B17")]

Json = dict[str, Any]
YES, NO = {"approved": True}, {"approved": False}
ORDERS = {f"order {order}": orders_of(("refund", order)) for order in ("A1", "A2", "A3", "A4")} | {
    f"order {order}": orders_of(("wait", order)) for order in ("W1", "W2")
}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with nursery(tmp_path_factory.mktemp("replicas") / "log") as found:
        yield found


@dataclass
class Scene:
    """Two replicas, ``here`` and ``there``, on PostgreSQL, with Valkey as bus."""

    world: World
    store: str
    valkey: Valkey
    here: Product
    there: Product
    door: Path

    def ran(self) -> Counter[str]:
        """How often each order took effect."""
        return Counter(effect.order for effect in self.world.ran())

    async def asks(self, order: str) -> tuple[Chat, str]:
        """A thread here in which a call waits for somebody."""
        chat = self.here.chat()
        (interrupt,) = (await chat.say(f"order {order}")).interrupts
        return chat, interrupt["id"]

    @asynccontextmanager
    async def at_work(self, order: str) -> AsyncIterator[tuple[Chat, Following]]:
        """A run here whose tool waits at the door."""
        chat, waits = await self.asks(order)
        answer = [{"interruptId": waits, "status": "resolved", "payload": YES}]
        async with starting(self.here, chat, resume=answer) as run:
            async with asyncio.timeout(TIMEOUT):
                while order not in self.ran():
                    await self.here.get("/healthz")
            yield chat, run

    async def open_the_door(self) -> None:
        """Let the tool go on."""
        await asyncio.to_thread(self.door.write_bytes, b"")

    async def followed(self, run_key: str) -> None:
        """Wait until this run, which is at work here, is read there as it goes on."""
        async with asyncio.timeout(TIMEOUT):
            while not await self._is_followed(run_key):
                pass

    async def _is_followed(self, run_key: str) -> bool:
        async with resuming(self.there, run_key) as reader:
            if reader.status != 200:
                assert reader.status in (404, 410, 503)
                return False
            try:
                await reader.until("RUN_STARTED")
            except (httpx2.HTTPError, StopAsyncIteration):  # hung up on
                return False
            await self.open_the_door()
            assert (await reader.end()).text == "Done."
            return True


@pytest.fixture
async def scene(
    replicas: Nursery, postgres: Postgres, valkey: Valkey, database: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    ground, door = on_postgres(postgres, database), tmp_path / "door"
    os.mkfifo(door)
    async with world(replicas, tmp_path, ground, ORDERS) as found:
        here, there = [
            Product(found.emulator, None, found.replica(machine=name, bus=valkey.url, door=str(door)).url, found.client)
            for name in ("here", "there")
        ]
        yield Scene(found, ground.url, valkey, here, there, door)


@asynccontextmanager
async def emptied(valkey: Valkey) -> AsyncIterator[None]:
    """`FLUSHALL`."""
    await asyncio.to_thread(valkey.flush)
    yield


@asynccontextmanager
async def killed(valkey: Valkey) -> AsyncIterator[None]:
    """It is away within, and comes back empty."""
    await asyncio.to_thread(valkey.kill)
    yield
    await asyncio.to_thread(valkey.start)


@pytest.mark.parametrize("fault", [emptied, killed])
async def test_what_goes_on_and_what_waits_outlives_it(scene: Scene, fault: Any) -> None:
    async with watching(scene.there) as page:
        later = await goes_on(scene, fault)
        while True:
            name, record = await page.next()
            assert name in ("approval", "waiting")
            if name == "approval" and (record["id"], record["state"]) == (later, "done"):
                return


async def goes_on(scene: Scene, fault: Any) -> str:
    """All that is true before, within and after. Returns one of the approvals that outlived it."""
    here, there = scene.here, scene.there
    (one, by_hand), (two, in_a_run), (_, later) = [await scene.asks(order) for order in ("A1", "A2", "A3")]
    async with scene.at_work("W1") as (chat, run), resuming(there, run.run_key) as reader:
        await reader.until("RUN_STARTED")
        async with fault(scene.valkey):
            assert (await there.decide(by_hand, YES))["state"] == "done"
            assert (await here.decide(by_hand, NO))["status_code"] == 409
            assert (await moved(two, there).resume((in_a_run, YES))).text == "Done."
            _, meanwhile = await scene.asks("A4")
            for p in (here, there):
                waiting = {record["id"] for record in (await p.get("/approvals"))["approvals"]}
                assert waiting == {later, meanwhile}
        await scene.open_the_door()
        assert (await run.end()).text == "Done."
        with suppress(httpx2.HTTPError):  # what it has not heard may be lost, and then it is hung up on
            await reader.end()
    assert "".join(run.frames).startswith("".join(reader.frames)), "but it is never told anything else"
    assert await rest(here, run.run_key) == "".join(run.frames)
    for ended in (one, two, chat):
        shown = [streamed((await p.get(f"/threads/{ended.thread_id}"))["messages"]) for p in (here, there)]
        assert shown[0] == shown[1]
        assert (await connect(there, ended))[-1]["type"] == "RUN_FINISHED"

    async with scene.at_work("W2") as (_, run):
        await scene.followed(run.run_key)
        assert (await run.end()).text == "Done."
    for approval_id in (later, meanwhile):
        answers = await asyncio.gather(*(p.decide(approval_id, YES) for p in (here, there) * 3))
        assert sorted({answer["status_code"] for answer in answers}) == [200, 409]
    assert scene.ran() == dict.fromkeys(("A1", "A2", "A3", "A4", "W1", "W2"), 1)
    states = {record["id"]: record["state"] for record in (await there.get("/approvals?state=all"))["approvals"]}
    assert set(states.values()) == {"done"}
    assert (await trail(scene.store, states)).broken == []
    assert not scene.world.emulator.refusals
    return later
