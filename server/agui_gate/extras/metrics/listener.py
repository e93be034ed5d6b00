"""Serves the metrics on an address of their own: one page, over the smallest part of HTTP/1.1.

It runs in the server's own event loop, whichever ASGI server that is, so what it says is of this very process. It asks
nobody who they are: the address is for the network in which Prometheus is.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from agui_gate.concurrency import stop_tasks
from agui_gate.errors import ConfigurationError
from agui_gate.extras.metrics.families import CONTENT_TYPE

HEAD_BYTES = 16 * 1024
"""Bytes of a request's head."""
SECONDS = 10.0
"""Seconds that a request may take, the answer included."""
CONNECTIONS = 20
"""Requests that are answered at a time. Others are hung up on."""

log = structlog.get_logger("agui_gate.metrics")


class Listener:
    """An open port. ``text`` makes the page."""

    def __init__(self, text: Callable[[], Awaitable[bytes]]) -> None:
        self._text = text
        self._server: asyncio.Server | None = None
        self._answering: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, place: str, text: Callable[[], Awaitable[bytes]]) -> "Listener":
        """Returns a listener at ``place``, ``host:port``; without a host, at all addresses of this machine.

        Raises `ConfigurationError` if the address can't be had.
        """
        host, _, port = place.rpartition(":")
        listener = cls(text)
        try:
            listener._server = await asyncio.start_server(
                listener._connected, host.strip("[]") or None, int(port), limit=HEAD_BYTES
            )
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE or "in use" in str(error)
            why = "is taken" if taken else "can't be opened: no such address, or no permission"
            raise ConfigurationError(
                f"The address {place} of AGUI_GATE_METRICS {why}. Each process needs one of its own."
            ) from None
        return listener

    @property
    def address(self) -> str:
        """The address, with the port that was found."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}/metrics" if ":" in host else f"http://{host}:{port}/metrics"

    async def aclose(self) -> None:
        """Closes the port, and what is being answered."""
        assert self._server is not None
        self._server.close()
        await stop_tasks(list(self._answering))

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._answering) >= CONNECTIONS:
            writer.close()
            return
        task = asyncio.create_task(self._answer(reader, writer), name="agui-gate metrics")
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = await self._page(head)
                headers = f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close"
                writer.write(f"HTTP/1.1 {status}\r\n{headers}\r\n\r\n".encode())
                writer.write(b"" if head.startswith(b"HEAD ") else body)
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asks is gone, or doesn't speak HTTP
        except Exception:
            log.exception("metrics_failed")
        finally:
            writer.close()
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()

    async def _page(self, head: bytes) -> tuple[str, str, bytes]:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD") or path != b"/metrics":
            return "404 Not Found", "text/plain; charset=utf-8", b"The metrics are at /metrics.\n"
        return "200 OK", CONTENT_TYPE, await self._text()
