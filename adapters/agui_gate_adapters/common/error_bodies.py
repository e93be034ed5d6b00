"""Error replies, read only as far as anybody needs them.

The SDKs read the whole body of an error before they say which it is. A body without end, or one that breaks off, would
hide the status, which is what counts. So what they get to read is what came within limits, and it has an end.
"""

from typing import TYPE_CHECKING

import anyio

from .failures import log

if TYPE_CHECKING:
    import httpx2

MAX_BODY = 64 * 1024
"""Bytes; every API's own errors have a few hundred."""
MAX_SECONDS = 5.0
_CLOSE_SECONDS = 1.0


async def bound(response: "httpx2.Response") -> None:
    """A response hook of the HTTP client: puts the beginning of an error's body in its place. Never raises."""
    import httpx2

    stream = response.stream
    if response.status_code >= 300 and isinstance(stream, httpx2.AsyncByteStream):
        response.stream = httpx2.ByteStream(await _beginning(stream))


async def _beginning(stream: "httpx2.AsyncByteStream") -> bytes:
    body = bytearray()
    with anyio.move_on_after(MAX_SECONDS):
        try:
            async for chunk in stream:
                body += chunk
                if len(body) >= MAX_BODY:
                    break
        except Exception as error:
            log.debug("an error's body broke off", exc_info=error)
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
        await stream.aclose()
    return bytes(body[:MAX_BODY])
