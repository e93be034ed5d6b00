"""A run that goes on, for a client that has come back to its thread: it is told as that client knows it.

The thread may have another id there than the run was begun with (S2), and the run may be told by other rules than the
client's. It may be a part of what its client reads, under another run id. All of that is in the last frame, and the
shapes of messages in snapshots (VER-6). The rest is as it was said: every client reads it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from agui_gate.bus.base import Reader
from agui_gate.core import events as ev
from agui_gate.core.dialect import Dialect
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.stop_reasons import stopped
from agui_gate.protocol.message_shapes import for_v0
from agui_gate.runs.downgrades import Lost

_DATA = b"\ndata: "
_ENDS = tuple(_DATA + b'{"type":"' + name for name in (b"RUN_FINISHED", b"RUN_ERROR"))
"""How the last frame of a run begins, after its id. (JSON has no raw line feed: nothing else looks so.)"""
_SNAPSHOT = _DATA + b'{"type":"MESSAGES_SNAPSHOT"'

_decode, _encode = msgspec.json.decode, msgspec.json.encode


class Rejoined:
    """``reader`` of a run, to a client to which it is ``run_id``. ``lost`` is called with what the client's rules have
    no word for.
    """

    __slots__ = ("_dialect", "_lost", "_reader", "_run_id", "_thread_id")

    def __init__(
        self, reader: Reader, thread_id: str, run_id: str, dialect: Dialect, lost: Callable[[Lost], None]
    ) -> None:
        self._reader, self._thread_id, self._run_id = reader, thread_id, run_id
        self._dialect, self._lost = dialect, lost

    async def read(self) -> bytes:
        """See `Reader`."""
        data = await self._reader.read()
        if not self._dialect.v1:
            data = self._in_shapes_of_v0(data)
        at = max(map(data.rfind, _ENDS))
        if at < 0:
            return data
        begin = at + len(_DATA)
        end = data.index(b"\n\n", begin)
        return data[:begin] + _encode(self._told(_decode(data[begin:end]))) + data[end:]

    def ping(self) -> None:
        """See `Reader`."""
        self._reader.ping()

    def close(self) -> None:
        """See `Reader`."""
        self._reader.close()

    def _in_shapes_of_v0(self, data: bytes) -> bytes:
        """``data`` with snapshots that its reader's schema takes. Few have anything else."""
        at = data.find(_SNAPSHOT)
        while at >= 0:
            begin = at + len(_DATA)
            end = data.index(b"\n\n", begin)
            event = _decode(data[begin:end])
            if lost := for_v0(event["messages"]):
                data = data[:begin] + _encode(event) + data[end:]
                for what in lost:
                    self._lost(Lost(what))
            at = data.find(_SNAPSHOT, begin)
        return data

    def _told(self, event: dict[str, Any]) -> Any:
        why = stopped(event)
        if why is not None:
            ends: list[ev.Event] = []
            sequencer = Sequencer(self._thread_id, self._run_id, ends.append, self._dialect)
            sequencer.started()
            sequencer.stop(why, event.get("usage", ()))
            if not self._dialect.v1:
                self._lost(Lost.CANCELLED)
            return ends[-1]
        own = {"threadId": self._thread_id, "runId": self._run_id}
        named = event if event["type"] == "RUN_ERROR" else event | own
        return named if self._dialect.extras else _without_extras(named)


def _without_extras(event: dict[str, Any]) -> dict[str, Any]:
    """A terminal event without what only clients take whose operator says that they do."""
    outcome = event.get("outcome") or {}
    if outcome.get("type") == "success":
        return {name: value for name, value in event.items() if name != "outcome"}
    if outcome.get("type") == "interrupt":
        for interrupt in outcome["interrupts"]:
            interrupt.pop("expiresAt", None)
    return event
