"""A run that goes on, for a client that has come back to its thread: it is told as that client knows it.

The thread may have another id there than the run was begun with (S2), and the run may be told by other rules than the
client's. It may be a part of what its client reads, under another run id. All of that is in the last frame, and the
shapes of messages in snapshots (VER-6). The rest is as it was said: every client reads it.
"""

from collections.abc import Callable, Iterable

import msgspec

from agui_gate.bus.base import Reader
from agui_gate.core.sequencer import RunName
from agui_gate.protocol.dialects.base import Shapes

_DATA = b"\ndata: "
_ENDS = tuple(_DATA + b'{"type":"' + name for name in (b"RUN_FINISHED", b"RUN_ERROR"))
"""The beginning of a run's last frame, after its id. (JSON has no raw line feed: nothing else looks so.)"""

_decode, _encode = msgspec.json.decode, msgspec.json.encode


class Rejoined:
    """``reader`` of a run, to a client to which it is ``run_id``. ``lost`` is called with what the client's ``shapes``
    have no word for.
    """

    __slots__ = ("_lost", "_reader", "_run", "_shapes")

    def __init__(
        self, reader: Reader, thread_id: str, run_id: str, shapes: Shapes, lost: Callable[[Iterable[str]], None]
    ) -> None:
        self._reader, self._run = reader, RunName(thread_id, run_id)
        self._shapes, self._lost = shapes, lost

    async def read(self) -> bytes:
        """See `Reader`."""
        data, lost = self._shapes.frames(await self._reader.read())
        if lost:
            self._lost(lost)
        at = max(map(data.rfind, _ENDS))
        if at < 0:
            return data
        begin = at + len(_DATA)
        end = data.index(b"\n\n", begin)
        last, lost = self._shapes.last_event(_decode(data[begin:end]), self._run)
        self._lost(lost)
        return data[:begin] + _encode(last) + data[end:]

    def ping(self) -> None:
        """See `Reader`."""
        self._reader.ping()

    def close(self) -> None:
        """See `Reader`."""
        self._reader.close()
