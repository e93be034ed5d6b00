"""Runs in flight, apart from the sockets that read them.

A `LiveRun` owns the task of one run and the frames that its reader has not taken yet. The run publishes and goes on;
frames that are ready together leave together. A reader that doesn't keep up slows the run (`room`) for at most
`SEND_TIMEOUT` and is then dropped, so memory per connection is bounded and no run waits for ever.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from agui_gate.core.events import Event
from agui_gate.protocol.encoder import PING, FrameEncoder

SEND_TIMEOUT = 30.0
"""Seconds a reader may take to accept bytes."""

BUFFER_LIMIT = 128 * 1024
"""Bytes that may wait for a reader before the run pauses."""

log = structlog.get_logger("agui_gate.live")


class LiveRun:
    """One run: its task, its frames, its reader. ``key`` is the server's own name for it."""

    __slots__ = ("_buffer", "_cancelled", "_encoder", "_ended", "_reading", "_room", "_size", "_wake", "key", "task")

    def __init__(self, key: str) -> None:
        self.key = key
        self.task: asyncio.Task[None] | None = None
        self._encoder = FrameEncoder(key)
        self._buffer: list[bytes] = []
        self._size = 0
        self._reading = True
        self._ended = self._cancelled = False
        self._wake: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin the run's task. Its end is the end of the stream."""
        self.task = asyncio.get_running_loop().create_task(work, name=f"run {self.key}")
        self.task.add_done_callback(self._end)

    def cancel(self) -> None:
        """Stop the run; it ends its stream by itself. Asked again, nothing happens: what it saves then is not cut short."""
        if self.task is not None and not self._cancelled:
            self._cancelled = True
            self.task.cancel()

    def publish(self, event: Event) -> None:
        """Add an event to the stream."""
        frame = self._encoder.frame(event)
        if self._reading:
            self._add(frame)

    def ping(self) -> None:
        """Say that the connection is alive, unless something is on its way anyhow."""
        if self._reading and not self._buffer and not self._ended:
            self._add(PING)

    async def room(self) -> None:
        """Return when the reader has taken enough; drop it if it doesn't within `SEND_TIMEOUT`."""
        if self._size < BUFFER_LIMIT or not self._reading:
            return
        self._room = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(SEND_TIMEOUT):
                await self._room
        except TimeoutError:
            log.warning("reader_dropped", run=self.key, waiting_bytes=self._size)
            self.detach()
        finally:
            self._room = None

    async def read(self) -> bytes:
        """The frames that are ready, joined; waits for the first. Empty at the end of the stream."""
        while not self._buffer and not self._ended and self._reading:
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._size = 0
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        return data

    def detach(self) -> None:
        """The reader is gone: what it did not take is dropped, and so is what comes."""
        self._reading = False
        self._buffer.clear()
        self._size = 0
        for future in (self._room, self._wake):
            if future is not None and not future.done():
                future.set_result(None)

    def _add(self, frame: bytes) -> None:
        self._buffer.append(frame)
        self._size += len(frame)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._ended = True
        if not task.cancelled() and task.exception() is not None:
            log.error("run_task_failed", run=self.key, exc_info=task.exception())
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
