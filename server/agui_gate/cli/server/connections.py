"""The connections of `agui-gate serve`, each within bounds that uvicorn's own protocols don't have.

Theory of operation
-------------------
A connection is *silent* until one whole request of it has come, and again when that was answered. Silent ones may be
closed at any time; only then is nothing lost. What is served, an event stream above all, has no time limit here.

* The head of a request has ``header_seconds``, from the connection's first moment or from the head's first byte.
* Its bytes are counted: what the parser has told us about (line, headers, body) against what came. More than
  ``header_bytes`` of a head, or of what nobody has been told about (a header without end, chunk extensions, trailers),
  is 431 and the end.
* When there are ``max_connections``, a new one takes the place of the one that has been silent for longest. Where none
  is silent, the new one gets 503. The number is well below the limit of descriptors, so that the store, providers and
  tools find theirs.
* A client that doesn't take its answer is hung up on, and so is one that goes on with a body nobody waits for.

Times are looked after by one look at all connections, twice a second (`Door.sweep`), not by timers of each.

Divergence: this reaches into uvicorn's protocol objects (``cycle``, ``flow``, ``pipeline``), for which there is no
interface. `tests/cli/test_connections.py` holds both parsers to it.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.errors import AguiGateError, TooLarge, Unavailable

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol

    from agui_gate.cli.server.upgrades import PlainParser
except ImportError:  # no httptools on this platform
    from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol  # type: ignore[assignment]  # much the same

RESERVE = 64
"""Descriptors that are left for the store, tools and everything else."""

MOST = 10_000
"""Connections that are served at most, unless the settings say otherwise."""

LINGER_SECONDS = 2.0
"""Seconds that a client may go on with a body after its answer, and that a connection may take to close."""

CHUNK = 12
"""Bytes around a chunk of a body."""

PIPELINED = 64
"""Requests that may wait behind one another on a connection."""

COUNTED = hasattr(_Protocol, "on_url")
"""True if the parser is httptools, which has no bounds. h11 has one of its own (`h11_max_incomplete_event_size`)."""


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """See the module, and the settings of these names."""

    max_connections: int = MOST
    header_bytes: int = 64 * 1024
    header_count: int = 128
    header_seconds: float = 15.0
    keep_alive_seconds: float = 75.0
    send_seconds: float = 35.0
    """Seconds for which a client may take nothing of what it is sent."""


def limits_from(settings: "Settings", descriptors: int) -> ConnectionLimits:
    """Returns the limits that the settings ask for, in a process that may have so many descriptors.

    A connection may need two: its own, and the one to the provider.
    """
    room = max(16, (descriptors - RESERVE) // 2)
    return ConnectionLimits(
        max_connections=settings.max_connections or min(MOST, room),
        header_bytes=settings.header_bytes,
        header_count=settings.header_count,
        header_seconds=settings.header_seconds,
        keep_alive_seconds=settings.keep_alive_seconds,
        send_seconds=settings.send_timeout + 5,  # event streams count for themselves, and say so in the log
    )


def raise_descriptors(most: int = 65_536) -> int:
    """Takes as many file descriptors as the system lets us have, up to ``most``; how many those are."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return most if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


class Door:
    """The connections of one server. ``silent`` are those that wait for a request, the longest silent first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.all: set[Connection] = set()
        self.silent: dict[Connection, None] = {}

    def enter(self, connection: "Connection") -> bool:
        """Lets a new connection in, instead of another one if need be. False if there is no room."""
        if len(self.all) >= self.limits.max_connections:
            oldest = next(iter(self.silent), None)
            if oldest is None:
                return False
            self.leave(oldest)
            oldest.hang_up()
        self.all.add(connection)
        self.silent[connection] = None
        return True

    def leave(self, connection: "Connection") -> None:
        """Removes a connection that is gone, or about to be."""
        self.all.discard(connection)
        self.silent.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Closes what has taken too long."""
        for connection in list(self.all):
            connection.check_time(now)


class Connection(_Protocol):
    """A connection. The server's `Door` is made by the first one, with the limits of uvicorn's configuration."""

    # uvicorn's attributes are nearly as many as fit into an object without a dictionary, which takes 1.5 KB.
    __slots__ = ("_accounted", "_cycles", "_door", "_ends_since", "_fields", "_head", "_head_since", "_left",
                 "_left_since", "_limits", "_raw", "_refusal", "_unread")  # fmt: skip

    parser: Any
    pipeline: Any

    def __init__(self, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        if COUNTED:
            self.parser = PlainParser(self)
        self._door = door_of(server_state, config)
        self._limits = self._door.limits
        self._head_since: float | None = None
        self._ends_since: float | None = None
        self._left, self._left_since = 0, 0.0
        self._unread = False
        self._cycles: list[Any] = []
        self._raw = self._accounted = self._head = self._fields = 0
        self._refusal: AguiGateError | None = None

    # --- the transport's side -----------------------------------------------------------------------------------
    def connection_made(self, transport: Any) -> None:
        """Comes in, if there is room."""
        super().connection_made(transport)
        self._head_since = self.loop.time()
        if not self._door.enter(self):
            self._refuse(Unavailable("The server has reached its limit of connections. Try again in a moment."))

    def connection_lost(self, exc: Exception | None) -> None:
        """Removes the connection that is gone."""
        self._door.leave(self)
        self._disconnect()
        super().connection_lost(exc)

    def _disconnect(self) -> None:
        """Tells all that is being answered that nobody listens any more; uvicorn tells the newest request alone."""
        for cycle in (*self._cycles, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.flow.resume_writing()

    def data_received(self, data: bytes) -> None:
        """Takes bytes; whoever sends them has to come to a point."""
        if self.transport.is_closing():
            return
        self._raw += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if COUNTED and self._raw - self._accounted > self._limits.header_bytes:
            self._refuse(self._too_large())
        elif len(self._cycles) > PIPELINED:
            self.hang_up()
        elif self._asked():
            self._head_since = None
            self._body_came()
            if not self.cycle.more_body:
                self._door.silent.pop(self, None)
        elif self._head_since is None:
            self._head_since = self.loop.time()

    def on_response_complete(self) -> None:
        """Ends the answer; a body that nobody read may still come for a little while."""
        self._unread = self.cycle.more_body and not getattr(self, "pipeline", None)
        super().on_response_complete()
        self._cycles = [cycle for cycle in self._cycles if not cycle.response_complete]
        if not self._asked() and self in self._door.all:
            self._door.silent[self] = self._door.silent.pop(self, None)

    # --- the parser's side (httptools) --------------------------------------------------------------------------
    def on_message_begin(self) -> None:
        """Begins to count a request."""
        self._head = self._fields = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Counts a part of its address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Counts a header, or a trailer."""
        self._fields += 1
        if self._fields > self._limits.header_count:
            self._head = self._limits.header_bytes
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Serves the request, whose head is complete."""
        if self.parser.wishes:
            self._accounted = 0  # its head will be told once more
            return
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self._cycles.append(self.cycle)

    def on_chunk_header(self) -> None:
        """Accounts for what begins a part of the body."""
        self._accounted += CHUNK

    def on_body(self, body: bytes) -> None:
        """Accounts for a part of the body."""
        self._accounted += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends the request, which is whole."""
        if self.parser.wishes:
            return
        self._raw = self._accounted = 0
        self._body_came()
        super().on_message_complete()

    def _body_came(self) -> None:
        """Notes that no body is on its way any more: the connection serves on, and what it serves has no time limit."""
        self._unread, self._ends_since = False, None

    def _count(self, size: int) -> None:
        self._head += size
        self._accounted += size
        if self._head > self._limits.header_bytes:
            self._refusal = self._too_large()
            raise self._refusal  # the parser stops, and says so through `send_400_response`

    def send_400_response(self, msg: str) -> None:
        """Refuses what can't be parsed, in the one shape of errors."""
        self._refuse(self._refusal or AguiGateError(msg), 431 if self._refusal else 400)

    # --- ending -------------------------------------------------------------------------------------------------
    def check_time(self, now: float) -> None:
        """Ends it if it has taken too long."""
        left = self.transport.get_write_buffer_size()
        if left != self._left:
            self._left, self._left_since = left, now
        if left:
            late = now - self._left_since > self._limits.send_seconds
        elif self._unread or self.transport.is_closing():
            self._ends_since = now if self._ends_since is None else self._ends_since
            late = now - self._ends_since > LINGER_SECONDS
        else:
            late = self._head_since is not None and now - self._head_since > self._limits.header_seconds
        if late:
            self.hang_up()

    def hang_up(self) -> None:
        """Ends it without a word."""
        self._disconnect()
        self.transport.abort()

    def _asked(self) -> bool:
        """Returns whether a request has come that is not answered yet."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def _too_large(self) -> AguiGateError:
        limits = self._limits
        return TooLarge(f"Headers may have at most {limits.header_bytes:,} bytes and {limits.header_count:,} lines.")

    def _refuse(self, error: AguiGateError, status: int | None = None) -> None:
        """Answers outside of any application, and ends it. In the middle of an answer there is no room for another."""
        if self._asked():
            self.hang_up()
            return
        status = status or (431 if isinstance(error, TooLarge) else error.status)
        code = "invalid_request" if status == 400 else error.code
        body = json.dumps({"error": {"code": code, "message": error.message}}).encode()
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()


_REASONS = {400: "Bad Request", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}


def door_of(server_state: Any, config: Any) -> Door:
    """Returns the door of the server that ``server_state`` belongs to."""
    door: Door | None = getattr(server_state, "door", None)
    if door is None:
        door = server_state.door = Door(getattr(config, "connection_limits", None) or ConnectionLimits())
    return door


def sweep(server_state: Any) -> None:
    """Looks after the connections of a server, if it has had any."""
    door: Door | None = getattr(server_state, "door", None)
    if door is not None:
        door.sweep(asyncio.get_running_loop().time())
