"""A run's events as an ASGI response.

Our own rather than sse-starlette's `EventSourceResponse` (ADR 0002): that one starts four tasks a response, and encodes
and sends event by event. This one sends whatever frames are ready in one body message. What it promises is the same:
`\\n\\n` framing, comment pings, a bound on every send, and an end when the client leaves or the server stops.

Divergence from ASGI, which has no word for it: a reader that takes nothing is hung up on through uvicorn's transport.
Ending the response as usual would wait for that reader to take what was sent before.
"""

import asyncio
import select
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_gate.bus.base import FellBehind, Reader
from agui_gate.concurrency import rounds
from agui_gate.errors import Unauthorized, Unavailable
from agui_gate.extra_loader import load
from agui_gate.http.auth import ENDED, OWNER, Admission, admission_of

PING_INTERVAL = 15.0
"""Seconds between comments on an idle stream."""

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
}

_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

STREAM = "agui_gate.stream"
"""The entry of a request's scope that takes a stream whose head is sent and whose events are not (`OpenStream`)."""

FAILED = "agui_gate.failed"
"""The entry of a request's scope with what failed before it was answered."""

ASKING = (b'"confirm_changes"', b'"interrupt"')
"""Byte strings in the frames that ask a person: a card, or an interrupt."""

log = structlog.get_logger("agui_gate.http")


OnClose = Callable[[bool], None]


class EventStream(Response):
    """Streams what ``reader`` reads. ``on_close`` is called once, when the stream is over for whatever reason: with
    True if we ended it before its end. ``ready``: its first event is there, and goes in one write with the head where
    the server is one that we know.
    """

    def __init__(self, reader: Reader, run_key: str | None, on_close: OnClose, *, ready: bool = False) -> None:
        self.status_code, self.background = 200, None
        self.raw_headers = [*_HEADERS, (b"agui-run-key", run_key.encode())] if run_key else [*_HEADERS]
        self._reader, self._run_key, self._on_close, self._ready = reader, run_key, on_close, ready

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the head, and leaves the rest to an `OpenStream`: what it needs of the routes ends here."""
        head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        cycle = cycle_of(receive)
        try:
            if self._ready and cycle is not None and not cycle.flow.write_paused:
                first = await self._reader.read()  # before any wait: what comes later, `send_events` checks and times
                with _OneWrite(cycle):
                    await send(head)
                    await send({"type": "http.response.body", "body": first, "more_body": True})
            else:
                async with asyncio.timeout(scope["app"].state.send_timeout):  # it waits for a client that takes nothing
                    await send(head)
        except BaseException as error:
            self._close(scope)
            if not isinstance(error, OSError):
                raise
            if isinstance(error, TimeoutError):
                hang_up(scope[STREAM].cycle if STREAM in scope else cycle)
            return
        del self.raw_headers
        if STREAM in scope:
            scope[STREAM].append((self, scope))
        else:
            await self.send_events(scope, receive, send, cycle)

    async def send_events(self, scope: Scope, receive: Receive, send: Send, cycle: Any) -> None:
        """Sends until the run ends, the client leaves, or it doesn't keep up. It doesn't when no bytes are accepted
        within the send time-out, or when it is further behind than what is kept. Such a reader can come back with its
        last event's id. So can one whose events can't be had any more, since the bus is away or this replica stops. It
        also ends when `auth` doesn't know any more who opened it. ``cycle``: see `cycle_of`.
        """
        watcher = _client_of(cycle_of(receive), self._reader) or asyncio.create_task(self._watch(receive))
        admission, (card, interrupt) = admission_of(scope), ASKING
        has_ended = getattr(self._reader, "has_ended", bool)  # only a log knows beforehand that nothing follows
        guard = _StreamGuard(self._reader, scope["app"].state.send_timeout, admission, cycle)
        try:
            async with guard.timeout:
                while data := await self._reader.read():
                    # Not `in`: that first takes bytes for a number, and drops a TypeError for each delta.
                    if admission is not None and (data.find(card) >= 0 or data.find(interrupt) >= 0):
                        await guard.check()
                    guard.begin()
                    more = not has_ended()
                    await send({"type": "http.response.body", "body": data, "more_body": more})
                    guard.end()
                    if not more:
                        return
                    data = b""  # it may be long, and isn't kept while nothing comes
                guard.check_ended()
                guard.begin()
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (TimeoutError, FellBehind, Unavailable, Unauthorized) as error:
            why = error.message if isinstance(error, Unavailable | Unauthorized) else "the client reads too slowly"
            log.warning("reader_dropped", run=self._run_key, why=why)
            scope["agui_gate.dropped"] = True  # for who counts
            hang_up(cycle)
        except OSError:
            pass  # the client is gone, which is how most streams of chats end
        finally:
            guard.stop()
            watcher.cancel()
            self._close(scope)

    def _close(self, scope: Scope) -> None:
        self._reader.close()
        self._on_close("agui_gate.dropped" in scope)
        scope.pop(OWNER, None)  # an admission has the request, which has the scope

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._reader.close()


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Has the handler of a route answer, with the header that `Origins` adds where no page of another origin asks.
    Where the handler fails, nothing is sent.
    """
    try:
        response = await scope["endpoint"](Request(scope, receive, send))
    except Exception as error:
        scope[FAILED] = error
        return
    response.raw_headers.append((b"vary", b"Origin"))
    await response(scope, receive, send)


class StreamingApplication(Starlette):
    """Sends the events of streams outside of all that found their route: that is free by then, and no event passes it.

    Where anything was added (`add_middleware`), it is done inside of that, which sees all that is sent. Where nothing
    was, a request of a `RunRoute` is answered by ``direct``, without Starlette's middleware: that is for pages of other
    origins, and for errors.
    """

    direct: Callable[[Scope, Receive, Send], Coroutine[Any, Any, None]] = staticmethod(_answer)
    _bare: ASGIApp | None = None

    def build_middleware_stack(self) -> ASGIApp:
        """See `Starlette`."""
        if len(self.user_middleware) > 1:
            self.user_middleware.insert(-1, Middleware(load("added_middleware").Streams))
            return super().build_middleware_stack()
        self._bare = super().build_middleware_stack()
        return self._bare

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See `Starlette`."""
        left = OpenStream(scope, receive)
        await self.answer(left, scope, receive, send)
        await left.send_events(receive, send)

    def answer(self, left: "OpenStream", scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answers a request, but for the events of its stream if it has one, which are ``left`` to send."""
        scope["app"], scope[STREAM] = self, left
        stack = self.middleware_stack = self.middleware_stack or self.build_middleware_stack()
        finds = stack is self._bare and self._finds_run(scope)
        return self._answer_run(stack, scope, receive, send) if finds else stack(scope, receive, send)

    async def _answer_run(self, stack: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await self.direct(scope, receive, send)
        if FAILED in scope:
            await stack(scope, receive, send)

    def _finds_run(self, scope: Scope) -> bool:
        """Returns whether a `RunRoute` is the first to match, and no page of another origin asks."""
        if scope["type"] == "http" and b"origin" not in dict(scope["headers"]):
            for route in self.router.routes:
                if type(route) is not RunRoute:
                    return False
                match, more = route.matches(scope)
                if match is Match.FULL:
                    scope.update(more, route=route)
                    return True
        return False


class RunRoute(Route):
    """A route whose requests a `StreamingApplication` answers directly. What fails is raised again within all that is
    around the routes, which answers errors.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See `Route`."""
        if FAILED in scope:
            raise scope.pop(FAILED)
        await super().handle(scope, receive, send)


class OpenStream(list[tuple[EventStream, Scope]]):
    """The stream, if any, whose head the routes have sent. What was added around them hides the request's ``cycle``."""

    __slots__ = ("cycle",)

    def __init__(self, scope: Scope, receive: Receive) -> None:
        outer = scope.get(STREAM)
        self.cycle = cycle_of(receive) if outer is None else outer.cycle

    async def send_events(self, receive: Receive, send: Send) -> None:
        """Sends its events."""
        if self:
            stream, inner = self.pop()
            await stream.send_events(inner, receive, send, self.cycle)


def cycle_of(receive: Receive) -> Any:
    """Returns what uvicorn has of the request of which ``receive`` tells; None under another server."""
    cycle = getattr(receive, "__self__", None)
    return cycle if hasattr(cycle, "disconnected") and hasattr(cycle, "message_event") else None


def hang_up(cycle: Any) -> None:
    """Closes the connection of ``cycle``, if that isn't None, without waiting for what its client doesn't take."""
    if cycle is not None:
        cycle.disconnected = True  # else uvicorn would complain of an answer without an end
        cycle.message_event.set()
        cycle.transport.abort()


def has_left(transport: Any) -> bool:
    """Returns whether a connection's client is gone, also where nothing reads from it: uvicorn doesn't while a further
    request waits behind a stream, and it tells only the newest request. Half closed is gone, as it is for uvicorn.
    """
    if transport.is_closing() or not hasattr(select, "poll"):  # as on Windows
        return bool(transport.is_closing())
    ends = select.poll()
    ends.register(transport.get_extra_info("socket"), getattr(select, "POLLRDHUP", 0))  # Linux has that one
    return bool(ends.poll(0))


class _OneWrite:
    """The transport of ``cycle`` within a `with`: what is written to it is sent at the end, in one piece, since to wake
    a client twice takes longer. All else is the transport's own.
    """

    def __init__(self, cycle: Any) -> None:
        self._cycle, self._transport, self._parts = cycle, cycle.transport, list[bytes]()
        self.write = self._parts.append

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def __enter__(self) -> None:
        self._cycle.transport = self

    def __exit__(self, *_: object) -> None:
        self._cycle.transport = self._transport
        if not self._transport.is_closing():  # uvloop's raises then
            self._transport.write(b"".join(self._parts))


class _Client(asyncio.Event):
    """The event that uvicorn sets whenever something has happened to the request of this ``cycle``. It closes
    ``reader`` once the client is gone. Under other servers a task has to wait for that, which takes 1.4 KB.
    """

    def __init__(self, cycle: Any, reader: Reader) -> None:
        super().__init__()
        self._waiters = []  # type: ignore[assignment]  # there is no interface for it; an empty deque takes 760 bytes
        self._cycle, self._reader = cycle, reader

    def set(self) -> None:
        """See `asyncio.Event`."""
        super().set()
        if self._cycle is not None and self._cycle.disconnected:
            self._reader.close()

    def cancel(self) -> None:
        """Looks no longer after a stream that is over."""
        self._cycle = None


def _client_of(cycle: Any, reader: Reader) -> _Client | None:
    """Returns what closes ``reader`` when the client is gone, in the place of the event for which ``receive`` waits.
    None if the server is not one that we know, or if somebody waits for the client already.
    """
    if cycle is None or getattr(cycle.message_event, "_waiters", True):
        return None
    client = cycle.message_event = _Client(cycle, reader)
    _drop_deques(cycle)
    cycle.flow.resume_reading()  # as `receive` does: after a large body nothing is read, so not its client's end either
    if cycle.disconnected:
        reader.close()
    return client


class _Pipeline(list[Any]):
    """The requests that wait behind a stream, the latest first."""

    def appendleft(self, waiting: Any) -> None:
        """Adds the latest."""
        self.insert(0, waiting)


def _drop_deques(cycle: Any) -> None:
    """Replaces two deques of uvicorn's, which are empty for as long as a stream goes well. Each takes 760 bytes."""
    flow, protocol = cycle.flow, cycle.transport.get_protocol()
    if not getattr(getattr(flow, "_is_writable_event", None), "_waiters", True):
        flow._is_writable_event._waiters = []
    if not getattr(protocol, "pipeline", True):
        protocol.pipeline = _Pipeline()


class _StreamGuard:
    """Looks after one stream: pings ``reader``, lets `timeout` expire when a send takes over ``limit``
    seconds. It closes ``reader`` once ``admission`` stands no more (None: nobody had to be known), or the client of
    ``cycle`` has left.
    """

    __slots__ = ("_admission", "_asked_at", "_asking", "_begun", "_cycle", "_due", "_limit", "_loop", "_over",
                 "_pinged_at", "_reader", "_rounds", "timeout")  # fmt: skip

    def __init__(self, reader: Reader, limit: float, admission: Admission | None, cycle: Any) -> None:
        self._reader, self._limit, self._admission, self._cycle = reader, limit, admission, cycle
        self.timeout = asyncio.timeout(None)
        self._rounds, self._loop, self._over = rounds(), asyncio.get_running_loop(), False
        self._asking: asyncio.Task[None] | None = None
        self._begun: float | None = None
        self._asked_at = self._pinged_at = self._loop.time()
        self._rounds.watch(self, self._next_due())

    def begin(self) -> None:
        """Begins to time a send. Raises `OSError` if it is to a connection that is closed."""
        if self._cycle is not None and self._cycle.transport.is_closing():
            hang_up(self._cycle)
            raise ConnectionResetError
        self._begun = self._loop.time()
        if self._begun + self._limit < self._due:
            self._rounds.watch(self, self._next_due())

    def end(self) -> None:
        """Ends the send."""
        self._begun = None

    async def check(self) -> None:
        """Raises `Unauthorized` if it doesn't stand at this moment."""
        if self._admission is not None and not await self._admission.stands_now():
            self._over = True
        self.check_ended()

    def check_ended(self) -> None:
        """Raises `Unauthorized` if it is known to stand no more."""
        if self._over:
            raise Unauthorized(ENDED)

    def stop(self) -> None:
        """Looks no longer: no more sends follow."""
        self._rounds.leave(self)
        if self._asking is not None:
            self._asking.cancel()

    def _next_due(self) -> float:
        self._due = self._pinged_at + PING_INTERVAL
        if self._begun is not None:
            self._due = min(self._due, self._begun + self._limit)
        if self._asking is None:
            self._due = min(self._due, self._asked_at + Admission.AGAIN_SECONDS)
        return self._due

    def check_due(self, now: float) -> float:
        """See `Watched`."""
        if self._begun is not None and now >= self._begun + self._limit:
            self.timeout.reschedule(now)
            self._begun = None
        if now >= self._pinged_at + PING_INTERVAL:
            self._reader.ping()
            self._pinged_at = now
        if self._asking is None and now >= self._asked_at + Admission.AGAIN_SECONDS:
            self._asked_at = now
            if self._cycle is not None and has_left(self._cycle.transport):
                hang_up(self._cycle)
                self._reader.close()
            elif self._admission is not None:
                self._asking = asyncio.create_task(self._ask(self._admission))
        return self._next_due()

    async def _ask(self, admission: Admission) -> None:
        if await admission.stands():
            self._asked_at, self._asking = self._loop.time(), None
            self._rounds.watch(self, self._next_due())
        else:
            self._over = True
            self._reader.close()
