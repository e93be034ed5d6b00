"""One connection to an MCP server, from its start to its end.

An MCP session lives in nested task groups, which have to be entered and left by the same task. So a connection has one
owner task. It opens the session, keeps it until somebody wants it closed or the server ends it, and closes it. Calls
are made by whoever wants something, from any task; they only wait for memory streams that the session feeds.

Imports the MCP SDK when it is imported, which takes a second: see `load`.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, cast

import anyio
from mcp import Client, MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool, ToolListChangedNotification
from pydantic import ValidationError

from agui_gate.adapter import TRACE_HEADERS

from .errors import BadResult, Lost, Refused, Trouble, Unusable
from .servers import HTTPServer, Server, StdioServer, masked
from .transport import Courier, certificates, watched

CLOSE_SECONDS = 7.0
"""Closing a process takes the SDK up to 6.5 s: it is asked, told, and killed."""

MAX_TOOLS = 512
MAX_PAGES = 64
MAX_WORDS = 1000
"""Characters of a server's error text that are passed on."""

_CLOSED = ("Connection closed", "SSE stream")
"""How the SDK begins what it says itself with `CONNECTION_CLOSED`. Servers use that number for errors of their own."""

VERSION = version("agui-gate")
log = logging.getLogger(__name__)


class Connection:
    """``start`` it, wait until it is ``ready``, use it, ``retire`` it. Never reopened: make another one."""

    def __init__(self, server: Server, start_timeout: float) -> None:
        self._server, self._limit = server, start_timeout
        self._courier = Courier(server) if isinstance(server, HTTPServer) else None
        self._closing = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Client] = self._loop.create_future()
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())  # nobody may be waiting
        self._owner: asyncio.Task[None] | None = None
        self._busy = 0
        self._over = False
        self.changed = False
        """Whether the server said that its tools have changed."""

    @property
    def usable(self) -> bool:
        """Whether another call may be made, from the event loop that runs now."""
        return not self._over and self._loop is asyncio.get_running_loop()

    @property
    def closed(self) -> bool:
        """Whether nothing is left of it, or nothing that can be closed: its event loop is gone."""
        return self._loop.is_closed() or self._owner is None or self._owner.done()

    def start(self) -> None:
        """Begin to connect, at most for the start's time limit."""
        self._owner = asyncio.create_task(self._own(), name=f"mcp {self._server.where}")
        timer = self._loop.call_later(self._limit, self._too_slow)
        self._ready.add_done_callback(lambda _: timer.cancel())

    async def ready(self) -> None:
        """Wait until it can be used. Raises `Unusable`."""
        await asyncio.wait([self._ready])  # a caller who is cancelled leaves it alone
        self._ready.result()

    def retire(self) -> None:
        """Take no new calls; close when those under way are over."""
        self._over = True
        if not self._busy and not self.closed:
            self._closing.set()

    async def aclose(self) -> None:
        """Close now, whatever is under way, in bounded time."""
        self._over = True
        self._closing.set()
        if self._owner is None or self.closed:
            return
        if not self._ready.done():
            self._owner.cancel()
        await asyncio.wait([self._owner], timeout=CLOSE_SECONDS)
        self._owner.cancel()

    # --- using it -----------------------------------------------------------------------------------------------
    async def list_tools(self) -> list[Tool]:
        """Lists all tools, up to `MAX_TOOLS`, within the start's time limit. Raises `Trouble`."""
        self.changed = False
        found: list[Tool] = []
        cursor: str | None = None
        with self._translated():
            try:
                async with asyncio.timeout(self._limit):
                    for _ in range(MAX_PAGES):
                        page = await self._client.list_tools(cursor=cursor)
                        found += page.tools
                        cursor = page.next_cursor
                        if cursor is None or len(found) >= MAX_TOOLS:
                            break
            except TimeoutError:
                raise Unusable(f"did not list its tools within {self._limit:g} seconds") from None
            except ValidationError:
                raise Unusable("lists tools that are not as the protocol has them") from None
        return found[:MAX_TOOLS]

    async def call(self, name: str, arguments: dict[str, Any], progress: ProgressFnT) -> CallToolResult:
        """Run a tool. Cancelling tells the server. Raises `Trouble`."""
        with self._translated():
            trace = cast(Any, dict(TRACE_HEADERS.get())) or None  # another task sends it: so not as headers
            return await self._client.call_tool(name, arguments, progress_callback=progress, meta=trace)

    @property
    def _client(self) -> Client:
        return self._ready.result()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        self._busy += 1
        try:
            yield
        except MCPError as error:
            raise self._trouble(error) from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise Lost("lost the connection") from None
        except (ValidationError, RuntimeError):  # the SDK: not a result, or not what the tool's output schema says
            raise BadResult("returned something other than it declares") from None
        finally:
            self._busy -= 1
            if self._over and not self._busy:
                self._closing.set()

    def _trouble(self, error: MCPError) -> Trouble:
        own = self._courier.unsealed(error.data, error.message) if self._courier else None
        if own is not None:
            return own
        if _is_closed(error):
            return Lost("lost the connection")
        said = masked(error.message, self._server)[:MAX_WORDS].rstrip(". \n")
        return Refused("answered with an error", said)

    # --- the owner ----------------------------------------------------------------------------------------------
    async def _own(self) -> None:
        try:
            await self._live()
        except asyncio.CancelledError:
            self._failed(Unusable("was closed while it started"))
            raise
        except (Exception, BaseExceptionGroup) as error:
            log.debug("connection to %s ended", self._server.where, exc_info=error)
            self._failed(self._why(error))
        finally:
            self._over = True

    async def _live(self) -> None:
        client = Client(
            watched(self._server, self._courier, self._closing.set),
            cache=None,
            client_info=Implementation(name="agui-gate", version=VERSION),
            message_handler=self._on_notification,
        )
        async with client, anyio.create_task_group() as group:
            group.start_soon(self._listen, client)
            if not self._ready.done():
                self._ready.set_result(client)
            await self._closing.wait()
            self._over = True
            group.cancel_scope.cancel()

    def _too_slow(self) -> None:
        if not self._ready.done() and self._owner is not None:
            self._failed(Unusable(f"did not answer within {self._limit:g} seconds"))
            self._owner.cancel()

    def _failed(self, trouble: Trouble) -> None:
        self._over = True
        if not self._ready.done():
            self._ready.set_exception(trouble)

    def _why(self, error: BaseException) -> Trouble:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        match error:
            case FileNotFoundError():
                return Unusable("can't be started: there is no such command (or working directory)")
            case PermissionError():
                return Unusable("can't be started: its command may not be run")
            case MCPError() if isinstance(self._server, StdioServer) and _is_closed(error):
                return Unusable("ended before it answered: its standard error says why")
            case MCPError():
                trouble = self._trouble(error)
                return Unusable(trouble.text, trouble.words)
        return Unusable(f"can't be used ({type(error).__name__})")

    # --- what the server says by itself -------------------------------------------------------------------------
    async def _on_notification(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.changed = True

    async def _listen(self, client: Client) -> None:
        """Subscribes to changes of the tools, as MCP 2026-07-28 requires. Without it, listings expire by time."""
        offered = client.server_capabilities.tools
        if client.session.discover_result is None or offered is None or not offered.list_changed:
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.changed = True
        except Exception as error:
            log.debug("%s is not listened to", self._server.where, exc_info=error)


def _is_closed(error: MCPError) -> bool:
    """Whether the SDK says that no answer will come; else the error is the answer."""
    return error.code == CONNECTION_CLOSED and error.message.startswith(_CLOSED)


def prepare() -> None:
    """Does the slow part of the set-up, in a thread: importing this module did the rest."""
    certificates()
