"""Replicas whose bus, over PostgreSQL or Valkey, is killed, emptied, cut off, silent, or away for a while.

Runs go on, readers get no gap, and when it is back all is as before without a restart.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import pytest

from agui_gate.bus.base import Bus, FellBehind, Opening, Reader, Signal
from agui_gate.bus.postgres import PostgresWire
from agui_gate.bus.redis import RedisWire
from agui_gate.bus.replicas import bus as shared_bus
from agui_gate.bus.replicas import follower, sender
from agui_gate.bus.replicas.bus import SharedBus
from agui_gate.errors import Unavailable
from tests.bus.test_contract import Then, frame, kept, late, reader_of, said, say, to_the_end, until
from tests.product.kit import product
from tests.product.shop import Shop, refund, script
from tests.requirements import shows
from tests.support.proxy import Proxy
from tests.support.servers import Postgres, Server, Valkey

pytestmark = [pytest.mark.anyio, shows("B17")]

KEPT = 300.0


class Far(NamedTuple):
    """A server of a bus, behind a proxy. ``bus`` makes that of one more replica."""

    server: Server
    proxy: Proxy
    bus: Callable[[], SharedBus]


@pytest.fixture(params=["redis", "postgres"])
async def far(request: pytest.FixtureRequest) -> AsyncIterator[Far]:
    if request.param == "redis":
        valkey: Valkey = request.getfixturevalue("valkey")
        async with Proxy(valkey.port) as proxy:
            yield Far(valkey, proxy, lambda: SharedBus(RedisWire(f"redis://127.0.0.1:{proxy.port}", KEPT)))
        return
    tables: str = request.getfixturevalue("tables")
    postgres: Postgres = request.getfixturevalue("postgres")
    async with Proxy(postgres.port) as proxy:
        url = tables.replace(f":{postgres.port}/", f":{proxy.port}/")
        yield Far(postgres, proxy, lambda: SharedBus(PostgresWire(url, KEPT)))


Three = tuple[SharedBus, SharedBus, SharedBus]


@pytest.fixture
async def replicas(far: Far) -> AsyncIterator[Three]:
    """Those of three replicas."""
    made = (far.bus(), far.bus(), far.bus())
    for bus in made:
        await bus.start()
    yield made
    for bus in made:
        await bus.aclose()


only_redis = pytest.mark.parametrize("far", ["redis"], indirect=True)
only_postgres = pytest.mark.parametrize("far", ["postgres"], indirect=True)


async def rest(reader: Reader) -> bytes | None:
    """What it reads to the end; None if it is told that it has fallen behind."""
    try:
        return await to_the_end(reader)
    except FellBehind:
        reader.close()
        return None


async def hears(listening: SharedBus, telling: Bus) -> None:
    """Until a signal comes through, which is told again and again."""
    come = asyncio.Event()
    signal = Signal("written", "alice", "t")
    listening.listen(lambda heard: come.set() if heard == signal else None)
    async with asyncio.timeout(60):
        while not come.is_set():
            telling.tell(signal)
            await asyncio.wait([asyncio.ensure_future(come.wait())], timeout=0.05)


async def back(bus: SharedBus) -> None:
    """Until the bus can be asked again."""
    async with asyncio.timeout(60):
        while True:
            try:
                await bus.find("run")
            except Unavailable:
                continue
            return


async def follows(here: SharedBus, there: SharedBus) -> None:
    """A new run is read elsewhere while it goes on."""
    publisher = await here.open("new", "alice", "t")
    publisher.append(frame(0))
    reader = await there.read("new")
    assert reader is not None
    assert await until(reader, len(frame(0))) == frame(0)
    publisher.append(frame(1))
    assert await until(reader, len(frame(1))) == frame(1)
    publisher.end()
    assert await to_the_end(reader) == b""


async def test_twenty_readers_on_another_replica(replicas: Three) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    readers = [asyncio.ensure_future(to_the_end(await reader_of(there))) for _ in range(20)]
    for number in range(0, 300, 10):
        say(publisher, number, number + 10)
        await asyncio.sleep(0)
    publisher.end()
    assert set(await asyncio.gather(*readers)) == {said(0, 300)}


async def test_away_and_back(replicas: Three, far: Far) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    await far.proxy.away()
    say(publisher, 10, 20)
    assert await until(await reader_of(here), len(said(0, 20))) == said(0, 20), "where it runs, it is read"
    with pytest.raises(Unavailable):
        await there.read("run")
    begun_meanwhile = await here.open("other", "alice", "t2")
    begun_meanwhile.append(frame(0))
    begun_meanwhile.end()
    await far.proxy.restore()
    assert await until(reader, len(said(10, 20))) == said(10, 20)
    publisher.end()
    assert await to_the_end(reader) == b""
    await kept(there, 20)
    other = await there.read("other")
    assert other is not None
    assert await to_the_end(other) == frame(0)
    await follows(here, there)
    await hears(there, here)


async def test_killed_and_started_again_in_the_middle_of_a_run(replicas: Three, far: Far) -> None:
    """What it had is lost: nobody is given a gap for that."""
    here, there, another = replicas
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    far.server.kill()
    say(publisher, 10, 20)
    assert await until(await reader_of(here), len(said(0, 20))) == said(0, 20), "where it runs, it is read"
    far.server.start()
    assert await until(reader, len(said(10, 20))) == said(10, 20), "it had read what is lost"
    await back(another)
    assert await rest(await reader_of(another)) is None, "it is told, and gets no gap"
    publisher.opened(Opening(20, Then("answered"), {}))
    joined = asyncio.ensure_future(to_the_end(await late(another)))
    say(publisher, 20, 25)
    publisher.end()
    assert await to_the_end(reader) == said(20, 25)
    assert await joined == b'opening 20 ["answered"] {}\n\n' + said(20, 25)
    await follows(here, there)
    await hears(there, here)


async def test_connections_that_are_cut_again_and_again(replicas: Three, far: Far) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    for number in range(10, 100, 10):
        await until(reader, len(said(number - 10, number)))
        far.proxy.cut()
        say(publisher, number, number + 10)
    publisher.end()
    assert await to_the_end(reader) == said(90, 100)
    await back(there)
    await kept(there, 100)
    assert await to_the_end(await reader_of(there)) == said(0, 100)
    await hears(there, here)


async def test_a_network_that_says_nothing(replicas: Three, far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    far.proxy.hold()
    with monkeypatch.context() as patched:
        for module, name in ((sender, "SEND_SECONDS"), (follower, "READ_SECONDS"), (shared_bus, "CALL_SECONDS")):
            patched.setattr(module, name, 0.3)
        say(publisher, 10, 20)
        assert await until(await reader_of(here), len(said(0, 20))) == said(0, 20), "where it runs, it is read"
        with pytest.raises(Unavailable):
            await there.find("other")
    far.proxy.let_go()
    assert await until(reader, len(said(10, 20))) == said(10, 20)
    publisher.end()
    assert await to_the_end(reader) == b""
    await follows(here, there)


async def test_closing_while_it_is_away_ends_soon(far: Far) -> None:
    bus = far.bus()
    await bus.start()
    publisher = await bus.open("run", "alice", "t")
    await far.proxy.away()
    publisher.append(frame(0))
    publisher.end()
    async with asyncio.timeout(60):
        await bus.aclose()


async def test_an_approval_while_it_is_away(far: Far) -> None:
    """The product goes on: what was asked is answered, and what is approved runs once."""
    shop = Shop()
    async with product(shop.tools, script(refund(), after="Refunded."), bus=far.bus()) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        await far.proxy.away()
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert (done.text, shop.orders) == ("Refunded.", ["A1"])
        await far.proxy.restore()
        p.assert_clean()


@only_postgres
async def test_started_again_in_good_order(replicas: Three, far: Far) -> None:
    here, there, another = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    far.server.stop()
    say(publisher, 10, 20)
    with pytest.raises(Unavailable):
        await another.read("run")
    begun_meanwhile = await here.open("other", "alice", "t2")
    begun_meanwhile.append(frame(0))
    begun_meanwhile.end()
    far.server.start()
    assert await until(reader, len(said(10, 20))) == said(10, 20)
    publisher.end()
    assert await to_the_end(reader) == b""
    await back(another)
    assert await to_the_end(await reader_of(another)) == said(0, 20), "nothing of it is lost"
    other = await another.read("other")
    assert other is not None
    assert await to_the_end(other) == frame(0)
    await follows(here, there)
    await hears(there, here)


@only_redis
async def test_emptied_in_the_middle_of_a_run(replicas: Three, valkey: Valkey) -> None:
    here, there, another = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    valkey.flush()
    say(publisher, 10, 20)
    assert await until(reader, len(said(10, 20))) == said(10, 20), "it had read what is lost"
    assert await rest(await reader_of(another)) is None, "it is told, and gets no gap"
    behind = await reader_of(another, 9)
    publisher.append(frame(20))
    publisher.end()
    assert await to_the_end(reader) == said(20, 21)
    assert await to_the_end(behind) == said(10, 21)
    assert await to_the_end(await reader_of(here)) == said(0, 21), "where it runs, nothing is lost"
    await follows(here, there)


@only_redis
async def test_emptied_when_a_run_is_over(replicas: Three, valkey: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    publisher.end()
    assert await to_the_end(await reader_of(there)) == said(0, 10)
    valkey.flush()
    with monkeypatch.context() as patched:
        patched.setattr(shared_bus, "UNKNOWN_SECONDS", 0.1)
        assert await there.find("run") is None
        assert await there.read("run") is None
    assert await to_the_end(await reader_of(here)) == said(0, 10)
    await follows(here, there)
