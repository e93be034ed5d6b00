"""Attacks on the connections of `agui-gate serve`, with real sockets (T13): bounded, on loopback."""

import asyncio
import importlib.util
import json
import resource
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agui_gate import Agent, create_app
from agui_gate.cli.server import connections
from agui_gate.cli.server.connections import ConnectionLimits, limits_from, raise_descriptors
from agui_gate.cli.server.uvicorn_server import Server, bind, configure
from agui_gate.config.settings import Settings
from agui_gate.http.sse import PING_INTERVAL
from tests.product.inprocess import Parrot, run_body, user
from tests.requirements import shows

pytestmark = [pytest.mark.anyio, shows("T13")]

TIMEOUT = 60.0
CHUNKED = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
HEALTHY = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


def with_h11() -> ModuleType:
    """The module as it is where httptools is missing."""
    name = "uvicorn.protocols.http.httptools_impl"
    kept = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        spec = importlib.util.spec_from_file_location("connections_with_h11", Path(str(connections.__file__)))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        if kept is None:
            del sys.modules[name]
        else:
            sys.modules[name] = kept


@pytest.fixture(params=["httptools", "h11"])
def protocol(request: pytest.FixtureRequest) -> Any:
    return connections.Connection if request.param == "httptools" else with_h11().Connection


class Client:
    """A socket and what came out of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def closed(self) -> bytes:
        """All that comes until the server hangs up."""
        got = b""
        async with asyncio.timeout(TIMEOUT):
            with suppress(ConnectionError):
                while data := await self.reader.read(65536):
                    got += data
        return got

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of one answer with a length."""
        async with asyncio.timeout(TIMEOUT):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            return int(head.split()[1]), await self.reader.readexactly(length)


class Served:
    """A server on a port."""

    def __init__(self, server: Server, port: int) -> None:
        self.server, self.port = server, port
        self._clients: list[Client] = []

    def sweep(self, seconds: float) -> None:
        """Look at the connections as if so much time had passed."""
        self.server.server_state.door.sweep(asyncio.get_running_loop().time() + seconds)  # type: ignore[attr-defined]

    @property
    def open(self) -> int:
        return len(self.server.server_state.connections)

    async def connect(self) -> Client:
        async with asyncio.timeout(TIMEOUT):
            client = Client(*await asyncio.open_connection("127.0.0.1", self.port))
        self._clients.append(client)
        return client

    async def healthy(self) -> bool:
        client = await self.connect()
        client.send(HEALTHY)
        return (await client.answer())[0] == 200

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT):
            while not condition():  # noqa: ASYNC110  (what it waits for has no event)
                await asyncio.sleep(0.01)

    def leave(self) -> None:
        for client in self._clients:
            client.writer.transport.abort()


@asynccontextmanager
async def serving(
    protocol: Any, model: Any = None, settings: Settings | None = None, **limits: Any
) -> AsyncIterator[Served]:
    app = create_app(Agent(name="a", model=model or Parrot()), store="memory://", settings=settings or Settings())
    config = configure(app, quiet=True, limits=ConnectionLimits(**limits))
    config.http = protocol
    with bind("127.0.0.1", 0) as sock:
        started = asyncio.Event()
        server = Server(config, started.set)
        task = asyncio.create_task(server.serve(sockets=[sock]))
        async with asyncio.timeout(TIMEOUT):
            await started.wait()
        served = Served(server, sock.getsockname()[1])
        try:
            yield served
        finally:
            served.leave()
            server.should_exit = True
            async with asyncio.timeout(TIMEOUT):
                await task


def error_of(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]


async def flood(client: Client, piece: bytes, times: int) -> int:
    """Send until the server stops us; how many bytes went out."""
    sent = 0
    with suppress(ConnectionError):
        for _ in range(times):
            client.send(piece)
            await client.writer.drain()
            sent += len(piece)
            if client.reader.at_eof() or client.writer.is_closing():
                break
    return sent


FLOODS = {
    "one header without end": (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: ", b"x" * 65536),
    "headers without end": (b"GET / HTTP/1.1\r\nhost: localhost\r\n", b"x: y\r\n" * 10_000),
    "a name without end": (b"GET / HTTP/1.1\r\n", b"x" * 65536),
    "an address without end": (b"GET /", b"x" * 65536),
    "a method without end": (b"", b"X" * 65536),
    "empty lines": (b"", b"\r\n" * 30_000),
    "a trailer without end": (
        CHUNKED + b"0\r\nx: ",
        b"x" * 65536,
    ),
    "trailers without end": (
        CHUNKED + b"0\r\n",
        b"x: y\r\n" * 10_000,
    ),
    "a chunk extension without end": (
        CHUNKED + b"1;",
        b"x" * 65536,
    ),
}


@pytest.mark.parametrize("kind", FLOODS)
async def test_what_never_comes_to_a_point_is_stopped(protocol: Any, kind: str) -> None:
    """One connection sent 272 MB of headers."""
    begin, piece = FLOODS[kind]
    async with serving(protocol, header_seconds=1.0) as served:
        client = await served.connect()
        client.send(begin)
        sent = await flood(client, piece, 400)
        await client.closed()
        assert sent < 400 * len(piece)
        await served.until(lambda: served.open == 0)
        assert await served.healthy()


async def test_headers_that_are_too_large_or_too_many_are_told_so() -> None:
    async with serving(connections.Connection) as served:
        for head in (b"x: " + b"y" * 70_000 + b"\r\n", b"x: y\r\n" * 200, b""):
            client = await served.connect()
            address = b"/" if head else b"/" + b"x" * 70_000
            client.send(b"GET " + address + b" HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n")
            assert error_of(await client.closed()) == (431, "too_large")
        client = await served.connect()
        client.send(b"nonsense\r\n\r\n")
        assert error_of(await client.closed()) == (400, "invalid_request")


async def test_what_browsers_and_proxies_send_is_within_the_limits(protocol: Any) -> None:
    async with serving(protocol) as served:
        client = await served.connect()
        cookies = b"cookie: " + b"a" * 16_000 + b"\r\n" + b"".join(b"x-%d: y\r\n" % i for i in range(80))
        client.send(HEALTHY.replace(b"\r\n\r\n", b"\r\n" + cookies + b"\r\n"))
        assert (await client.answer())[0] == 200
        client.send(HEALTHY * 3)  # pipelined
        assert [(await client.answer())[0] for _ in range(3)] == [200, 200, 200]


WISHES = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAA\r\n"
"""What Java's HTTP client sends with its first request."""


@pytest.mark.parametrize("apart", [False, True])
async def test_a_request_that_wishes_for_another_protocol_has_its_body(protocol: Any, apart: bool) -> None:
    """It was taken for a request without a body: 400 for every run of Java's own HTTP client."""
    async with serving(protocol) as served:
        client = await served.connect()
        head, _, body = run_request("t").replace(b"connection: close\r\n", WISHES).partition(b"\r\n\r\n")
        client.send(head + b"\r\n\r\n" + (b"" if apart else body))
        if apart:
            await client.writer.drain()
            await served.until(lambda: bool(served.server.server_state.tasks))
            client.send(body)
        assert b"RUN_FINISHED" in await client.reader.readuntil(b"0\r\n\r\n")
        client.send(HEALTHY.replace(b"\r\n\r\n", b"\r\n" + WISHES + b"\r\n") + HEALTHY)
        assert [(await client.answer())[0] for _ in range(2)] == [200, 200]


async def test_a_tunnel_is_refused(protocol: Any) -> None:
    async with serving(protocol) as served:
        client = await served.connect()
        client.send(b"CONNECT localhost:80 HTTP/1.1\r\nhost: localhost:80\r\nconnection: close\r\n\r\n")
        assert (await client.closed()).split()[1] in {b"400", b"404", b"405", b"500"}
        assert await served.healthy()


async def test_large_bodies_in_small_chunks_are_taken(protocol: Any) -> None:
    async with serving(protocol) as served:
        body = json.dumps(run_body("t", user("x" * 50_000, "m1"))).encode()
        client = await served.connect()
        client.send(
            b"POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
            b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for start in range(0, len(body), 10):
            client.send(b"%x\r\n%b\r\n" % (len(body[start : start + 10]), body[start : start + 10]))
        client.send(b"0\r\n\r\n")
        assert b"RUN_FINISHED" in await client.closed()


async def test_silent_connections_are_closed_after_a_while(protocol: Any) -> None:
    async with serving(protocol, header_seconds=0.5) as served:
        silent, slow = await served.connect(), await served.connect()
        slow.send(b"GET /healthz HTTP/1.1\r\nhost: ")
        dripping = asyncio.create_task(drip(slow))
        assert await silent.closed() == b""
        assert await slow.closed() == b""
        dripping.cancel()
        await served.until(lambda: served.open == 0)


async def drip(client: Client) -> None:
    """A byte now and then: each resets what only looks at the last one."""
    while True:
        client.send(b"x")
        await asyncio.sleep(0.05)


async def test_a_head_that_comes_slowly_after_an_answer_is_not_waited_for_either(protocol: Any) -> None:
    async with serving(protocol, header_seconds=60, keep_alive_seconds=60) as served:
        client = await served.connect()
        client.send(HEALTHY)
        assert (await client.answer())[0] == 200
        (connection,) = served.server.server_state.connections
        served.sweep(3600)
        assert not connection.transport.is_closing(), "it waits for the next request"
        client.send(b"GET /healthz HTTP/1.1\r\nhost: ")
        dripping = asyncio.create_task(drip(client))
        await served.until(lambda: connection._head_since is not None)  # type: ignore[union-attr]  # one of ours
        served.sweep(61)
        assert await client.closed() == b""
        dripping.cancel()


async def test_a_thousand_silent_connections_shut_nobody_out(protocol: Any) -> None:
    """1,100 silent ones did."""
    async with serving(protocol, max_connections=50, header_seconds=60, keep_alive_seconds=60) as served:
        used = await served.connect()
        for _ in range(5):
            for _ in range(30):
                await served.connect()
            used.send(HEALTHY)  # is the last to have been silent each time
            assert (await used.answer())[0] == 200
            assert await served.healthy()
            assert served.open <= 51


async def test_those_who_keep_a_connection_after_an_answer_shut_nobody_out(protocol: Any) -> None:
    async with serving(protocol, max_connections=10, keep_alive_seconds=60) as served:
        for _ in range(25):
            assert await served.healthy()
        assert served.open <= 11


class Held(Parrot):
    """A model that says nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def stream(self, request: Any) -> Any:
        await self.gate.wait()
        async for batch in super().stream(request):
            yield batch


def run_request(thread: str, text: str = "hello") -> bytes:
    body = json.dumps(run_body(thread, user(text, "m1"))).encode()
    head = f"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n\r\n" + body


async def test_event_streams_are_never_closed_for_others_or_for_their_silence(protocol: Any) -> None:
    model = Held()
    async with serving(protocol, model, max_connections=5, header_seconds=60, keep_alive_seconds=60) as served:
        readers = []
        for number in range(5):
            readers.append(await served.connect())
            readers[-1].send(run_request(f"t{number}"))
            await readers[-1].reader.readuntil(b"RUN_STARTED")
        refused = await served.connect()
        assert error_of(await refused.closed()) == (503, "unavailable")
        served.sweep(3600)
        model.gate.set()
        assert all([b"RUN_FINISHED" in await reader.closed() for reader in readers])
        assert await served.healthy()


class Stopped(Held):
    """A model that knows when it was stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.stopped = asyncio.Event(), asyncio.Event()

    async def stream(self, request: Any) -> Any:
        self.asked.set()
        try:
            async for batch in super().stream(request):
                yield batch
        finally:
            self.stopped.set()


@pytest.mark.parametrize("text", ["hello", "x" * 3_000_000], ids=["short", "long"])
async def test_who_leaves_a_stream_is_noticed(protocol: Any, text: str) -> None:
    """No task waits for that. After a long body nothing was read any more, so not that either."""
    model = Stopped()
    async with serving(protocol, model, Settings(disconnect_grace=0)) as served:
        client = await served.connect()
        client.send(run_request("t", text))
        async with asyncio.timeout(TIMEOUT):
            await model.asked.wait()
        assert not [task for task in asyncio.all_tasks() if "EventStream._watch" in str(task.get_coro())]
        client.writer.transport.abort()
        async with asyncio.timeout(PING_INTERVAL - 2):  # a ping would find it out, too
            await model.stopped.wait()


async def test_a_body_that_comes_after_the_head_of_a_stream_does_not_end_it(protocol: Any) -> None:
    model = Held()
    async with serving(protocol, model) as served:
        client, second = await served.connect(), await served.connect()
        client.send(run_request("t"))
        head = await client.reader.readuntil(b"\r\n\r\n")
        key = head.partition(b"agui-run-key: ")[2].split()[0]
        second.send(b"GET /runs/%b/events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" % key)
        second.send(b"content-length: 5\r\n\r\n")
        await second.reader.readuntil(b"RUN_STARTED")
        second.send(b"12345")
        assert await served.healthy()  # which is read behind it
        model.gate.set()
        assert b"RUN_FINISHED" in await second.closed()


async def test_bodies_that_do_not_come_give_way_to_others(protocol: Any) -> None:
    async with serving(protocol, max_connections=5) as served:
        for _ in range(20):
            client = await served.connect()
            client.send(
                b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"
            )
        assert await served.healthy()


async def test_a_body_after_its_answer_is_not_read_for_ever(protocol: Any) -> None:
    async with serving(protocol) as served:
        client = await served.connect()
        client.send(b"POST /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n")
        assert (await client.answer())[0] == 404
        dripping = asyncio.create_task(drip(client))
        for looked in (1, 2):
            served.sweep(looked * (connections.LINGER_SECONDS + 1))
        await client.closed()
        dripping.cancel()
        await served.until(lambda: served.open == 0)


async def test_a_connection_whose_early_answer_came_before_the_body_serves_on(protocol: Any) -> None:
    """Proxies send the head first and keep the connection: the stream that came next was cut off after two seconds."""
    model = Held()
    async with serving(protocol, model) as served:
        client = await served.connect()
        client.send(b"POST /nothing HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n")
        assert (await client.answer())[0] == 404
        client.send(b"12345")
        client.send(run_request("t"))
        await client.reader.readuntil(b"RUN_STARTED")
        for looked in (1, 2):
            served.sweep(looked * (connections.LINGER_SECONDS + 1))
        model.gate.set()
        assert b"RUN_FINISHED" in await client.closed()


async def test_a_client_that_takes_no_answer_is_hung_up_on(protocol: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(protocol, send_seconds=60, header_seconds=3600, keep_alive_seconds=3600) as served:
        writer = await served.connect()
        writer.send(run_request("t", "x" * 3_000_000))
        assert b"RUN_FINISHED" in await writer.closed()
        reader = await served.connect()
        reader.reader._limit = 1024  # type: ignore[attr-defined]  # so that the client's side takes next to nothing
        reader.send(b"GET /threads/t HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        for _ in range(4):
            other = await served.connect()
            other.reader._limit = 1024  # type: ignore[attr-defined]
            other.send(b"GET /threads/t HTTP/1.1\r\nhost: localhost\r\n\r\n" * 8)
        later = count(61, 61)
        while served.open:
            served.sweep(next(later))
            await asyncio.sleep(0.01)
        await served.until(lambda: not served.server.server_state.tasks)
    assert not caplog.records


def test_descriptors_bound_the_connections() -> None:
    assert limits_from(Settings(), 1024).max_connections == 480
    assert limits_from(Settings(), 65_536).max_connections == 10_000
    assert limits_from(Settings(max_connections=7), 1024).max_connections == 7
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        assert raise_descriptors(4096) == min(hard, 4096)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(hard, 4096)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
