"""The way to one server: a connection that is opened when it is needed and opened again when it has ended."""

import asyncio
import importlib
import time
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import structlog

from .errors import Trouble, Unusable
from .servers import Server

if TYPE_CHECKING:
    from .connection import Connection

RETRY_SECONDS = 5.0
"""How long after a failed start nobody tries again, so that runs don't wait for a broken server one after the other."""

log = structlog.get_logger("agui_gate_adapters.mcp")
_module: Any = None


class Link:
    """The connection to a server, shared by all calls. ``start_timeout`` is in seconds."""

    def __init__(self, server: Server, name: str, start_timeout: float) -> None:
        self._server, self._name, self._start_timeout = server, name, start_timeout
        self._connection: Connection | None = None
        self._old: set[Connection] = set()
        self._failed: tuple[float, str] | None = None

    async def connection(self) -> "Connection":
        """Returns the connection, opened if there is none. Raises `Unusable`. If cancelled, it goes on for others."""
        module = await _load()
        if self._connection is None or not self._connection.usable:
            self._check_patience()
            self.drop(self._connection)
            self._connection = module.Connection(self._server, self._start_timeout)
            self._connection.start()
        connection: Connection = self._connection
        try:
            await connection.ready()
        except Unusable as error:
            self.give_up(connection, error)
            raise
        self._failed = None
        return connection

    def give_up(self, connection: "Connection", error: Trouble) -> None:
        """Drop it, say why, once for all who use it, and let some time pass before the next is opened."""
        if self._connection is connection:
            log.warning("mcp_server_unavailable", source=self._name, reason=error.text)
            self._failed = (time.monotonic(), str(error))
            self.drop(connection)

    def drop(self, connection: "Connection | None") -> None:
        """Use it no more. It closes by itself once the calls under way are over."""
        if connection is None:
            return
        if self._connection is connection:
            self._connection = None
        connection.retire()
        self._old = {old for old in self._old if not old.closed} | {connection}

    async def aclose(self) -> None:
        """Close all connections, in bounded time. The next `connection` opens a new one."""
        if self._connection is not None:
            self._old.add(self._connection)
        self._connection = self._failed = None
        await asyncio.gather(*(old.aclose() for old in self._old if not old.closed))
        self._old.clear()

    def _check_patience(self) -> None:
        if self._failed is not None and time.monotonic() - self._failed[0] < RETRY_SECONDS:
            raise Unusable(self._failed[1])


async def _load() -> Any:
    """Imports the module that needs the SDK, in a thread, as it takes a second."""
    return _module or await anyio.to_thread.run_sync(_import)


def _import() -> Any:
    global _module
    module = importlib.import_module(".connection", __package__)
    module.prepare()
    _module = module
    return module
