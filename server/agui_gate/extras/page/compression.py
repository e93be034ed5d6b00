"""Compression of answers for clients that take it: long threads over slow lines. Streams of events are never
compressed.
"""

import gzip

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from agui_gate.concurrency import off_loop

LARGE = 64 * 1024
"""Bytes from which on compressing takes long enough to be done off the loop."""
LEVEL = 5
"""Of gzip's nine: almost as small as its best, in a third of the time."""


def accepts(coding: str, headers: Headers) -> bool:
    """Returns whether who asks takes an answer that is compressed in that way."""
    for accepted in headers.get("accept-encoding", "").split(","):
        name, _, weight = accepted.partition(";")
        if name.strip().lower() == coding:
            return weight.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


async def compressed(request: Request, response: Response) -> Response:
    """Returns the answer, whose body is compressed in place where that is taken and of use. Its tag becomes a weak one:
    it is the same for both forms.
    """
    body = bytes(response.body)
    if response.status_code == 304:
        return response
    response.headers.add_vary_header("Accept-Encoding")
    if not accepts("gzip", request.headers):
        return response
    packed = _pack(body) if len(body) < LARGE else await off_loop(_pack, body)
    response.body = packed
    response.headers.update({"content-encoding": "gzip", "content-length": str(len(packed))})
    if "etag" in response.headers:
        response.headers["etag"] = f"W/{response.headers['etag']}"
    return response


def _pack(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)
