"""The SDK's transports, watched: it doesn't say by itself when a server has ended its side.

Imports the MCP SDK when it is imported; see `connection`.
"""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from subprocess import DEVNULL
from typing import Any

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from .courier import Courier
from .servers import HTTPServer, Server, StdioServer

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one message over HTTP; results hold images."""


@asynccontextmanager
async def watched(
    server: Server, courier: Courier | None, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams to ``server``, the first of which calls ``on_end`` when it ends. Closes ``courier`` in the end."""
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
