"""The SDK's transports, with an HTTP client of our own under the streamable one, and watched for their end.

The SDK ends a whole connection, with every call that is under way on it, when one request fails below HTTP. This client
turns such failures into JSON-RPC errors about that one request, and notes in them whether it was delivered. Only errors
with this client's seal count as its word, so a server can't forge them.

Imports httpx2 and the MCP SDK when it is imported; see `connection`.
"""

import asyncio
import inspect
import json
import re
import secrets
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import cache
from subprocess import DEVNULL
from typing import Any

import httpx2
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from .errors import Lost, Refused, Trouble, Undelivered
from .servers import HTTPServer, Server, StdioServer

CONNECT_SECONDS = 10.0
NOTICE_SECONDS = 5.0
"""How long a server may take to accept what needs no answer. The SDK sends nothing else on the connection meanwhile."""

MAX_NOTICE = 4096
"""Bytes; a longer message is no notification of ours."""

LOOK_SECONDS = 3.0
MAX_LOOK = 4096
"""How long, and for how many characters, an address that takes no POST is looked at."""

MISSING = (400, 404, 405)
LEGACY = "this is a legacy HTTP+SSE address; use the server's streamable HTTP address, often /mcp"

CODE = -32000
_KINDS: dict[str, type[Trouble]] = {kind.__name__: kind for kind in (Undelivered, Refused, Lost)}


class Courier(httpx2.AsyncClient):
    """Sends requests with the server's headers. What goes wrong is answered as a JSON-RPC error, never raised.

    A call may take as long as its tool may, so waiting for an answer has no time limit of its own here.
    """

    def __init__(self, server: HTTPServer) -> None:
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
        super().__init__(timeout=timeout, verify=certificates())
        self._server = server
        self._seal = secrets.token_hex(16)
        self._legacy: bool | None = None

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Sends a request, and answers for it if it fails below HTTP or without JSON."""
        try:
            request.headers.update(await self._extra())
        except Exception as error:
            return self._sealed(request, Undelivered(f"its headers can't be made ({type(error).__name__})"))
        if _is_notice(request):
            request.extensions["timeout"] = {**request.extensions.get("timeout", {}), "read": NOTICE_SECONDS}
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError):
            return self._sealed(request, Undelivered("can't be reached"))
        except httpx2.TransportError:
            return self._sealed(request, Lost("lost the connection"))
        if response.status_code < 400 or request.method != "POST" or await _speaks_json_rpc(response):
            return response
        await response.aclose()
        if response.status_code in MISSING and await self._is_legacy(request):
            return self._sealed(request, Refused(f"answered {response.status_code}: {LEGACY}"))
        return self._sealed(request, _trouble(request, response.status_code))

    def unsealed(self, data: Any, message: str) -> Trouble | None:
        """Returns the trouble in an error's ``data``, if the seal is this client's."""
        if not isinstance(data, dict) or data.get("seal") != self._seal:
            return None
        return _KINDS[data["kind"]](message)

    async def _is_legacy(self, request: httpx2.Request) -> bool:
        """Whether the address is one of the HTTP+SSE transport of 2024: a GET there begins with where to POST.

        It is looked at as MCP 2025-03-26 says, once, and within `LOOK_SECONDS`.
        """
        if self._legacy is None:
            self._legacy = False
            with suppress(Exception):  # its headers, too, are made by other people's code
                async with asyncio.timeout(LOOK_SECONDS):
                    self._legacy = await self._begins_with_endpoint(str(request.url))
        return self._legacy

    async def _begins_with_endpoint(self, url: str) -> bool:
        look = self.build_request("GET", url, headers={"accept": "text/event-stream", **await self._extra()})
        response = await super().send(look, stream=True)
        try:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                return False
            said = ""
            async for piece in response.aiter_text():
                said += piece
                if len(said) >= MAX_LOOK or "\n\n" in said.replace("\r\n", "\n"):
                    break
            return re.search(r"^event: ?endpoint\s*$", said, re.MULTILINE) is not None
        finally:
            await response.aclose()

    def _sealed(self, request: httpx2.Request, trouble: Trouble) -> httpx2.Response:
        if request.method == "DELETE":  # the end of a session with a server that is gone: that will do
            return httpx2.Response(204, request=request)
        data = {"seal": self._seal, "kind": type(trouble).__name__}
        error = {"code": CODE, "message": str(trouble), "data": data}
        return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)

    async def _extra(self) -> Mapping[str, str]:
        headers = self._server.headers
        if isinstance(headers, Mapping):
            return headers
        made: Mapping[str, str] | Awaitable[Mapping[str, str]] = headers()
        self._server.latest.update(await made if inspect.isawaitable(made) else made)
        return self._server.latest


def _is_notice(request: httpx2.Request) -> bool:
    """Whether a request is a notification, or the end of a session."""
    if request.method != "POST":
        return request.method == "DELETE"
    return len(request.content) <= MAX_NOTICE and "id" not in json.loads(request.content)


async def _speaks_json_rpc(response: httpx2.Response) -> bool:
    """Whether the error is one that the SDK reads itself: the server's own word, not that of something before it."""
    if response.status_code == 404 and "mcp-session-id" in response.request.headers:
        return False
    if not response.headers.get("content-type", "").startswith("application/json"):
        return False
    try:
        body = json.loads(await response.aread())
    except (ValueError, RecursionError, httpx2.TransportError):
        return False
    return isinstance(body, dict) and "jsonrpc" in body


def _trouble(request: httpx2.Request, status: int) -> Trouble:
    """Returns what an HTTP error means: below 500 the request was not carried out, above that is unknown."""
    if status == 404 and "mcp-session-id" in request.headers:  # MCP: the session is gone, begin another
        return Undelivered("no longer knows this session")
    if status in (401, 403):
        return Refused(f"answered {status}: check its headers")
    if status in (404, 405):
        return Refused(f"answered {status}: check its URL")
    return Refused(f"answered {status}") if status < 500 else Lost(f"answered {status}")


@cache
def certificates() -> ssl.SSLContext:
    """Returns the TLS context of all connections: reading the certificates takes some 40 ms."""
    return httpx2.create_ssl_context()


# The SDK's transports, watched: it doesn't say by itself when a server has ended its side.

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one message over HTTP; results hold images."""


@asynccontextmanager
async def watched(
    server: Server, courier: Courier | None, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Opens the streams to ``server``; the first calls ``on_end`` when it ends. Closes ``courier`` afterwards."""
    async with AsyncExitStack() as stack:
        if courier is not None:
            await stack.enter_async_context(courier)
        read, write = await stack.enter_async_context(_transport(server, courier))
        yield _Watched(read, on_end), write


def _transport(server: Server, courier: Courier | None) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    match server:
        case HTTPServer(url=url):
            return streamable_http_client(url, http_client=courier, max_sse_event_size=MAX_EVENT)
        case StdioServer(command=command, args=args, env=env, cwd=cwd):
            made = StdioServerParameters(command=command, args=list(args), env=dict(env), cwd=cwd)
            return stdio_client(made, errlog=sys.__stderr__ or DEVNULL)  # type: ignore[arg-type]  # it goes to Popen


class _Watched:
    """A read stream that says when it ends."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream, self._on_end = stream, on_end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> "_Watched":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> "_Watched":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._on_end()
            raise
