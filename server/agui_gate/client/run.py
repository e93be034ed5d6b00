"""Follows one run: its events as they come, folded into its thread, and how it ended."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from agui_gate.client import events as ev
from agui_gate.client.chunks import Chunks
from agui_gate.client.connection import Connection, Frames, printable_id
from agui_gate.client.errors import BrokenOff, ClientError, Malformed, Refused, TooSlow, Unreachable
from agui_gate.client.event_decoder import LARGE, Reader
from agui_gate.client.events import Json
from agui_gate.concurrency import Pacer, collector_paused, off_loop
from agui_gate.errors import Interrupted

if TYPE_CHECKING:
    import httpx2

BACKOFF = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds before each attempt to take up a stream that broke."""

_FORGOTTEN = (400, 404, 410)
"""The statuses of a server that doesn't have a run's events any more."""

MUCH = 64 * 1024
"""Bytes of state, messages and activities from which on to change them may take long enough to be noticed."""

_CHANGES = (
    ev.StateSnapshot,
    ev.StateDelta,
    ev.MessagesSnapshot,
    ev.ActivitySnapshot,
    ev.ActivityDelta,
    ev.ToolCallResult,
    ev.RunStarted,
    ev.RunFinished,
)
"""Events that may go through all that was told before: a result does where there is a message of its id."""

T = TypeVar("T")
U = TypeVar("U")
Payloads = AsyncGenerator[list[bytes], None]


async def _beside(function: Callable[[T], U], given: T) -> U:
    """Calls it beside the event loop. It is seen through when the caller is cancelled: nothing is half taken."""
    done = asyncio.ensure_future(off_loop(_without_collector, function, given))
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done])
        raise


def _without_collector(function: Callable[[T], U], given: T) -> U:
    with collector_paused():
        return function(given)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a run. ``code`` and ``error`` are the server's own words of a failure; ``usage`` is as it came.

    ``interrupt``: the agent asks. ``interrupted``: the server process that ran it was lost, so that nobody knows what
    became of the calls that were running; the next message continues.
    """

    kind: Literal["success", "interrupt", "cancelled", "interrupted", "error"]
    result: Any = None
    code: str = ""
    error: str = ""
    usage: tuple[Json, ...] = ()
    metadata: Json | None = None

    @property
    def failed(self) -> bool:
        """True if it ended in an error, or was lost with its server."""
        return self.kind in ("error", "interrupted")

    @property
    def stopped(self) -> bool:
        """True if somebody stopped it. Before 1.0 that was an error with a code of its own."""
        return self.kind == "cancelled" or self.code == "abort"


class Folds(Protocol):
    """Folds what a run tells: its thread."""

    def apply(self, event: ev.AnyEvent) -> None:
        """Takes one event, in order, without chunks. Large ones are brought by another OS thread; one event at a
        time.
        """

    def leave(self) -> None:
        """Leaves the run, which is over, or which nobody reads any more."""


class Run:
    """A run under way. Iterate over its events, or await it; both fold them into the thread, and once only.

    Cancelling, and leaving ``async with`` before the end, closes the connection; what was read stays read. On an
    agui-gate the run goes on then; `stop` ends it. Raises `ClientError`. A run that fails by its own word raises
    nothing: see ``outcome``.
    """

    def __init__(
        self, connection: Connection, thread: Folds, body: Json, *, attach: bool = False, large: bool = False
    ) -> None:
        self.body, self._large = body, large
        self.outcome: Outcome | None = None
        """The run's outcome; None before its end."""
        self.key = ""
        """The server's own name for it; "" where the server has none."""
        self._connection, self._thread, self._limits = connection, thread, connection.limits
        self._attach = attach
        self._started = False
        self._stopped = False
        self._lost = ""
        self._until = 0.0
        self._told = 0
        """Bytes of events that change what was told before."""
        self._reading: asyncio.Timeout | None = None
        self._chunks = Chunks()
        self._frames = Frames(self._limits.event)
        self._events = self._read()

    def __aiter__(self) -> AsyncGenerator[ev.AnyEvent, None]:
        return self._events

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._whole().__await__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Leaves it: closes the connection. Not while another task reads it; see `stop`. Safe to call twice."""
        await self._events.aclose()
        self._thread.leave()

    async def stop(self) -> None:
        """Stops it, also while another task reads it. The reader gets what is left, and its end.

        An agui-gate is asked to; any other server sees that nobody listens any more.
        """
        asked = await self._ask_to_stop() if self.key and self.outcome is None else None
        if not isinstance(asked, dict) or not asked.get("cancelled"):
            self._stopped = True
            if self._reading is not None:
                self._reading.reschedule(asyncio.get_running_loop().time())

    async def _ask_to_stop(self) -> Any:
        path = self._connection.path("threads", str(self.body["threadId"]), "cancel")
        return await self._connection.ask("POST", path)

    async def _whole(self) -> Outcome:
        async with self:
            async for _ in self._events:
                pass
        assert self.outcome is not None  # reading ends with an outcome, or raises
        return self.outcome

    async def _read(self) -> AsyncGenerator[ev.AnyEvent, None]:
        self._until = monotonic() + self._limits.total
        reader, pacer = Reader(), Pacer()
        try:
            async with aclosing(self._payloads()) as batches:
                async for payloads in batches:
                    for payload in payloads:
                        large = len(payload) > LARGE
                        event = await _beside(reader.read, payload) if large else reader.read(payload)
                        for one in self._chunks.unfolded(event) if event is not None else ():
                            self._note(one)
                            if self._is_heavy(one, len(payload)) or large:
                                await _beside(self._thread.apply, one)
                            else:
                                self._thread.apply(one)
                            yield one
                        if pacer.due:
                            await pacer.pause()
        finally:
            self._thread.leave()
        if self.outcome is None:
            self.outcome = Outcome("cancelled")  # we left it, and nobody said more

    def _is_heavy(self, event: ev.AnyEvent, size: int) -> bool:
        """Returns whether a small event may cause much, since it changes what is large."""
        if not isinstance(event, _CHANGES):
            return False
        self._told += size
        return self._large or self._told > MUCH

    def _note(self, event: ev.AnyEvent) -> None:
        """Keeps track of where the run is. Raises `Malformed` for what comes before its beginning or after its end."""
        match event:
            case ev.RunStarted():
                if self._started and self.outcome is None:
                    raise Malformed("The agent began a run before the last one ended.")
                self._started, self.outcome, self._lost = True, None, ""
            case ev.RunError():
                self._started = True
                code = event.code or ""
                kind: Any = "interrupted" if code == Interrupted.code else "error"
                self.outcome = Outcome(kind, code=code, error=event.message, usage=tuple(event.usage or ()))
            case _ if not self._started or self.outcome is not None:
                raise Malformed("The agent sent events outside of a run.")
            case ev.RunFinished():
                kind = (event.outcome or {}).get("type", "success")
                usage = tuple(event.usage or ())
                if self._lost and kind == "success":  # what waits is asked by card
                    self.outcome = Outcome("interrupted", code=Interrupted.code, error=self._lost, usage=usage)
                else:
                    self.outcome = Outcome(kind, event.result, usage=usage, metadata=event.metadata)
            case ev.Custom(name="agui-gate:interrupted", value={"message": str(message)}):
                self._lost = message

    async def _payloads(self) -> Payloads:
        """Returns all payloads of the run, over as many connections as it takes."""
        opened, failed = self._open(), 0
        while True:
            try:
                async with AsyncExitStack() as open_now:
                    response = await self._opened(open_now.enter_async_context(opened))
                    self.key = printable_id(response.headers.get("agui-run-key", "").encode())
                    if self._stopped and self.key:  # stopped before it had a name, so nobody was asked yet
                        await self._ask_to_stop()
                    async with aclosing(self._of(response)) as batches:
                        async for payloads in batches:
                            failed = 0
                            yield payloads
                if self.outcome is not None or self._stopped:
                    return
                raise BrokenOff("The agent's stream ended before its run did.")
            except (BrokenOff, TooSlow, Unreachable, Refused) as error:
                if self.outcome is not None or self._stopped:
                    return
                if not self._can_return(failed, error):
                    raise
                opened = await self._again(error, failed)
                failed += 1

    def _can_return(self, failed: int, error: ClientError) -> bool:
        """Returns whether a stream that broke may be taken up again. The first request is made once, whatever comes of
        it.
        """
        told = self._started and bool(self.key and self._frames.last_id)
        kinds = isinstance(error, BrokenOff | TooSlow) or failed
        return told and bool(kinds) and failed < self._limits.attempts and monotonic() < self._until

    async def _again(self, error: ClientError, failed: int) -> AbstractAsyncContextManager["httpx2.Response"]:
        """Returns the way back: by the cursor; by a snapshot, where the server doesn't have the events any more."""
        await asyncio.sleep(BACKOFF[min(failed, len(BACKOFF) - 1)] if failed else 0)
        if isinstance(error, Refused):
            name = await self._connection.agent_name() if error.http_status in _FORGOTTEN else ""
            if not name or self._attach:
                raise error
            self._attach, self._started, self._chunks = True, False, Chunks()
            self._frames = Frames(self._limits.event)
            return self._open()
        last = self._frames.last_id
        self._frames = Frames(self._limits.event)
        self._frames.last_id = last
        url = self._connection.base + self._connection.path("runs", self.key, "events")
        return self._connection.stream("GET", url, headers={"Last-Event-ID": last})

    def _open(self) -> AbstractAsyncContextManager["httpx2.Response"]:
        connection = self._connection
        url = connection.url
        if self._attach:
            url = connection.base + connection.path("agents", connection.agent, "connect")
        return connection.stream("POST", url, body=self.body, large=self._large)

    async def _of(self, response: "httpx2.Response") -> Payloads:
        """Returns the payloads of one response, each waited for as long as may be."""
        async with aclosing(self._connection.payloads(response, self._frames)) as batches:
            while not self._stopped:
                ended = self.outcome is not None
                left = min(self._until - monotonic(), self._limits.linger if ended else inf)
                try:
                    async with asyncio.timeout(max(left, 0.0)) as self._reading:
                        payloads = await anext(batches, None)
                except TimeoutError:
                    if ended or self._stopped:
                        return
                    raise self._too_slow() from None
                finally:
                    self._reading = None
                if payloads is None:
                    return
                yield payloads

    async def _opened(self, response: Awaitable[T]) -> T:
        """Returns the response, whose headers take no longer than the run may. `stop` waits for it: they name the
        run.
        """
        try:
            async with asyncio.timeout(max(self._until - monotonic(), 0.0)):
                return await response
        except TimeoutError:
            raise self._too_slow() from None

    def _too_slow(self) -> TooSlow:
        return TooSlow(f"The agent's run did not end within {self._limits.total:g} seconds.")
