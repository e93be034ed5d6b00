"""Two replicas over Valkey, which is emptied, started again, or away for a while: runs go on, readers get no gap."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_gate.bus.base import Bus, FellBehind, Opening, Reader, Signal
from agui_gate.bus.redis import RedisWire
from agui_gate.bus.shared.bus import SharedBus
from agui_gate.errors import Unavailable
from tests.bus.test_contract import Then, frame, kept, late, reader_of, said, say, to_the_end, until
from tests.product.kit import product
from tests.product.shop import Shop, refund, script
from tests.proxy import Proxy
from tests.requirements import shows
from tests.servers import Valkey

pytestmark = [pytest.mark.anyio, shows("B17")]

KEPT = 300.0


def bus_at(port: int) -> SharedBus:
    return SharedBus(RedisWire(f"redis://127.0.0.1:{port}", KEPT))


@pytest.fixture
async def proxy(valkey: Valkey) -> AsyncIterator[Proxy]:
    async with Proxy(valkey.port) as made:
        yield made


@pytest.fixture
async def replicas(proxy: Proxy) -> AsyncIterator[tuple[SharedBus, SharedBus]]:
    """Those of two replicas."""
    made = (bus_at(proxy.port), bus_at(proxy.port))
    for bus in made:
        await bus.start()
    yield made
    for bus in made:
        await bus.aclose()


@pytest.fixture
async def another(proxy: Proxy) -> AsyncIterator[SharedBus]:
    """That of a third one."""
    made = bus_at(proxy.port)
    await made.start()
    yield made
    await made.aclose()


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
    async with asyncio.timeout(30):
        while not come.is_set():
            telling.tell(signal)
            await asyncio.wait([asyncio.ensure_future(come.wait())], timeout=0.05)


async def back(bus: SharedBus) -> None:
    """Until the bus can be asked again."""
    async with asyncio.timeout(30):
        while True:
            try:
                await bus.find("nothing")
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


async def test_emptied_in_the_middle_of_a_run(
    replicas: tuple[SharedBus, SharedBus], another: SharedBus, valkey: Valkey
) -> None:
    here, there = replicas
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


async def test_emptied_when_a_run_is_over(replicas: tuple[SharedBus, SharedBus], valkey: Valkey) -> None:
    here, there = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    publisher.end()
    assert await to_the_end(await reader_of(there)) == said(0, 10)
    valkey.flush()
    assert await there.find("run") is None
    assert await there.read("run") is None
    assert await to_the_end(await reader_of(here)) == said(0, 10)
    await follows(here, there)


async def test_started_again_in_the_middle_of_a_run(replicas: tuple[SharedBus, SharedBus], valkey: Valkey) -> None:
    here, there = replicas
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    valkey.kill()
    say(publisher, 10, 20)
    valkey.start()
    assert await until(reader, len(said(10, 20))) == said(10, 20)
    await back(there)
    publisher.opened(Opening(20, Then("answered"), {}))
    joined = asyncio.ensure_future(to_the_end(await late(there)))
    say(publisher, 20, 25)
    publisher.end()
    assert await to_the_end(reader) == said(20, 25)
    assert await joined == b'opening 20 ["answered"] {}\n\n' + said(20, 25)
    await follows(here, there)
    await hears(there, here)


async def test_away_and_back(replicas: tuple[SharedBus, SharedBus], proxy: Proxy) -> None:
    here, there = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    await proxy.away()
    say(publisher, 10, 20)
    assert await until(await reader_of(here), len(said(0, 20))) == said(0, 20), "where it runs, it is read"
    with pytest.raises(Unavailable):
        await there.read("run")
    begun_meanwhile = await here.open("other", "alice", "t2")
    begun_meanwhile.append(frame(0))
    begun_meanwhile.end()
    await proxy.restore()
    assert await until(reader, len(said(10, 20))) == said(10, 20)
    publisher.end()
    assert await to_the_end(reader) == b""
    await kept(there, 20)
    other = await there.read("other")
    assert other is not None
    assert await to_the_end(other) == frame(0)
    await follows(here, there)
    await hears(there, here)


async def test_closing_while_it_is_away_ends_soon(proxy: Proxy) -> None:
    bus = bus_at(proxy.port)
    await bus.start()
    publisher = await bus.open("run", "alice", "t")
    await proxy.away()
    publisher.append(frame(0))
    publisher.end()
    async with asyncio.timeout(20):
        await bus.aclose()


async def test_an_approval_while_it_is_away(proxy: Proxy) -> None:
    """The product goes on: what was asked is answered, and what is approved runs once."""
    shop = Shop()
    async with product(shop.tools, script(refund(), after="Refunded."), bus=bus_at(proxy.port)) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        await proxy.away()
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert (done.text, shop.orders) == ("Refunded.", ["A1"])
        await proxy.restore()
        p.assert_clean()
