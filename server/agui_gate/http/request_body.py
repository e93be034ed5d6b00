"""A request's body: what it may be, checked before anything looks at it, and decoded.

A small body is decoded where it is: that takes microseconds. A large one goes to the thread for heavy work, so that
nobody else waits. There only the decoder itself keeps the event loop waiting, which is one call. How long that may take
depends on how many objects it makes, so their number is bounded.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from starlette.requests import ClientDisconnect, Request

from agui_gate.concurrency import collector_paused, off_loop
from agui_gate.config.limits import BODY_SECONDS, MAX_BODY_BYTES
from agui_gate.core.json_text import has_more
from agui_gate.errors import InvalidRequest, TooLarge, UnsupportedMediaType
from agui_gate.protocol.request_decoder import decode, decode_json, oddities
from agui_gate.protocol.run_input import RunInput

log = structlog.get_logger("agui_gate.http")

SLOWEST = 16 * 1024
"""Bytes in a second of the slowest upload that is waited for to its end: a phone's, where the signal is bad.

Somebody who sends a byte a minute must not hold a connection for ever. Each so many bytes that came give a body another
second.
"""

LARGE = 64 * 1024
"""Bytes from which on a body is decoded in the thread."""

MAX_CONTAINERS = 100_000
"""Objects and lists in one body."""

AT_ONCE, FEW_CONTAINERS = 512 * 1024, 20_000
"""Bytes, and objects and lists in them, up to which a history is decoded where it is: that takes two milliseconds, in
which another thread would hold the interpreter's lock. Up to twice `LARGE` there is no room for `MAX_CONTAINERS`.
"""

T = TypeVar("T")


def headers_of(request: Request) -> dict[bytes, bytes]:
    """Returns a request's headers by their names in small letters, of each name the first. Starlette's `Headers` goes
    through all of them for each name.
    """
    return dict(reversed(request.scope["headers"]))


async def json_body(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    """Returns the body's bytes. Raises `UnsupportedMediaType` (415), or `TooLarge` (413) as soon as it is known,
    without reading on.

    Raises `InvalidRequest` if it was cut off, or takes too long.
    """
    headers = headers_of(request)
    declared, announced = headers.get(b"content-type"), headers.get(b"content-length", b"")
    if declared is not None and not is_json(declared):
        raise UnsupportedMediaType("Send application/json.")
    # The number of digits first: a length of thousands of digits is no number that may be parsed.
    if announced.isdigit() and (len(announced) > 19 or int(announced) > limit):
        raise _too_large(limit)
    try:
        body = await (_whole if _is_here(request) else _read)(request, limit)
    except ClientDisconnect:
        raise InvalidRequest("The request was cut off.") from None
    if body and declared is None:  # as HTTP/2 may bring one, without a length
        raise UnsupportedMediaType("Send application/json: add the header Content-Type: application/json.")
    return body


def _is_here(request: Request) -> bool:
    """Returns whether all of the body has come and nobody has read it, where the server is one that we know: so nothing
    has to be waited for.
    """
    cycle: Any = getattr(request.receive, "__self__", None)
    is_here = getattr(cycle, "more_body", True) is False and cycle.message_event.is_set()
    return is_here and not (request._stream_consumed or hasattr(request, "_body"))  # an application's `auth` may


async def _whole(request: Request, limit: int) -> bytes:
    """Returns a body that is here: one message, for which Starlette's generator takes ten calls."""
    request._stream_consumed = True
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    body: bytes = message.get("body", b"")
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _read(request: Request, limit: int) -> bytes:
    """Returns a body, as it comes in."""
    seconds = getattr(request.app.state, "body_seconds", BODY_SECONDS) if "app" in request.scope else BODY_SECONDS
    chunks: list[bytes] = []
    size = earned = 0
    try:
        async with asyncio.timeout(seconds) as bound:
            end = bound.when() or 0.0
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
                chunks.append(chunk)
                if size // SLOWEST > earned:  # not for each chunk: most bodies come in one
                    earned = size // SLOWEST
                    bound.reschedule(end + earned)
    except TimeoutError:
        raise InvalidRequest(f"The body did not arrive within {seconds:g} seconds.") from None
    return b"".join(chunks)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"This is too long: a request may have at most {limit:,} bytes.")


def is_json(declared: bytes) -> bool:
    """Returns whether a Content-Type is one of JSON."""
    if declared == b"application/json":  # as nearly all are
        return True
    kind = declared.partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


def check_declared(request: Request, *, preflighted: bool) -> None:
    """Raises `UnsupportedMediaType` for a body that isn't declared as JSON, as this request's isn't. A browser sends
    such a one for every page without asking the server first. ``preflighted``: it must have asked, as every page's
    origin is allowed. A POST without a body shows that by declaring JSON all the same, or by a bearer token, which no
    browser adds by itself.
    """
    headers = request.headers
    by_token = headers.get("authorization", "").lower().startswith("bearer ")
    has_body = "transfer-encoding" in headers or headers.get("content-length", "0").strip("0") != ""
    if has_body or (preflighted and request.method == "POST" and not by_token):
        raise UnsupportedMediaType("Send application/json: add the header Content-Type: application/json.")


async def run_input(body: bytes, find: Callable[[str], Any]) -> RunInput:
    """`decode`, wherever it should be done. What is odd in it, and no reason to refuse it, is told to the log once.

    ``find`` returns what is known of the messages of a thread: see `Engine.sent_before`.
    """
    if len(body) > LARGE:
        from agui_gate.protocol.sent_messages import decode_all, decode_new

        known = decode_new(body, find, MAX_CONTAINERS)
        if known is not None:
            run = known
        elif len(body) <= 2 * LARGE or (len(body) <= AT_ONCE and check_containers(body) <= FEW_CONTAINERS):
            with collector_paused():
                run = decode_all(body)
        else:
            run = await off_loop(_decoded, decode_all, body)
    else:
        run = decode(body)
    for what, said in oddities(run):
        log.warning(what, **said)
    return run


async def json_value(body: bytes) -> Any:
    """`decode_json`, wherever it should be done."""
    return await decoded(decode_json, body)


async def decoded(function: Callable[[bytes], T], body: bytes) -> T:
    """Returns what ``function`` makes of ``body``. Raises `TooLarge`."""
    return await off_loop(_decoded, function, body) if len(body) > LARGE else function(body)


def _decoded(function: Callable[[bytes], T], body: bytes) -> T:
    check_containers(body)
    with collector_paused():
        return function(body)


def check_containers(body: bytes) -> int:
    """Returns the number of opening brackets in a JSON text. Raises `TooLarge` if there are more than `MAX_CONTAINERS`
    objects and lists in it.
    """
    number = body.count(b"{") + body.count(b"[")
    if number > MAX_CONTAINERS and has_more(body, MAX_CONTAINERS, b"{["):
        raise TooLarge(f"A body may have at most {MAX_CONTAINERS:,} objects and lists.")
    return number
