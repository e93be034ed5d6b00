"""A run's events as an ASGI response.

Our own rather than sse-starlette's `EventSourceResponse` (ADR 0002): that one starts four tasks a response, and encodes
and sends event by event. This one sends whatever frames are ready in one body message. What it promises is the same:
`\\n\\n` framing, comment pings, a bound on every send, and an end when the client leaves or the server stops.

Divergence from ASGI, which has no word for it: a reader that takes nothing is hung up on through uvicorn's transport.
Ending the response as usual would wait for that reader to take what was sent before.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agui_gate.bus.base import FellBehind, Reader
from agui_gate.config.limits import SEND_TIMEOUT
from agui_gate.errors import Unauthorized, Unavailable
from agui_gate.http.auth import ENDED, Admission, admission_of

HANG_UP_SECONDS = 1.0
"""Seconds that the server may take to notice that a connection was hung up on."""

PING_INTERVAL = 15.0
"""Seconds between comments on an idle stream."""

HEADERS = {
    "cache-control": "no-cache, no-transform",
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
}

ASKING = (b'"confirm_changes"', b'"interrupt"')
"""Byte strings in the frames that ask a person: a card, or an interrupt."""

log = structlog.get_logger("agui_gate.http")


class EventStream(Response):
    """Streams what ``reader`` reads. ``on_close`` is called once, when the stream is over for whatever reason: with
    True if we ended it before its end.
    """

    def __init__(self, reader: Reader, run_key: str | None, on_close: Callable[[bool], None]) -> None:
        super().__init__(headers={**HEADERS, "agui-run-key": run_key} if run_key else HEADERS)
        self._reader = reader
        self._run_key = run_key
        self._on_close = on_close

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Sets these headers and no others: a stream has no length."""
        self.raw_headers = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends until the run ends, the client leaves, or it doesn't keep up. It doesn't when no bytes are accepted
        within the send time-out, or when it is further behind than what is kept. Such a reader can come back with its
        last event's id. So can one whose events can't be had any more, since the bus is away or this replica stops. It
        also ends when `auth` doesn't know any more who opened it.
        """
        limit = getattr(scope["app"].state, "send_timeout", SEND_TIMEOUT) if "app" in scope else SEND_TIMEOUT
        watcher = asyncio.create_task(self._watch(receive))
        pinger = _Pinger(self._reader)
        admission = _Admitted(self._reader, admission_of(scope))
        try:
            await self._send(send, limit, admission)
        except (TimeoutError, FellBehind, Unavailable, Unauthorized) as error:
            why = error.message if isinstance(error, Unavailable | Unauthorized) else "the client reads too slowly"
            log.warning("reader_dropped", run=self._run_key, why=why)
            scope["agui_gate.dropped"] = True  # for who counts
            await _hang_up(receive, watcher)
        except OSError:
            pass  # the client is gone, which is how most streams of chats end
        finally:
            pinger.stop()
            admission.stop()
            watcher.cancel()
            self._reader.close()
            self._on_close("agui_gate.dropped" in scope)

    async def _send(self, send: Send, limit: float, admission: "_Admitted") -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        read, asked_again, (card, interrupt) = self._reader.read, admission.is_asked_again, ASKING
        async with asyncio.timeout(None) as timeout:
            bound = _Bound(timeout, limit)
            try:
                while data := await read():
                    # Not `in`: that first takes bytes for a number, and drops a TypeError for each delta.
                    if asked_again and (data.find(card) >= 0 or data.find(interrupt) >= 0):
                        await admission.check()
                    bound.begin()
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                    bound.end()
                admission.check_ended()
                bound.begin()
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                bound.stop()

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._reader.close()


def hang_up(receive: Receive) -> bool:
    """Closes the connection without waiting for what its client doesn't take, if the server is one that we know."""
    transport = getattr(getattr(receive, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()
    return transport is not None


async def _hang_up(receive: Receive, watcher: "asyncio.Task[None]") -> None:
    if hang_up(receive):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(watcher, HANG_UP_SECONDS)  # then the server knows, and has nothing to complain of


class _Bound:
    """Lets ``timeout`` expire when one of its sends takes over ``limit`` seconds.

    One timer that looks at the send under way: a timer for each send would cost more than most sends do.
    """

    __slots__ = ("_begun", "_handle", "_limit", "_loop", "_timeout")

    def __init__(self, timeout: asyncio.Timeout, limit: float) -> None:
        self._timeout, self._limit = timeout, limit
        self._loop = asyncio.get_running_loop()
        self._begun: float | None = None
        self._handle: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begins to time a send."""
        self._begun = self._loop.time()
        if self._handle is None:
            self._handle = self._loop.call_at(self._begun + self._limit, self._check)

    def end(self) -> None:
        """Ends the send."""
        self._begun = None

    def stop(self) -> None:
        """Stops the clock: no more sends follow."""
        if self._handle is not None:
            self._handle.cancel()

    def _check(self) -> None:
        self._handle = None
        if self._begun is None:
            return  # the next send starts the timer again
        now, end = self._loop.time(), self._begun + self._limit
        if now < end:
            self._handle = self._loop.call_at(end, self._check)
        else:
            self._timeout.reschedule(now)


class _Admitted:
    """Closes ``reader`` once ``admission`` stands no more (None: nobody had to be known). Its task begins with the
    first time that it asks: most runs are over before.
    """

    __slots__ = ("_admission", "_asking", "_handle", "_over", "_reader")

    def __init__(self, reader: Reader, admission: Admission | None) -> None:
        self._reader, self._admission = reader, admission
        self._over = False
        self._asking: asyncio.Task[None] | None = None
        self._handle: asyncio.TimerHandle | None = None
        if admission is not None:
            self._handle = asyncio.get_running_loop().call_later(admission.AGAIN_SECONDS, self._ask)

    @property
    def is_asked_again(self) -> bool:
        """True if somebody has to be known, and is asked again."""
        return self._admission is not None

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
        if self._handle is not None:
            self._handle.cancel()
        if self._asking is not None:
            self._asking.cancel()

    def _ask(self) -> None:
        self._asking = asyncio.create_task(self._ask_on())

    async def _ask_on(self) -> None:
        admission = self._admission
        if admission is not None and await admission.stands():
            await admission.ended()
        self._over = True
        self._reader.close()


class _Pinger:
    """Pings ``reader`` every `PING_INTERVAL` seconds, without a task of its own."""

    __slots__ = ("_handle", "_loop", "_reader")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(PING_INTERVAL, self._ping)

    def stop(self) -> None:
        self._handle.cancel()

    def _ping(self) -> None:
        self._reader.ping()
        self._handle = self._loop.call_later(PING_INTERVAL, self._ping)
