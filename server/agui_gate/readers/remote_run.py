"""A run that another replica runs, for a reader here: what it says, and what is true when it says no more.

Its events come over the bus. Three things may end them before the run has said its end:

* Its process died. Nobody renews the lease then. A run that has been silent for `SILENCE_SECONDS` is therefore looked
  after: does it still hold its thread's lease? All who do so share one look at the store (`readers/wake_ups.py`). So a
  reader waits for no longer than a lease lasts, and a run that speaks costs no look at all.
* The bus has lost them, or is away.
* This replica stops (`RemoteRun.stop`).

What the reader is told then is not for this module to say: ``over`` makes the reader that goes on. It is given what is
half said, which it has to end first.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from agui_gate.bus.base import FellBehind, Published, Reader
from agui_gate.core import events as ev
from agui_gate.core.sequencer import ENDED
from agui_gate.core.sse import PING
from agui_gate.errors import ShuttingDown, Unavailable
from agui_gate.readers.wake_ups import Watch, Watcher

SILENCE_SECONDS = 5.0
"""Seconds after which a run that says nothing is looked after."""
LAST_SECONDS = 1.0
"""Seconds for which the last words of a run may be under way when its lease is gone, and between looks at a silent
one.
"""

Over = Callable[[Exception | None, Sequence[ev.Event]], Awaitable[Reader]]
"""Makes what the reader is told when the run says no more, and it was not its end. Given why (None: its lease is gone),
and the events that end what is half said. May raise the first one.
"""

_ENDS = tuple(b'\ndata: {"type":"' + name for name in (b"RUN_FINISHED", b"RUN_ERROR"))
_SPANS = re.compile(
    rb'\ndata: (\{"type":"(?:(?:TEXT_MESSAGE|REASONING|REASONING_MESSAGE|TOOL_CALL)_(?:START|END)'
    rb'|SUBAGENT_(?:STARTED|FINISHED|ERROR))".*)\n'
)
_BEGINS = ("START", "STARTED")
_END_OF: dict[str, Callable[[str], ev.Event]] = {
    "SUBAGENT": lambda name: ev.SubagentError(name, *reversed(ENDED)),
    "TEXT_MESSAGE": ev.TextMessageEnd,
    "REASONING": ev.ReasoningEnd,
    "REASONING_MESSAGE": ev.ReasoningMessageEnd,
    "TOOL_CALL": ev.ToolCallEnd,
}


class HalfSaid:
    """Notes what has begun and not ended in the frames of a run."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], None] = {}
        self.ended = False

    def heard(self, data: bytes) -> None:
        """Takes whole frames, in their order."""
        for found in _SPANS.finditer(data):
            event: dict[str, Any] = msgspec.json.decode(found[1])
            what, _, edge = event["type"].rpartition("_")
            owner = event.get("subagentRunId") if what == "SUBAGENT" else None
            key = (what, owner or event.get("toolCallId") or event.get("messageId") or "")
            if edge in _BEGINS:
                self._open[key] = None
            else:
                self._open.pop(key, None)
        self.ended = self.ended or any(end in data for end in _ENDS)

    def ends(self) -> list[ev.Event]:
        """Returns the events that end it, the last one first."""
        return [_END_OF[what](name) for what, name in reversed(self._open)]


class RemoteRun:
    """A `Reader`: ``reader`` of the run ``published``, then what ``over`` makes."""

    def __init__(self, reader: Reader, published: Published, watch: Watch, over: Over) -> None:
        self._reader, self._over, self._watch = reader, over, watch
        self._run_key, self._place = published.run_key, (published.principal, published.thread_id)
        self._watcher: Watcher | None = None
        self._half_said = HalfSaid()
        self._why: Exception | None = None
        self._handed_over = self._closed = False

    async def read(self) -> bytes:
        """See `Reader`."""
        if self._handed_over or self._half_said.ended:
            return await self._reader.read()
        data: bytes | None = None
        try:
            data = await self._said()
        except (FellBehind, Unavailable) as error:
            self._why = error
        if self._closed or (data is not None and self._why is None):
            self._half_said.heard(data or b"")
            return data or b""
        await self._hand_over()
        return await self.read()

    async def _said(self) -> bytes | None:
        """Returns what the run says next, and nothing at its end. None if its process has died."""
        while not self._is_lost():
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS if self._watcher else SILENCE_SECONDS):
                    data = await self._reader.read()
                    if data != PING:
                        self._look_no_more()
                    return data
            self._watcher = self._watcher or self._watch.enter(self._place)
        with suppress(TimeoutError):  # its last words may still be under way
            async with asyncio.timeout(LAST_SECONDS):
                return await self._reader.read()
        return None

    def _is_lost(self) -> bool:
        """Returns whether it is known that the run holds its thread's lease no more."""
        if self._watcher is None or not self._watcher.knows:
            return False
        now = self._watcher.at_work
        return now is None or now.run_key != self._run_key

    def _look_no_more(self) -> None:
        if self._watcher is not None:
            self._watch.leave(self._place, self._watcher)
            self._watcher = None

    async def _hand_over(self) -> None:
        self._look_no_more()
        self._reader.close()
        self._reader = await self._over(self._why, self._half_said.ends())
        self._handed_over = True
        if self._closed:
            self._reader.close()

    def ping(self) -> None:
        """See `Reader`."""
        self._reader.ping()

    def stop(self) -> None:
        """Hands the client over, as this replica stops."""
        if not (self._handed_over or self._half_said.ended):
            self._why = ShuttingDown()
            self._reader.close()

    def close(self) -> None:
        """See `Reader`."""
        self._closed = True
        self._look_no_more()
        self._reader.close()
