"""HTTP/1.1 connections to a provider: asyncio carries the bytes and httptools parses them, straight to the reader.

`Wire` is what the HTTP clients made here send with, in place of httpx2's own transport: a streamed answer's event costs
a twentieth (docs/adr/0025-own-connections-to-providers.md). It raises httpx2's exceptions, so that an SDK and a caller
can't tell them apart.

What it doesn't do, httpx2 does: proxies, HTTP/2, and whatever a client of the caller's does. Here no request is sent
twice: when a connection that was used before breaks, the request may have arrived.
"""

import asyncio
import math
import re
import select
import ssl
import sys
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from typing import NamedTuple, cast

import httptools
import httpx2

from agui_gate.adapter import rounds

from .large_requests import AT_ONCE, Pieces
from .sockets import connected_socket

MAX_BUFFERED = 64 * 1024
"""Bytes of a body after which nothing more is read until somebody takes them; also the most that is taken at once."""
MAX_OVERHEAD = 100 * 1024
"""Bytes that may come without any of a body: headers, interim answers, chunk extensions, trailers."""

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
_TARGET = re.compile(rb"[\x21-\x7e]+")

Timeouts = Mapping[str, float | None]
"""Seconds for ``connect``, ``read``, ``write`` and ``pool``; None is without end."""


Headers = list[tuple[bytes, bytes]]

Origin = tuple[str, int, bool]
"""A host, a port, and whether it speaks TLS."""


class Head(NamedTuple):
    """A request's address and headers, without the body's length. ``lines`` ends with a line's end."""

    host: str
    port: int
    tls: bool
    lines: bytes

    @property
    def origin(self) -> Origin:
        """What a connection is made to."""
        return self[:3]


class Wire(httpx2.AsyncBaseTransport):
    """The connections of one client in one event loop: pooled, and used again while they are fresh.

    ``limits``: so many requests are under way at most, and the others wait in line; so many connections are kept for
    the next request, and so long.
    """

    def __init__(self, context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        context.set_alpn_protocols(["http/1.1"])
        self._context = context
        self._slots = asyncio.Semaphore(_or_unlimited(limits.max_connections))
        self._most_idle = _or_unlimited(limits.max_keepalive_connections)
        self._idle_seconds = limits.keepalive_expiry
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request whose length is known; returns the answer, its body unread. Raises `httpx2.TransportError`.

        Cancelling it closes the connection.
        """
        if "transfer-encoding" in request.headers:
            raise httpx2.LocalProtocolError("a body without a length")
        head = self.head(request.method, request.url, request.headers.raw)
        stream = cast("httpx2.AsyncByteStream", request.stream)
        timeouts = request.extensions.get("timeout", {})
        return self._response(*await self._send(head, head.lines + b"\r\n", stream, timeouts))

    @staticmethod
    def head(method: str, url: httpx2.URL, headers: Iterable[tuple[bytes, bytes]]) -> Head:
        """Writes a head. Raises `httpx2.UnsupportedProtocol` and, for what a line can't hold, `LocalProtocolError`."""
        if url.scheme not in ("http", "https") or not url.raw_host:
            raise httpx2.UnsupportedProtocol("the address must begin with http:// or https://")
        if not _TARGET.fullmatch(url.raw_path):
            raise httpx2.LocalProtocolError("a character that an address can't hold")
        lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), url.raw_path)]
        for name, value in headers:
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise httpx2.LocalProtocolError("a character that a header can't hold")
            lines.append(b"%b: %b" % (name, value))
        tls = url.scheme == "https"
        return Head(url.raw_host.decode("ascii"), url.port or (443 if tls else 80), tls, b"\r\n".join([*lines, b""]))

    async def send(self, head: Head, content: bytes | Pieces, timeouts: Timeouts) -> "httpx2.Response | Body":
        """Sends a head that was used before, with another body; else as `handle_async_request`. Of an event stream with
        which nothing has to be done but to read it, it returns the body alone.
        """
        lines = b"%bContent-Length: %d\r\n\r\n" % (head.lines, len(content))
        status, headers, body = await self._send(head, lines, content, timeouts)
        return body if _is_plain_stream(status, headers) else self._response(status, headers, body)

    async def _send(
        self, head: Head, lines: bytes, content: bytes | AsyncIterable[bytes], timeouts: Timeouts
    ) -> "tuple[int, Headers, Body]":
        if self._slots.locked():
            await self._wait_for_slot(timeouts.get("pool"))
        else:
            await self._slots.acquire()
        connection = None
        try:
            connection = self._reused(head.origin) or await self._connect(head.origin, timeouts.get("connect"))
            await connection.ask(lines, content, timeouts)
        except BaseException:
            self._leave(connection, reusable=False)
            raise
        headers, connection.headers = connection.headers, []
        return connection.status, headers, Body(self, connection, timeouts.get("read"))

    def _response(self, status: int, headers: "Headers", body: "Body") -> httpx2.Response:
        extensions = {"http_version": b"HTTP/1.1", "wire": self}
        return httpx2.Response(status, headers=headers, stream=body, extensions=extensions)

    async def aclose(self) -> None:
        """Close all connections, also those in use."""
        for connection in tuple(self._all):
            connection.close()
        await asyncio.sleep(0)  # which lets their sockets be closed

    async def _wait_for_slot(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError as error:
            raise httpx2.PoolTimeout("too many requests at once") from error

    def _reused(self, origin: Origin) -> "_Connection | None":
        for connection in reversed(self._idle):
            if connection.origin == origin and connection.is_sound and not connection.has_news():
                self._idle.remove(connection)
                return connection
        return None

    async def _connect(self, origin: Origin, seconds: float | None) -> "_Connection":
        loop = asyncio.get_running_loop()
        host, port, tls = origin
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(self, origin),
                    sock=await connected_socket(host, port),
                    ssl=self._context if tls else None,
                    server_hostname=host if tls else None,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("connecting took too long") from error
        except (OSError, UnicodeError) as error:  # a host that no name can be
            raise httpx2.ConnectError("no connection") from error
        return connection

    def _leave(self, connection: "_Connection | None", *, reusable: bool) -> None:
        """Ends an exchange: the connection waits for the next one, or is closed."""
        self._slots.release()
        if connection is None:
            return
        if reusable and connection.is_sound and len(self._idle) < self._most_idle:
            connection.rest(self._idle_seconds)
            self._idle.append(connection)
        else:
            connection.close()

    def _forget(self, connection: "_Connection") -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)


class Body(httpx2.AsyncByteStream):
    """The body of one answer, which can be read once. Raises `httpx2.TransportError` while it is read.

    ``seconds`` is how long the provider may be silent. Closing it before its end closes the connection.
    """

    __slots__ = ("_connection", "_seconds", "_wire")

    def __init__(self, wire: Wire, connection: "_Connection", seconds: float | None) -> None:
        self._wire = wire
        self._connection: _Connection | None = connection
        self._seconds = seconds

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        connection = self._connection
        if connection is None:
            raise StopAsyncIteration
        while not connection.body:
            if connection.ended:
                self._leave(reusable=True)
                raise StopAsyncIteration
            if connection.failure is not None:
                self._leave(reusable=False)
                raise connection.failure
            await connection.wait(self._seconds)
        return connection.take()

    @property
    def is_closed(self) -> bool:
        """True once nothing of it is to come, whether it was read to its end or not."""
        return self._connection is None

    def leave_rest(self) -> bool:
        """Gives the connection back if all of the body has come, read or not. Returns whether it did."""
        connection = self._connection
        if connection is None or not connection.ended:
            return connection is None
        while connection.body:
            connection.take()
        self._leave(reusable=True)
        return True

    async def aclose(self) -> None:
        """Gives the connection back if the body was read to its end, and closes it if not."""
        connection = self._connection
        if connection is not None:
            self._leave(reusable=connection.ended and not connection.body)

    def _leave(self, *, reusable: bool) -> None:
        connection, self._connection = self._connection, None
        self._wire._leave(connection, reusable=reusable)


class _Connection(asyncio.Protocol):
    """One connection and the exchange that is under way on it.

    ``status`` is 0 until the answer's headers are complete, ``ended`` says that its body is, ``failure`` why it won't
    be. ``body`` is what came of it and was not taken.
    """

    __slots__ = ("_bodiless", "_busy", "_due", "_full", "_interim", "_kept", "_loop", "_lost", "_overhead", "_parser",
                 "_paused", "_sent", "_transport", "_until_close", "_waiter", "_wire", "body", "ended",
                 "failure", "headers", "origin", "status")  # fmt: skip

    def __init__(self, wire: Wire, origin: Origin) -> None:
        self.origin = origin
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._due = math.inf
        self._waiter: asyncio.Future[None] | None = None
        self._busy = self._paused = self._full = self._lost = False
        self.body = bytearray()

    # The exchange.

    async def ask(self, head: bytes, content: bytes | AsyncIterable[bytes], timeouts: Timeouts) -> None:
        """Sends a request and waits for the answer's headers."""
        self._parser = httptools.HttpResponseParser(self)
        self.status, self.headers = 0, Headers()
        self.ended = self._interim = self._until_close = False
        self.failure: httpx2.TransportError | None = None
        self._kept, self._busy, self._overhead = False, True, 0
        self._bodiless = head.startswith(b"HEAD ")
        if isinstance(content, bytes):
            self._transport.write(head + content)
        elif isinstance(content, Pieces) and len(content) <= AT_ONCE:
            self._transport.writelines((head, *content.pieces))
        else:
            self._transport.write(head)
            async for piece in content:
                self._transport.write(piece)
                if not await self._drained(timeouts.get("write")):
                    break
        self._sent = await self._drained(timeouts.get("write"))
        while not self.status:
            if self.failure is not None:
                raise self.failure
            await self.wait(timeouts.get("read"))

    async def _drained(self, seconds: float | None) -> bool:
        """Waits until the socket takes more; false if the answer came first, which is then the answer."""
        while self._full and not self.status and self.failure is None:
            await self.wait(seconds)
        return not self._full

    def wait(self, seconds: float | None) -> asyncio.Future[None]:
        """Returns what is done when something happens, after ``seconds`` at the latest; then there is a ``failure``."""
        self._end_after(seconds)
        self._waiter = self._loop.create_future()
        return self._waiter

    def _end_after(self, seconds: float | None) -> None:
        """Has a wait fail, or an idle connection closed, after so long. Mostly that is later than it was before."""
        before, self._due = self._due, math.inf if seconds is None else self._loop.time() + seconds
        if self._due < before:
            rounds().watch(self, self._due)

    def check_due(self, now: float) -> float:
        """See `agui_gate.concurrency.Watched`."""
        if now >= self._due:
            self._due = math.inf
            if not self._busy:
                self.close()
            elif self._waiter is not None and not self._waiter.done():
                self._fail(httpx2.ReadTimeout("nothing came for too long"))
        return self._due

    def take(self) -> bytes:
        """Takes what came of the body, at most `MAX_BUFFERED` bytes."""
        data = bytes(self.body[:MAX_BUFFERED]) if len(self.body) > MAX_BUFFERED else bytes(self.body)
        del self.body[: len(data)]
        if self._paused and len(self.body) <= MAX_BUFFERED:
            self._paused = False
            self._transport.resume_reading()
        return data

    @property
    def is_sound(self) -> bool:
        """Whether it can be used for another exchange, as far as the event loop has told."""
        return self._kept and self._sent and not self._lost and not self._transport.is_closing()

    def has_news(self) -> bool:
        """Returns whether the socket has what the event loop hasn't told yet: nearly always, that the provider closed
        it.
        """
        news = select.poll()
        news.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return bool(news.poll(0))

    def rest(self, seconds: float | None) -> None:
        """Waits for the next exchange, at most so long."""
        self._busy = False
        self._end_after(seconds)

    def close(self) -> None:
        """Closes it at once. A body that ends with the connection is not whole then."""
        if self._busy:
            self._fail(httpx2.ReadError("it was closed here"))
        self._transport.abort()

    def _fail(self, failure: httpx2.TransportError) -> None:
        self._kept = False
        if not self.ended and self.failure is None:
            self.failure = failure
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._wire._all.add(self)

    def data_received(self, data: bytes) -> None:
        if not self._busy or self.ended:
            self.close()  # nobody asked
            return
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(httpx2.RemoteProtocolError("an answer that is no HTTP/1.1"))
        if self._overhead > MAX_OVERHEAD:
            self._fail(httpx2.RemoteProtocolError("too much around the body"))
        if self.failure is not None:
            self.close()
        if len(self.body) > MAX_BUFFERED and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._wire._forget(self)
        rounds().leave(self)
        if not self._busy:
            return
        if self._until_close and exc is None and self.failure is None:
            self.ended = True
        error = httpx2.ReadError if exc else httpx2.RemoteProtocolError
        self._fail(error("the connection was closed before the answer's end"))

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._wake()

    # What the parser tells.

    def on_message_begin(self) -> None:
        if self.ended:
            self._kept = False  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.status:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self.headers.clear()
            self._interim = True
            return
        self.status = status
        names = {name.lower() for name, _ in self.headers}
        self._until_close = names.isdisjoint((b"content-length", b"transfer-encoding"))
        self.ended = self._bodiless  # the parser waits for the body that GET would have

    def on_body(self, data: bytes) -> None:
        if not self.ended:
            self._overhead = 0
            self.body += data

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
        elif not self.ended:
            self.ended = True
            self._kept = self._parser.should_keep_alive()


def _is_plain_stream(status: int, headers: Headers) -> bool:
    """Returns whether an answer is a success and an event stream, not encoded and without a cookie."""
    found = {name.lower(): value for name, value in headers}
    is_stream = found.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"text/event-stream"
    is_encoded = found.get(b"content-encoding", b"identity") != b"identity"
    return 200 <= status < 300 and is_stream and not is_encoded and b"set-cookie" not in found


def _or_unlimited(limit: int | None) -> int:
    return sys.maxsize if limit is None else limit
