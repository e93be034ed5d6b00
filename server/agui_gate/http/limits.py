"""What a request body may be, checked before anything looks at it."""

import asyncio

from starlette.requests import ClientDisconnect, Request

from agui_gate.errors import InvalidRequest, TooLarge, UnsupportedMediaType

MAX_BODY = 4 * 1024 * 1024
"""Bytes, unless the settings say otherwise."""

BODY_SECONDS = 60.0
"""How long a body may take to arrive, unless the application's state says otherwise (`body_seconds`). Somebody who
sends a byte a minute must not hold a connection for ever. Each `SLOWEST` bytes that came give it another second.
"""

SLOWEST = 16 * 1024
"""Bytes in a second of the slowest upload that is waited for to its end: a phone's, where the signal is bad."""


async def json_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """The body's bytes. Raises `UnsupportedMediaType`, or `TooLarge` as soon as it is known, without reading on.

    Raises `InvalidRequest` if it was cut off, or takes too long.
    """
    seconds = getattr(request.app.state, "body_seconds", BODY_SECONDS) if "app" in request.scope else BODY_SECONDS
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise UnsupportedMediaType("Send application/json.")
    announced = request.headers.get("content-length", "")
    # The number of digits first: a length of thousands of digits is no number that may be parsed.
    if announced.isascii() and announced.isdigit() and (len(announced) > 19 or int(announced) > limit):
        raise TooLarge(f"The body may have at most {limit:,} bytes.")
    try:
        async with asyncio.timeout(seconds) as bound:
            return await _read(request, limit, bound)
    except TimeoutError:
        raise InvalidRequest(f"The body came too slowly: it did not arrive within {seconds:g} seconds.") from None
    except ClientDisconnect:
        raise InvalidRequest("The request was cut off.") from None


async def _read(request: Request, limit: int, bound: asyncio.Timeout) -> bytes:
    chunks: list[bytes] = []
    size = earned = 0
    end = bound.when() or 0.0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"The body may have at most {limit:,} bytes.")
        if size // SLOWEST > earned:  # not for each chunk: most bodies come in one
            earned = size // SLOWEST
            bound.reschedule(end + earned)
        chunks.append(chunk)
    return b"".join(chunks)
