"""Events → SSE bytes. One frame per event: ``id: <run_key>:<seq>``, ``data: <json>``, blank line.

Frames end in ``\\n\\n``: both clients split on exactly that (docs/clients.md#frames). JSON never holds a raw
newline, so one ``data:`` line is enough. This is the hot path: an event is encoded once, whatever the number of
readers.
"""

import msgspec

from agui_gate.core.events import Event

PING = b": ping\n\n"
"""A comment that keeps idle connections open."""

_encode = msgspec.json.Encoder().encode


class FrameEncoder:
    """Numbers and encodes one run's events. Sequence numbers start at 0 and have no gaps."""

    __slots__ = ("_prefix", "seq")

    def __init__(self, run_key: str) -> None:
        self._prefix = b"id: " + run_key.encode() + b":"
        self.seq = 0

    def frame(self, event: Event) -> bytes:
        """Returns the next frame."""
        seq = self.seq
        self.seq = seq + 1
        return b"%b%d\ndata: %b\n\n" % (self._prefix, seq, _encode(event))
