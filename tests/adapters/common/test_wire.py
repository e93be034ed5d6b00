"""Our own connections: what a provider may do on the wire comes to the same as over httpx2's own transport."""

import asyncio
import gzip
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from agui_gate.errors import ProviderError
from agui_gate_adapters.common import sockets, transport, wire
from agui_gate_adapters.common.large_requests import Pieces
from agui_gate_adapters.common.transport import MAX_BODY, bound, new_carrier
from agui_gate_adapters.common.wire import MAX_BUFFERED, MAX_OVERHEAD, Wire
from tests.adapters.subject import Subject
from tests.adapters.subjects import every_subject
from tests.adapters.support import asked, waits
from tests.bus.certificates import tls

pytestmark = pytest.mark.anyio

TIMEOUT = httpx2.Timeout(30)
SSE = b"content-type: text/event-stream\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\n" + SSE + b"transfer-encoding: chunked\r\n\r\n"
HELLO = b"5\r\nhello\r\n0\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Upstream:
    """A provider. ``heads`` are those of the requests it got, ``connections`` how many were made to it."""

    def __init__(self, serve: Serve | None = None, *answers: bytes) -> None:
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.left = 0
        self.url = ""
        self._serve = serve
        self._answers = iter(answers)

    async def request(self, reader: asyncio.StreamReader) -> None:
        """Read one request."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        self.heads.append(head)
        self.bodies.append(await reader.readexactly(length))

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection: as told, or one answer for each request until none is left."""
        self.connections += 1
        try:
            if self._serve is not None:
                await self._serve(reader, writer)
            else:
                for answer in self._answers:
                    await self.request(reader)
                    writer.write(answer)
                    await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.left += 1
            writer.close()

    @asynccontextmanager
    async def serving(self, context: ssl.SSLContext | None = None) -> AsyncIterator["Upstream"]:
        """Listen."""
        server = await asyncio.start_server(self.accept, "127.0.0.1", 0, ssl=context)
        self.url = f"http{'s' if context else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x?y=1"
        try:
            with anyio.fail_after(60):
                yield self
        finally:
            server.close()


def client(kind: str, **limits: Any) -> httpx2.AsyncClient:
    """A client over a wire of ours, or over httpx2's own transport."""
    bounds = httpx2.Limits(**limits)
    carrier = Wire(ssl.create_default_context(), bounds) if kind == "wire" else httpx2.AsyncHTTPTransport(limits=bounds)
    return httpx2.AsyncClient(transport=carrier, timeout=TIMEOUT)


both = pytest.mark.parametrize("kind", ["wire", "httpx2"])


async def post(http: httpx2.AsyncClient, url: str, content: Any = b"{}") -> bytes:
    """The body of an answer. Raises `httpx2.TransportError`."""
    async with http.stream("POST", url, content=content) as response:
        return b"".join([chunk async for chunk in response.aiter_bytes()])


FINE = {
    "chunks": CHUNKED + HELLO,
    "chunks in upper case": CHUNKED.upper().replace(b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK") + HELLO,
    "chunk extensions": CHUNKED + b'2;a=b\r\nhe\r\n3;c="d"\r\nllo\r\n0;e\r\n\r\n',
    "trailers": CHUNKED + b"5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n",
    "a length": SIZED,
    "until the end": b"HTTP/1.1 200 OK\r\n" + SSE + b"\r\nhello",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "100 first": b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED + HELLO,
    "103 twice": b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 2 + CHUNKED + HELLO,
    "more than its length": SIZED + b" and more",
    "garbage after the end": CHUNKED + HELLO + b"\x00\x01 HTTP/1.1 500 no\r\n\r\n",
    "a second answer": SIZED + SIZED.replace(b"hello", b"again"),
    "compressed": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + gzip.compress(b"hello"),
}
BROKEN = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-ty",
    "half a chunk": CHUNKED + b"5\r\nhel",
    "no last chunk": CHUNKED + b"5\r\nhello\r\n",
    "half a length": SIZED[:-2],
    "garbage": b"\x16\x03\x01\x02\x00hello, who is there?\r\n\r\n",
    "a chunk without a size": CHUNKED + b"zz\r\nhello\r\n",
    "two lengths": SIZED.replace(b"\r\n\r\n", b"\r\ncontent-length: 7\r\n\r\n"),
    "a negative length": SIZED.replace(b": 5", b": -5"),
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"x-header: some value\r\n" * 20_000,
    "a line without end": b"HTTP/1.1 200 OK\r\nx-header: " + b"v" * 400_000,
    "a chunk extension without end": CHUNKED + b"5;" + b"v" * 400_000,
    "a trailer without end": CHUNKED + b"5\r\nhello\r\n0\r\nx-header: " + b"v" * 400_000,
}


@both
@pytest.mark.parametrize("answer", FINE.values(), ids=FINE)
async def test_answers_are_read(kind: str, answer: bytes) -> None:
    async with Upstream(None, answer).serving() as upstream, client(kind) as http:
        assert await post(http, upstream.url) == b"hello"


@both
@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN)
async def test_broken_answers_are_told(kind: str, answer: bytes) -> None:
    async with Upstream(None, answer).serving() as upstream, client(kind) as http:
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)) as caught:
            await post(http, upstream.url)
    assert "header" not in str(caught.value) or kind == "httpx2"
    assert len(upstream.heads) == 1, "nothing is sent again"


async def test_interim_answers_without_end_are_told() -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * (MAX_OVERHEAD // 30)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(answer)
        with suppress(ConnectionError):
            await reader.read()  # it ends nothing by itself

    upstream = Upstream(serve)
    async with upstream.serving(), client("wire") as http:
        with pytest.raises(httpx2.RemoteProtocolError, match="too much around the body"):
            await post(http, upstream.url)


async def test_an_upgrade_is_no_answer() -> None:
    answer = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhello"
    async with Upstream(None, answer).serving() as upstream, client("wire") as http:
        with pytest.raises(httpx2.RemoteProtocolError):
            await post(http, upstream.url)


@both
@pytest.mark.parametrize("status", [204, 304, 307])
async def test_an_answer_may_have_no_body(kind: str, status: int) -> None:
    length = b"content-length: 0\r\n" if status == 307 else b""
    answer = b"HTTP/1.1 %d Fine\r\nlocation: http://elsewhere/\r\n%b\r\n" % (status, length)
    async with Upstream(None, answer, SIZED).serving() as upstream, client(kind) as http:
        assert await post(http, upstream.url) == b""
        assert await post(http, upstream.url) == b"hello"
    assert upstream.connections == 1


@both
async def test_an_answer_to_head_has_no_body(kind: str) -> None:
    answer = SIZED.removesuffix(b"hello")
    async with Upstream(None, answer, SIZED).serving() as upstream, client(kind) as http:
        assert (await http.head(upstream.url)).headers["content-length"] == "5"


PACKED = gzip.compress(b'{"error": {"message": "no"}}')


@pytest.mark.parametrize(
    ("encoding", "sent", "read"),
    [
        (b"gzip", PACKED, b'{"error": {"message": "no"}}'),
        (b"gzip", PACKED[:-8], b'{"error": {"message": "no"}}'),
        (b"gzip", gzip.compress(b"no" * 10**7), b"no" * (MAX_BODY // 2)),
        (b"gzip", b"not packed", b""),
        (b"deflate", zlib.compress(b"no"), b"no"),
        (b"deflate", zlib.compress(b"no", wbits=-15), b"no"),
        (b"br", b"\x8b\x00", b""),
        (b"identity", b"no", b"no"),
        (b"", b"no", b"no"),
        (b"utf-8", b"no", b"no"),
    ],
    ids=["whole", "cut", "large", "not packed", "deflate", "raw", "brotli", "identity", "none", "unknown"],
)
async def test_no_more_of_an_error_is_unpacked_than_is_read(encoding: bytes, sent: bytes, read: bytes) -> None:
    answer = b"HTTP/1.1 500 No\r\ncontent-encoding: %b\r\ncontent-length: %d\r\n\r\n%b" % (encoding, len(sent), sent)
    async with Upstream(None, answer).serving() as upstream, client("wire") as http:
        http.event_hooks["response"] = [bound]
        assert (await http.post(upstream.url, content=b"{}")).content == read


async def test_requests_are_written_alike() -> None:
    heads, bodies = [], []
    for kind in ("wire", "httpx2"):
        async with Upstream(None, SIZED, SIZED, SIZED).serving() as upstream, client(kind) as http:
            headers = {"X-Key": "ä b\tc".encode(), "content-type": "application/json"}
            request = http.build_request("POST", upstream.url, content=b"{1}", headers=headers)
            assert await (await http.send(request)).aread() == b"hello"
            pieces = Pieces([b"[1,", b"2]"])
            request = http.build_request(
                "POST", upstream.url, content=pieces, headers={"content-length": str(len(pieces))}
            )
            await http.send(request)
            await http.get(upstream.url)
        port = upstream.url.partition("127.0.0.1:")[2].partition("/")[0].encode()
        heads.append([head.replace(port, b"PORT") for head in upstream.heads])
        bodies.append(upstream.bodies)
    assert heads[0] == heads[1]
    assert bodies[0] == bodies[1] == [b"{1}", b"[1,2]", b""]


@pytest.mark.parametrize("size", [1, 300_000, 2_000_000])
async def test_pieces_are_written_in_their_order(size: int) -> None:
    async with Upstream(None, SIZED).serving() as upstream, client("wire") as http:
        carrier: Any = http._transport
        head = Wire.head("POST", httpx2.URL(upstream.url), [(b"host", b"x")])
        answer = await carrier.send(head, Pieces([b"[", *[b"x" * size] * 3, b"]"]), {})
        assert await answer.aread() == b"hello"
    assert upstream.bodies == [b"[%b]" % (b"x" * 3 * size)]


@both
@pytest.mark.parametrize("header", [("x-key", "a\r\nx-b: c"), ("x-key", "a\x00"), ("x key", "a")])
async def test_what_a_header_cannot_hold_is_not_sent(kind: str, header: tuple[str, str]) -> None:
    async with Upstream().serving() as upstream, client(kind) as http:
        with pytest.raises(httpx2.LocalProtocolError):
            await http.post(upstream.url, headers=[header])
    assert upstream.heads == []


# Connections that are used again.


@both
@pytest.mark.parametrize("told", [True, False], ids=["told", "not yet told"])
async def test_a_connection_that_the_provider_closed_is_not_used(kind: str, told: bool) -> None:
    closing = SIZED.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(SIZED if upstream.connections == 1 else closing)  # and closes it, said or not

    upstream = Upstream(serve)
    async with upstream.serving(), client(kind) as http:
        for _ in range(3):
            assert await post(http, upstream.url) == b"hello"
            if told:
                while upstream.left < upstream.connections:
                    await anyio.lowlevel.checkpoint()
                await anyio.wait_all_tasks_blocked()
    assert upstream.connections == 3


@both
async def test_a_request_on_a_used_connection_that_breaks_may_have_been_sent(kind: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(SIZED)
        await upstream.request(reader)  # and closes it without a word

    upstream = Upstream(serve)
    async with upstream.serving(), client(kind) as http:
        assert await post(http, upstream.url) == b"hello"
        with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
            await post(http, upstream.url)
    assert (upstream.connections, len(upstream.heads)) == (1, 2)


async def test_bytes_that_nobody_asked_for_are_no_answer_to_the_next_request() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(SIZED)
        await first.wait()
        writer.write(SIZED.replace(b"hello", b"wrong"))
        second.set()
        await upstream.request(reader)
        writer.write(SIZED)

    first, second = anyio.Event(), anyio.Event()
    upstream = Upstream(serve)
    async with upstream.serving(), client("wire") as http:
        assert await post(http, upstream.url) == b"hello"
        first.set()
        await second.wait()
        await anyio.wait_all_tasks_blocked()
        first = anyio.Event()
        first.set()
        assert await post(http, upstream.url) == b"hello"
    assert upstream.connections == 2


@both
@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_leaving_an_answer_closes_the_connection(kind: str, how: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(CHUNKED + b"5\r\nhello\r\n")
        assert await reader.read() == b""

    upstream = Upstream(serve)
    async with upstream.serving(), client(kind) as http:
        with anyio.CancelScope() as scope:
            async with http.stream("POST", upstream.url) as response:
                async for _ in response.aiter_raw():
                    if how == "close":
                        break
                    scope.cancel()
        while not upstream.left:
            await anyio.lowlevel.checkpoint()


async def test_leaving_before_the_answer_closes_the_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        scope.cancel()
        assert await reader.read() == b""

    upstream = Upstream(serve)
    async with upstream.serving(), client("wire", max_connections=1) as http:
        with anyio.CancelScope() as scope:
            await post(http, upstream.url)
        while not upstream.left:
            await anyio.lowlevel.checkpoint()
        with anyio.CancelScope() as scope:  # its place is free again
            await post(http, upstream.url)
    assert upstream.connections == 2


async def test_closing_the_client_closes_what_is_open() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(CHUNKED + b"5\r\nhello\r\n")
        assert await reader.read() == b""

    upstream = Upstream(serve)
    async with upstream.serving():
        http = client("wire")
        response = await http.send(http.build_request("POST", upstream.url), stream=True)
        await http.aclose()
        with pytest.raises(httpx2.TransportError):
            await response.aread()
        while not upstream.left:
            await anyio.lowlevel.checkpoint()


async def test_a_body_that_ends_with_the_connection_is_not_whole_where_the_client_closed_it() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\npartial")
        await reader.read()

    upstream = Upstream(serve)
    async with upstream.serving():
        http = client("wire")
        response = await http.send(http.build_request("POST", upstream.url), stream=True)
        await http.aclose()
        with pytest.raises(httpx2.ReadError):
            await response.aread()


# What is bounded.


@both
async def test_silence_ends(kind: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        if upstream.connections > 1:
            writer.write(CHUNKED + b"5\r\nhello\r\n")
        await reader.read()

    upstream = Upstream(serve)
    async with upstream.serving(), client(kind) as http:
        http.timeout = httpx2.Timeout(30, read=0.05)
        for _ in range(2):
            with pytest.raises(httpx2.ReadTimeout):
                await post(http, upstream.url)


async def test_silence_ends_as_soon_after_a_long_upload() -> None:
    """The time for sending is another one than that for an answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        await reader.read()

    upstream = Upstream(serve)
    async with upstream.serving(), client("wire") as http:
        http.timeout = httpx2.Timeout(50, read=0.05)
        with anyio.fail_after(30), pytest.raises(httpx2.ReadTimeout):
            await post(http, upstream.url, b"x" * 30_000_000)


async def test_no_more_is_read_than_somebody_takes() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await upstream.request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8000000\r\n\r\n" + b"x" * 8_000_000)
        await writer.drain()

    upstream = Upstream(serve)
    async with upstream.serving(), client("wire") as http, http.stream("POST", upstream.url) as response:
        carrier: Any = http._transport
        (connection,) = carrier._all
        read = 0
        async for chunk in response.aiter_raw():
            read += len(chunk)
            assert len(chunk) <= MAX_BUFFERED
            await anyio.wait_all_tasks_blocked()
            assert len(connection.body) <= MAX_BUFFERED + 256 * 1024
    assert read == 8_000_000


async def test_an_answer_may_come_before_all_was_sent() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SIZED.replace(b"200 OK", b"413 Too Large"))
        await upstream_closes.wait()

    upstream_closes = anyio.Event()
    pieces = Pieces([b"x" * 1_000_000] * 30)
    async with Upstream(serve).serving() as upstream, client("wire") as http:
        response = await http.post(upstream.url, content=pieces, headers={"content-length": str(len(pieces))})
        assert (response.status_code, response.content) == (413, b"hello")
        carrier: Any = http._transport
        assert carrier._idle == []
        upstream_closes.set()


@both
async def test_requests_wait_in_line(kind: str) -> None:
    async with Upstream(None, CHUNKED + HELLO, SIZED).serving() as upstream, client(kind, max_connections=1) as http:
        response = await http.send(http.build_request("POST", upstream.url), stream=True)
        http.timeout = httpx2.Timeout(30, pool=0.01)
        with pytest.raises(httpx2.PoolTimeout):
            await post(http, upstream.url)
        await response.aread()
        assert await post(http, upstream.url) == b"hello"


async def test_only_so_many_wait_for_the_next_request() -> None:
    async with Upstream(None, *[SIZED] * 4).serving() as upstream, client("wire", max_keepalive_connections=1) as http:
        carrier: Any = http._transport
        async with http.stream("POST", upstream.url) as one, http.stream("POST", upstream.url) as two:
            await one.aread()
            await two.aread()
        while len(carrier._all) > 1:
            await anyio.lowlevel.checkpoint()
        assert len(carrier._idle) == 1
        (connection,) = carrier._idle
        connection.rest(0.0)
        while carrier._all:
            await anyio.lowlevel.checkpoint()
        assert carrier._idle == []


# Connecting.


@both
async def test_nobody_listens(kind: str) -> None:
    async with Upstream().serving() as upstream:
        pass
    async with client(kind) as http:
        with pytest.raises(httpx2.ConnectError):
            await post(http, upstream.url)


async def test_connecting_takes_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "connected_socket", lambda host, port: anyio.sleep_forever())
    async with client("wire") as http:
        http.timeout = httpx2.Timeout(30, connect=0.01)
        with pytest.raises(httpx2.ConnectTimeout):
            await post(http, "http://127.0.0.1:1/")


on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])
"""For loops whose methods are replaced, which uvloop calls itself or doesn't let one replace."""


@on_asyncio
async def test_an_address_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    loop: Any = asyncio.get_running_loop()
    real = loop.sock_connect
    left = []

    async def connect(sock: socket.socket, address: tuple[str, int]) -> None:
        if address[0] != "127.0.0.9":
            return await real(sock, address)
        try:
            await anyio.sleep_forever()
        finally:
            left.append(sock)

    async with Upstream(None, SIZED).serving() as upstream, client("wire") as http:
        port = httpx2.URL(upstream.url).port

        async def resolve(*_: Any, **__: Any) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port)) for host in ("127.0.0.9", "127.0.0.1")]

        monkeypatch.setattr(loop, "getaddrinfo", resolve)
        monkeypatch.setattr(loop, "sock_connect", connect)
        monkeypatch.setattr(sockets, "NEXT_ADDRESS_SECONDS", 0.01)
        assert await post(http, upstream.url) == b"hello"
    assert [sock.fileno() for sock in left] == [-1]


@on_asyncio
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first", "last"])
async def test_an_address_of_a_family_that_is_not_there_is_passed_over(
    order: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Upstream(None, SIZED).serving() as upstream, client("wire") as http:
        port = httpx2.URL(upstream.url).port
        unknown = (99, socket.SOCK_STREAM, 0, "", ("::1", port))
        known = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))
        resolved = asyncio.get_running_loop().create_future()
        resolved.set_result([(unknown, known)[place] for place in order])
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lambda *_, **__: resolved)
        assert await post(http, upstream.url) == b"hello"


async def test_where_no_family_is_there_nothing_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = asyncio.get_running_loop().create_future()
    resolved.set_result([(99, socket.SOCK_STREAM, 0, "", ("::1", 1))])
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lambda *_, **__: resolved)
    async with client("wire") as http:
        with pytest.raises(httpx2.ConnectError):
            await post(http, "http://127.0.0.1:1/")


@both
async def test_certificates_are_verified(kind: str, tmp_path: Path) -> None:
    served, authority = tls(tmp_path)
    async with Upstream(None, SIZED, CHUNKED + HELLO).serving(served) as upstream:
        async with client(kind) as http:
            with pytest.raises(httpx2.ConnectError):
                await post(http, upstream.url)
        assert upstream.heads == []
        trusting = ssl.create_default_context(cafile=authority)
        limits = httpx2.Limits()
        carrier = (
            Wire(trusting, limits) if kind == "wire" else httpx2.AsyncHTTPTransport(verify=trusting, limits=limits)
        )
        async with httpx2.AsyncClient(transport=carrier) as http:
            assert [await post(http, upstream.url) for _ in range(2)] == [b"hello"] * 2


# Who uses them.


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_httpx2s(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(new_carrier(httpx2.Limits()), Wire)
    monkeypatch.setenv(variable, "http://127.0.0.1:3128")
    assert new_carrier(httpx2.Limits()) is None


@every_subject
async def test_turns_are_the_same_over_either(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second turn too, which our own connections get past the SDK and httpx2."""
    told = []
    for kind in ("wire", "httpx2"):
        body = subject.said("hi, 🌞")
        answer = CHUNKED.replace(b"\r\n\r\n", b"\r\nset-cookie: at=1; Path=/\r\n\r\n")
        answer += b"".join(b"%x\r\n%b\r\n" % (len(body[i : i + 7]), body[i : i + 7]) for i in range(0, len(body), 7))
        refused = b'HTTP/1.1 429 Slow\r\ncontent-type: application/json\r\nretry-after: 9\r\n\r\n{"error":{"code":"x"}}'
        plain = answer.replace(b"set-cookie", b"x-nothing") + b"0\r\n\r\n"
        upstream = Upstream(None, plain, plain, answer + b"0\r\n\r\n", plain, refused)
        if kind == "httpx2":
            monkeypatch.setattr(transport, "new_carrier", lambda limits: None)
        async with upstream.serving():
            model = subject.make("m", base_url=upstream.url.removesuffix("/x?y=1"), api_key="k")
            waits(model)
            events = [(await asked(model)).events for _ in range(4)]
            with pytest.raises(ProviderError) as caught:
                await asked(model)
            await model.aclose()
        port = upstream.url.partition("127.0.0.1:")[2].partition("/")[0].encode()
        heads = [head.replace(port, b"PORT") for head in upstream.heads]
        told.append((events, heads, upstream.bodies, upstream.connections, str(caught.value)))
    assert told[0] == told[1]
    assert b"at=1" in told[0][1][3]
    assert told[0][3] == 1
