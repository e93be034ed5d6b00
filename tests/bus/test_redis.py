"""The wire over Redis and Valkey: what it keeps, how it says what is wrong, and how it comes back."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from agui_gate.bus import redis as module
from agui_gate.bus.redis import RedisWire
from agui_gate.bus.replicas.wire import Batch, Note, Piece, Run, Wanted
from agui_gate.errors import ConfigurationError, Unavailable
from tests.bus.certificates import tls
from tests.requirements import shows
from tests.support.proxy import Proxy
from tests.support.servers import Valkey, free_port

pytestmark = [pytest.mark.anyio, shows("B17")]

RUN = Run("run", "alice", "t", "r1", "here")
KEPT = 300.0


class Ears:
    """What a wire hears."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.missed = 0
        self._more = asyncio.Event()

    def hear(self, payload: bytes) -> None:
        self.heard.append(payload)
        self._more.set()

    def again(self) -> None:
        self.missed += 1
        self._more.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not enough():
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def wire(url: str, address: str = "here", ears: Ears | None = None) -> AsyncIterator[RedisWire]:
    made, ears = RedisWire(url, KEPT), ears or Ears()
    await made.start(address, ears.hear, ears.again)
    try:
        yield made
    finally:
        await made.aclose()


def batch(first: int, after: int, *, keep: int = 0, ended: bool = False) -> Batch:
    return Batch(RUN, first, after, b"".join(b"%d;" % number for number in range(first, after)), keep, ended)


async def pieces(made: RedisWire, seq: int) -> list[Piece]:
    (said,) = await made.read([Wanted("run", seq)])
    assert said is not None
    return list(said.pieces)


# --- what is kept


async def test_frames_are_kept_once_and_read_from_any_of_them(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        for each in ([batch(0, 3)], [batch(0, 3), batch(3, 4)], [batch(3, 4)]):
            await made.send(each, [])
        whole = [Piece(0, b"0;1;2;"), Piece(3, b"3;")]
        assert [await pieces(made, seq) for seq in range(5)] == [whole, whole, whole, whole[1:], []]
        assert await made.read([Wanted("other", 0), Wanted("run", 4)]) == [None, ([], 4, False)]


async def test_what_need_not_be_kept_goes_in_whole_pieces(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        await made.send([batch(0, 3), batch(3, 6), batch(6, 7, keep=3)], [])
        assert [piece.first for piece in await pieces(made, 0)] == [3, 6]
        await made.send([batch(7, 8, keep=5)], [])
        assert [piece.first for piece in await pieces(made, 0)] == [3, 6, 7], "5 is wanted, and is in the first piece"
        head = await made.find("run")
        assert head is not None
        assert (head.run, head.first, head.next, head.ended) == (RUN, 3, 8, False)


async def test_a_run_without_frames_is_known_and_so_is_its_end(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        assert await made.find("run") is None
        await made.send([batch(0, 0)], [])
        assert await made.find("run") == (RUN, 0, 0, False)
        await made.send([batch(0, 2), batch(2, 2, ended=True)], [])
        assert await made.find("run") == (RUN, 0, 2, True)


async def test_much_is_read_in_several_goes(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        await made.send([batch(number, number + 1) for number in range(300)], [])
        seen, goes = 0, 0
        while found := await pieces(made, seen):
            seen, goes = found[-1].first + 1, goes + 1
        assert (seen, goes) == (300, 3)


async def test_a_thread_is_forgotten_but_for_what_goes_on(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        for key, who, ended in (("a", "alice", True), ("b", "alice", False), ("c", "bob", True)):
            await made.send([Batch(Run(key, who, "t", "", "here"), 0, 1, b".", 0, ended)], [])
        await made.forget("alice", "t")
        await made.forget("alice", "t")
        assert [await made.find(key) is not None for key in "abc"] == [False, True, True]


async def test_openings_replace_one_another(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        assert await made.opening("run") is None
        await made.put_opening("run", 1, b"one")
        await made.put_opening("run", 12, b"two\nlines")
        assert await made.opening("run") == (12, b"two\nlines")


async def test_every_key_goes_by_itself(valkey: Valkey) -> None:
    async with wire(valkey.url) as made, Redis.from_url(valkey.url) as client:
        await made.send([batch(0, 1), Batch(Run("b", "alice", "t", "", "here"), 0, 1, b".", 0, True)], [])
        await made.put_opening("run", 0, b".")
        keys: Any = await client.keys()
        left: dict[bytes, int] = {key: await client.ttl(key) for key in keys}
        assert {key.removeprefix(b"agui-gate:").partition(b":")[0] for key in left} >= {b"run", b"frames", b"ended"}
        assert all(0 < seconds <= module.RUNNING_SECONDS for seconds in left.values()), left
        assert left[b"agui-gate:frames:b"] <= KEPT, "it has ended"


# --- notes


async def test_notes_reach_whom_they_are_for_after_what_was_sent_with_them(valkey: Valkey) -> None:
    one, two = Ears(), Ears()
    async with wire(valkey.url, "one", one) as sender, wire(valkey.url, "two", two):
        await sender.send([batch(0, 1)], [Note("two", b"for two"), Note("", b"for all"), Note("three", b"lost")])
        await two.until(lambda: len(two.heard) == 2)
        await one.until(lambda: len(one.heard) == 1)
    assert (one.heard, two.heard) == ([b"for all"], [b"for two", b"for all"])
    assert (one.missed, two.missed) == (0, 0)


async def test_hearing_goes_on_when_the_server_was_away(valkey: Valkey) -> None:
    ears = Ears()
    async with Proxy(valkey.port) as proxy, wire(f"redis://127.0.0.1:{proxy.port}", ears=ears) as made:
        await proxy.away()
        with pytest.raises(Unavailable):
            await made.send([batch(0, 1)], [])
        with pytest.raises(Unavailable):
            await made.find("run")
        await proxy.restore()
        await ears.until(lambda: ears.missed >= 1)
        await made.send([batch(0, 1)], [Note("here", b"back")])
        await ears.until(lambda: ears.heard == [b"back"])
        assert await pieces(made, 0) == [Piece(0, b"0;")]


async def test_a_server_that_says_nothing_any_more_is_left(valkey: Valkey, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is closed, and nothing comes: a cable that was pulled."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.05)
    ears = Ears()
    async with Proxy(valkey.port) as proxy, wire(f"redis://127.0.0.1:{proxy.port}", ears=ears) as made:
        before = proxy.accepted
        proxy.hold()
        async with asyncio.timeout(60):
            while proxy.accepted == before:  # noqa: ASYNC110  (a proxy has no event)
                await asyncio.sleep(0)
        proxy.let_go()
        await ears.until(lambda: ears.missed > 0)
        await made.send([], [Note("here", b"back")])
        await ears.until(lambda: b"back" in ears.heard)


async def test_a_server_that_was_emptied_or_restarted_keeps_what_comes(valkey: Valkey) -> None:
    ears = Ears()
    async with wire(valkey.url, ears=ears) as made:
        await made.send([batch(0, 3)], [])
        valkey.flush()
        assert await made.find("run") is None
        await made.send([batch(3, 5)], [])
        assert await made.find("run") == (RUN, 3, 5, False)
        valkey.kill()
        valkey.start()
        await ears.until(lambda: ears.missed >= 1)
        await made.send([batch(5, 6)], [Note("here", b"back")])
        await ears.until(lambda: ears.heard == [b"back"])
        assert await made.find("run") == (RUN, 5, 6, False)


async def test_a_call_that_is_cancelled_spoils_no_connection(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        await made.send([batch(0, 1)], [])
        for turns in range(12):
            asked = asyncio.ensure_future(made.find("run"))
            for _ in range(turns):
                await asyncio.sleep(0)
            asked.cancel()
            await asyncio.wait([asked])
        assert await asyncio.gather(*(made.find("run") for _ in range(20))) == [(RUN, 0, 1, False)] * 20


async def test_a_server_that_is_full_is_away(valkey: Valkey) -> None:
    async with wire(valkey.url) as made:
        valkey.ask("CONFIG SET maxmemory 1")
        try:
            with pytest.raises(Unavailable):
                await made.send([batch(0, 1)], [])
        finally:
            valkey.ask("CONFIG SET maxmemory 0")
        await made.send([batch(0, 1)], [])


# --- what is wrong at the start


@asynccontextmanager
async def speaking(what: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server that answers ``what`` to anything."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1024):
            writer.write(what)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def refused(url: str) -> str:
    """The one sentence that a wire says at its start."""
    with pytest.raises(ConfigurationError) as error:
        await wire(url).__aenter__()
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.message.endswith(".")
    return error.value.message


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis:/x", "must be a URL such as redis://host:6379/0"),
        ("redis://:secret@host:port", "must be a URL such as redis://host:6379/0"),
        ("redis://:secret@host/db", "must be a URL such as redis://host:6379/0"),
        ("redis://:secret@host?no_such_option=1", "redis://host:6379 has an option behind its ? that is wrong"),
        ("redis://:secret@host?socket_timeout=soon", "redis://host:6379 has an option behind its ? that is wrong"),
        ("rediss://:secret@host?ssl_cert_reqs=maybe", "rediss://host:6379 has an option behind its ? that is wrong"),
        ("rediss://:secret@[::1]?ssl_ca_certs=gone.pem", "rediss://[::1]:6379 names can't be used (No such file"),
        ("redis://:secret@127.0.0.1:1", "redis://127.0.0.1:1 can't be reached"),
    ],
)
async def test_a_url_that_is_wrong(url: str, said: str) -> None:
    assert said in await refused(url)


async def test_a_password_that_is_wrong_or_missing() -> None:
    server = Valkey("--requirepass", "right")
    server.start()
    try:
        where = f"127.0.0.1:{server.port}"
        for who in ("", "alice:secret@", ":secret@"):
            assert "requires another user or password" in await refused(f"redis://{who}{where}")
        async with wire(f"redis://:right@{where}") as made:
            assert await made.find("run") is None
    finally:
        server.close()


async def test_a_user_without_rights(valkey: Valkey) -> None:
    where = f"127.0.0.1:{valkey.port}"
    for number, rights in enumerate(("~* +@read", "~other:* +@all", "~* +@all resetchannels")):
        valkey.ask(f"ACL SETUSER u{number} on >secret {rights} +ping")
        assert "lacks rights" in await refused(f"redis://u{number}:secret@{where}")
        valkey.ask(f"ACL DELUSER u{number}")


async def test_a_user_with_the_rights_of_the_documentation(valkey: Valkey) -> None:
    rights = "~agui-gate:* &agui-gate:* +@string +@stream +@sortedset +@pubsub +@transaction +@connection +del +expire"
    valkey.ask(f"ACL SETUSER narrow on >right {rights}")
    ears = Ears()
    async with wire(f"redis://narrow:right@127.0.0.1:{valkey.port}", ears=ears) as made:
        await made.send([batch(0, 1, ended=True)], [Note("here", b"heard")])
        await ears.until(lambda: ears.heard == [b"heard"])
        await made.put_opening("run", 0, b".")
        assert (await made.opening("run"), await pieces(made, 0)) == ((0, b"."), [Piece(0, b"0;")])
        await made.forget("alice", "t")
        assert await made.find("run") is None
    valkey.ask("ACL DELUSER narrow")


async def test_a_database_that_is_not_there(valkey: Valkey) -> None:
    assert "refuses a command that is needed" in await refused(f"{valkey.url}/99")


async def test_a_cluster_is_refused_at_the_start() -> None:
    server = Valkey("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    server.start()
    try:
        assert "refuses a command that is needed" in await refused(f"redis://127.0.0.1:{server.port}")
    finally:
        server.close()


async def test_one_that_speaks_to_its_own_machine_alone() -> None:
    """Only the first sentence of what it explains is told."""
    said = (
        b"-DENIED Running in protected mode because no password is set. In this mode much is so. You may do it all.\r\n"
    )
    async with speaking(said) as port:
        assert (await refused(f"redis://127.0.0.1:{port}")).endswith("protected mode because no password is set.")


async def test_what_answers_is_something_else() -> None:
    async with speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert "is neither Redis nor Valkey" in await refused(f"redis://127.0.0.1:{port}")


async def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "redis.asyncio", None)
    assert 'pip install "agui-gate[redis]"' in await refused("redis://127.0.0.1")


# --- TLS


@asynccontextmanager
async def encrypted(valkey: Valkey, context: ssl.SSLContext) -> AsyncIterator[int]:
    """Valkey behind TLS, which this build of it lacks: the port."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", valkey.port)

        async def one_way(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                target.write(data)
            target.close()

        await asyncio.gather(one_way(reader, far_writer), one_way(far_reader, writer), return_exceptions=True)

    server = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_tls_with_a_ca_of_our_own(valkey: Valkey, tmp_path: Path) -> None:
    context, ca = tls(tmp_path)
    ears = Ears()
    async with encrypted(valkey, context) as port:
        async with wire(f"rediss://127.0.0.1:{port}?ssl_ca_certs={ca}", ears=ears) as made:
            await made.send([batch(0, 2)], [Note("here", b"safe")])
            await ears.until(lambda: ears.heard == [b"safe"])
            assert await pieces(made, 0) == [Piece(0, b"0;1;")]
        assert "is not trusted; name the CA" in await refused(f"rediss://:secret@127.0.0.1:{port}")
        assert "can't be reached" in await refused(f"redis://:secret@127.0.0.1:{port}")


async def test_tls_to_a_server_of_another_name(valkey: Valkey, tmp_path: Path) -> None:
    context, ca = tls(tmp_path, "127.0.0.2")
    async with encrypted(valkey, context) as port:
        assert "is not trusted" in await refused(f"rediss://127.0.0.1:{port}?ssl_ca_certs={ca}")
