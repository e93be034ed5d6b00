"""Two replicas over PostgreSQL, which is killed, started again, or away for a while: runs go on, readers get no gap."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_gate.bus.base import Opening
from agui_gate.bus.postgres import PostgresWire
from agui_gate.bus.shared import bus as shared_bus
from agui_gate.bus.shared import follower, sender
from agui_gate.bus.shared.bus import SharedBus
from agui_gate.errors import Unavailable
from tests.bus.test_contract import Then, frame, kept, late, reader_of, said, say, to_the_end, until
from tests.bus.test_redis_away import back, follows, hears, rest
from tests.product.kit import product
from tests.product.shop import Shop, refund, script
from tests.proxy import Proxy
from tests.requirements import shows
from tests.servers import Postgres

pytestmark = [pytest.mark.anyio, shows("B17")]


@pytest.fixture
async def proxy(postgres: Postgres) -> AsyncIterator[Proxy]:
    async with Proxy(postgres.port) as made:
        yield made


@pytest.fixture
def url(tables: str, postgres: Postgres, proxy: Proxy) -> str:
    """Of the database, through the proxy."""
    return tables.replace(f":{postgres.port}/", f":{proxy.port}/")


@pytest.fixture
async def replicas(url: str) -> AsyncIterator[tuple[SharedBus, SharedBus, SharedBus]]:
    """Those of three replicas."""
    first, second, third = (SharedBus(PostgresWire(url, 300.0)) for _ in range(3))
    for bus in (first, second, third):
        await bus.start()
    yield first, second, third
    for bus in (first, second, third):
        await bus.aclose()


Three = tuple[SharedBus, SharedBus, SharedBus]


async def test_twenty_readers_on_another_replica(replicas: Three) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    readers = [asyncio.ensure_future(to_the_end(await reader_of(there))) for _ in range(20)]
    for number in range(0, 300, 10):
        say(publisher, number, number + 10)
        await asyncio.sleep(0)
    publisher.end()
    assert set(await asyncio.gather(*readers)) == {said(0, 300)}


async def test_killed_in_the_middle_of_a_run(replicas: Three, postgres: Postgres) -> None:
    """After a crash the tables are empty: nobody is given a gap for that."""
    here, there, another = replicas
    publisher = await here.open("run", "alice", "t")
    publisher.opened(Opening(1, Then("asked"), {}))
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    postgres.kill()
    say(publisher, 10, 20)
    assert await until(await reader_of(here), len(said(0, 20))) == said(0, 20), "where it runs, it is read"
    postgres.start()
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


async def test_started_again_in_good_order(replicas: Three, postgres: Postgres) -> None:
    here, there, another = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    postgres.stop()
    say(publisher, 10, 20)
    with pytest.raises(Unavailable):
        await another.read("run")
    begun_meanwhile = await here.open("other", "alice", "t2")
    begun_meanwhile.append(frame(0))
    begun_meanwhile.end()
    postgres.start()
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


async def test_connections_that_are_cut_again_and_again(replicas: Three, proxy: Proxy) -> None:
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    for number in range(10, 100, 10):
        await until(reader, len(said(number - 10, number)))
        proxy.cut()
        say(publisher, number, number + 10)
    publisher.end()
    assert await to_the_end(reader) == said(90, 100)
    await back(there)
    await kept(there, 100)
    assert await to_the_end(await reader_of(there)) == said(0, 100)
    await hears(there, here)


async def test_a_network_that_says_nothing(replicas: Three, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((sender, "SEND_SECONDS"), (follower, "READ_SECONDS"), (shared_bus, "CALL_SECONDS")):
        monkeypatch.setattr(module, name, 0.3)
    here, there, _ = replicas
    publisher = await here.open("run", "alice", "t")
    say(publisher, 0, 10)
    reader = await reader_of(there)
    assert await until(reader, len(said(0, 10))) == said(0, 10)
    proxy.hold()
    say(publisher, 10, 20)
    assert await until(await reader_of(here), len(said(0, 20))) == said(0, 20), "where it runs, it is read"
    with pytest.raises(Unavailable):
        await there.find("other")
    proxy.let_go()
    assert await until(reader, len(said(10, 20))) == said(10, 20)
    publisher.end()
    assert await to_the_end(reader) == b""
    await follows(here, there)


async def test_closing_while_it_is_away_ends_soon(url: str, proxy: Proxy) -> None:
    bus = SharedBus(PostgresWire(url, 300.0))
    await bus.start()
    publisher = await bus.open("run", "alice", "t")
    await proxy.away()
    publisher.append(frame(0))
    publisher.end()
    async with asyncio.timeout(20):
        await bus.aclose()


async def test_an_approval_while_it_is_away(url: str, proxy: Proxy) -> None:
    """The product goes on: what was asked is answered, and what is approved runs once."""
    shop = Shop()
    async with product(shop.tools, script(refund(), after="Refunded."), bus=SharedBus(PostgresWire(url, 300.0))) as p:
        chat = p.chat()
        asked = await chat.say("refund A1")
        await proxy.away()
        done = await chat.resume((asked.interrupts[0]["id"], {"approved": True}))
        assert (done.text, shop.orders) == ("Refunded.", ["A1"])
        await proxy.restore()
        p.assert_clean()
