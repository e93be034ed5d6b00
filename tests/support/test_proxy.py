"""The TCP proxy of the tests."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.proxy import Proxy

pytestmark = pytest.mark.anyio


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1000):
        writer.write(data)
    writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with (
        asyncio.timeout(60),
        await asyncio.start_server(_echo, "127.0.0.1", 0) as server,
        Proxy(server.sockets[0].getsockname()[1]) as made,
    ):
        yield made


async def there_and_back(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"there and back")
    writer.write_eof()
    assert await reader.read() == b"there and back"
    writer.close()


async def test_it_forwards_both_ways_to_the_end(proxy: Proxy) -> None:
    await there_and_back(proxy)
    assert proxy.accepted == 1


async def test_what_is_cut_is_closed_and_new_ones_are_taken(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"a")
    assert await reader.read(1) == b"a"
    proxy.cut()
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    await there_and_back(proxy)


async def test_what_is_about_to_reach_the_other_end_is_cut_too(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connecting, is_cut = asyncio.open_connection, asyncio.Event(), asyncio.Event()

    async def slowly(*target: Any) -> Any:
        connecting.set()
        await is_cut.wait()
        return await connect(*target)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "open_connection", slowly)
        reader, writer = await connect("127.0.0.1", proxy.port)
        await connecting.wait()
        proxy.cut()
        is_cut.set()
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    await there_and_back(proxy)


async def test_while_it_is_away_it_refuses(proxy: Proxy) -> None:
    await proxy.away()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", proxy.port)
    await proxy.restore()
    await there_and_back(proxy)


async def test_what_is_held_arrives_later(proxy: Proxy) -> None:
    proxy.delay = 0.001
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    proxy.hold()
    writer.write(b"late")
    reading = asyncio.ensure_future(reader.readexactly(4))
    done, _ = await asyncio.wait([reading], timeout=0.05)
    assert not done
    proxy.let_go()
    assert await reading == b"late"
    writer.close()
