"""Runs a turn: sends the request, and reads the provider's bytes into model events. Retries while nothing was shown."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import anyio
import msgspec

from agui_gate.adapter import ModelEvent, SSESplitter, TurnRequest, collector_paused, off_loop
from agui_gate.errors import ProviderRejected, ProviderUnavailable
from agui_gate_adapters.common.retries import Ladder

from .failures import Failure, Kind, unreachable
from .large_requests import Items, Pieces, encode, in_pieces, is_heavy, work_through
from .transport import body_of_wire, broken, read

if TYPE_CHECKING:
    import httpx2

    from .surrogates import Halves
    from .wire import Body as Wired


P = TypeVar("P")
T = TypeVar("T")

Batches = AsyncGenerator[Sequence[ModelEvent], None]

Body = dict[str, Any]
"""A JSON object on its way to the provider."""

_DRAIN_SECONDS = 0.25
"""How long to wait for the end of the body after the terminal event, so that the connection can be used again."""
_CLOSE_SECONDS = 2.0


class Machine(Protocol):
    """Turns payloads into model events: pure, one instance a response.

    ``done`` is true once the response ended by itself; ``failure`` is set when the provider said that it failed, or
    when what it says can't be read.
    """

    done: bool
    failure: Failure | None

    def feed(self, payloads: list[bytes]) -> list[ModelEvent]:
        """Returns the events of these payloads; what follows a failure or the end is ignored."""
        ...

    def end(self) -> list[ModelEvent]:
        """Returns the last events at the end of the body. ``done`` stays false if the answer was cut."""
        ...


class Splitter(Protocol):
    """Splits the body's bytes into payloads, one instance a response. `SSESplitter` is the usual one."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the payloads that this chunk completed. Raises `ProviderUnavailable` when one is too large."""
        ...

    def flush(self) -> list[bytes]:
        """Returns an unterminated last payload at the end of the body."""
        ...


class Opened(NamedTuple):
    """A reply whose body is unread, the machine that will read it, and what splits it, if not as server-sent events."""

    response: "httpx2.Response | Wired"
    machine: Machine
    splitter: Splitter | None = None


async def run_turn(
    begin: Callable[[P], Awaitable[Opened]],
    plan: P,
    ladder: Ladder[P],
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> Batches:
    """Batches of one turn. ``begin`` sends a plan; the ladder says what follows a failure. Raises `ProviderError`."""
    import httpx2

    while True:
        shown = False
        try:
            answer = _Answer(*await begin(plan))
            try:
                async for chunk in answer.chunks:
                    if batch := answer.read(chunk):
                        shown = True
                        yield batch
                    if answer.is_over:
                        break
                    del chunk, batch  # not kept while nothing comes
                if batch := answer.end():
                    shown = True
                    yield batch
                answer.check()
            except httpx2.TransportError as error:
                raise broken(error) from error
            finally:
                await answer.leave()
            return
        except Failure as failure:
            step = None if shown else ladder.next(failure, plan)
            if step is None:
                raise failure.error from failure
        if step.wait:
            await sleep(step.wait)
        plan = step.plan


class _Answer:
    """One answer while it is read. ``chunks`` are the bytes of its body as they come."""

    __slots__ = ("_body", "_halves", "_machine", "_reply", "_splitter", "chunks")

    def __init__(self, response: "httpx2.Response | Wired", machine: Machine, splitter: Splitter | None) -> None:
        self._machine, self._splitter = machine, splitter or SSESplitter()
        self._halves: Halves | None = None
        self._body = body = body_of_wire(response)
        self._reply = response if body is None else body  # of a `Wire`'s reply nothing but the body is kept
        self.chunks = read(cast("httpx2.Response", response)) if body is None else body

    @property
    def is_over(self) -> bool:
        """True if what else comes of the body doesn't matter."""
        return self._machine.done or self._machine.failure is not None

    def read(self, chunk: bytes) -> list[ModelEvent]:
        """Returns the events of a chunk. Raises `Failure` for what can't be read."""
        try:
            return self._machine.feed(self._joined(self._splitter.feed(chunk)))
        except (ProviderUnavailable, RecursionError) as error:
            raise _unreadable(error) from error

    def _joined(self, payloads: list[bytes]) -> list[bytes]:
        """Returns the payloads, without characters in halves, which hardly any have."""
        for payload in payloads:
            # `find` of one byte, which few payloads have: `in` first takes bytes for a number, and drops a TypeError.
            if payload.find(b"\\") >= 0 and (payload.find(b"\\ud") >= 0 or payload.find(b"\\uD") >= 0):
                if self._halves is None:
                    from .surrogates import Halves

                    self._halves = Halves()
                return self._halves.joined(payloads)
        return payloads

    def end(self) -> list[ModelEvent]:
        """Returns the last events, if the body has ended too early. Raises `Failure` for what can't be read."""
        if self.is_over:
            return []
        # A frame without its end is one only if its JSON has an end.
        rest = [payload for payload in self._splitter.flush() if payload.endswith((b"}", b"[DONE]"))]
        try:
            batch = self._machine.feed(self._joined(rest))
            ends = not self._machine.done and self._machine.failure is None
            return batch + self._machine.end() if ends else batch
        except (ProviderUnavailable, RecursionError) as error:
            raise _unreadable(error) from error

    def check(self) -> None:
        """Raises `Failure` if the answer has failed, or ended before its terminal event."""
        if self._machine.failure is not None:
            raise self._machine.failure
        if not self._machine.done:
            raise unreachable("The provider's answer was cut off.", sent=True)

    async def leave(self) -> None:
        """Gives the connection back if the answer is complete, else closes it; neither may take long or be
        interrupted.
        """
        if self._machine.done:
            if self._body is not None and self._body.leave_rest():
                return  # nothing to wait for, as nearly always
            with anyio.move_on_after(_DRAIN_SECONDS, shield=True):
                await self._drain()
            if self._reply.is_closed:
                return  # as it is where the body came to its end
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await self.chunks.aclose()
            await self._reply.aclose()

    async def _drain(self) -> None:
        import httpx2

        with suppress(Failure, httpx2.TransportError):  # nothing that comes after the terminal event matters
            async for _ in self.chunks:
                pass


def _unreadable(error: ProviderUnavailable | RecursionError) -> Failure:
    """Returns the failure for events that are too large, or nested too deeply to decode."""
    if isinstance(error, ProviderUnavailable):
        return Failure(error, Kind.AMBIGUOUS)
    return unreachable("The provider's stream is not readable: an event is nested too deep.", sent=True)


def prepared(
    request: TurnRequest, prepare: Callable[[TurnRequest], T], stream: Callable[[T], Batches], *, heavy: bool
) -> Batches:
    """Yields what ``stream`` yields for the result of ``prepare``, which is called beside the loop if it is
    ``heavy``.
    """
    return _prepared(request, prepare, stream) if heavy else stream(prepare(request))


async def _prepared(
    request: TurnRequest, prepare: Callable[[TurnRequest], T], stream: Callable[[T], Batches]
) -> Batches:
    async with aclosing(stream(await off_loop(prepare, request))) as batches:
        async for batch in batches:
            yield batch


class Sender(Protocol):
    """An object that sends a request: a `Transport`, or an `Address` of an `Http`."""

    async def open(self, content: bytes | Pieces, tools: Sequence[str] = ()) -> "httpx2.Response | Wired":
        """Posts a streaming request and returns the reply, its body unread. Raises `Failure`."""
        ...


Written = tuple[bytes | Pieces, list[str]]
"""A request as JSON, and the names of its tools in their order."""


async def sent(
    transport: Sender, request: TurnRequest, make: Callable[[], Body], name: str = ""
) -> "httpx2.Response | Wired":
    """Sends the body that ``make`` makes of ``request``; returns the reply, its body unread: see `Wire.send`.

    ``make`` is a pure function; for a large request it is called beside the event loop, unless nearly all stays under
    ``name`` (`replayed`). Raises `Failure`, which says what of the request it is about.
    """
    content, tools = await off_loop(_in_pieces, make) if is_heavy(request, name) else _written(make, encode)
    try:
        return await transport.open(content, tools)
    except Failure as failure:
        if failure.place:
            failure.point_at(await work_through(request, lambda: _plain(make())))
        raise


def _plain(body: Body) -> Body:
    return {name: msgspec.json.decode(one.joined()) if isinstance(one, Items) else one for name, one in body.items()}


def _in_pieces(make: Callable[[], Body]) -> Written:
    with collector_paused():  # it would go through what is made here again and again, and nothing of that stays
        return _written(make, in_pieces)


def _written(make: Callable[[], Body], write: Callable[[Body], bytes | Pieces]) -> Written:
    """Raises `Failure` for what JSON can't hold: lone surrogates, an invalid schema."""
    body = make()
    try:
        return write(body), tool_names(body)
    except (TypeError, ValueError) as error:
        raise Failure(ProviderRejected("The request can't be written as JSON.")) from error


def tool_names(body: Body) -> list[str]:
    """Returns the names of a request's tools, in order: our own, and the types of the provider's own."""
    return [
        str(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", ""))
        for tool in body.get("tools", ())
    ]
