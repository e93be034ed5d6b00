"""Server-sent events: payloads out of byte chunks, wherever the network cut them, and events as frames of bytes.

Only `data` of what comes in matters: every JSON payload says itself what it is. A frame ends at an empty line; LF, CRLF
and CR all end lines, several `data` lines are joined by LF, comments and other fields are dropped (WHATWG HTML §9.2).

What goes out is one frame per event: ``id: <run_key>:<seq>``, ``data: <json>``, blank line. Frames end in ``\\n\\n``:
both clients split on exactly that (docs/clients.md#frames). JSON never holds a raw newline, so one ``data:`` line is
enough. This is the hot path: an event is encoded once, whatever the number of readers.

Divergence: at the end of the stream an unterminated frame is still delivered (`flush`). Some servers leave out the last
empty line, and the terminal event is in that frame.
"""

import msgspec

from agui_gate.core.events import Event
from agui_gate.errors import ProviderUnavailable

MAX_FRAME = 16 * 1024 * 1024
"""Bytes one frame may have. The largest real ones repeat instructions, tools and the whole answer."""

_BOM = b"\xef\xbb\xbf"
_D = ord("d")


class SSESplitter:
    """Collects chunks and gives back the payloads that are complete. One instance a stream."""

    __slots__ = ("_data", "_ended_with_cr", "_limit", "_partial", "_size", "_started")

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._partial: list[bytes] = []  # pieces of a line without its end
        self._data: bytes | bytearray | None = None  # the data lines of a frame without its end
        self._size = 0
        self._started = False
        self._ended_with_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the payloads that this chunk completed, in order. Raises `ProviderUnavailable` when a frame is too
        large.
        """
        # `find`, not `in`: that first takes bytes for a number, and drops a TypeError for each chunk.
        if chunk.find(b"\r") >= 0 or self._ended_with_cr:
            chunk = self._with_line_feeds(chunk)
        if chunk.find(b"\n") < 0:
            self._keep_partial(chunk)
            return []
        if self._partial:
            chunk = b"".join((*self._partial, chunk))
            self._partial.clear()
        if not self._started:
            self._started = True
            chunk = chunk.removeprefix(_BOM)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        payloads = self._frames(lines)
        self._size = len(self._data or b"")
        if rest or self._size:
            self._keep_partial(rest)
        return payloads

    def flush(self) -> list[bytes]:
        """Returns what an unterminated last frame holds; the stream is over."""
        payloads = self._frames([b"".join(self._partial), b""])
        self._partial.clear()
        return payloads

    def _frames(self, lines: list[bytes]) -> list[bytes]:
        payloads = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    payloads.append(bytes(data))
                data = None
            elif line[0] == _D:  # a slice is made of no other line
                if line[:6] == b"data: ":
                    data = line[6:] if data is None else _added(data, line[6:])
                elif line[:5] == b"data:":
                    data = line[5:] if data is None else _added(data, line[5:])
        self._data = data
        return payloads

    def _keep_partial(self, rest: bytes) -> None:
        self._size += len(rest)
        if self._size > self._limit:
            raise ProviderUnavailable("The provider sent an event that is too large to be one.")
        if rest:
            self._partial.append(rest)

    def _with_line_feeds(self, chunk: bytes) -> bytes:
        """CR and CRLF as LF. A CR at the chunk's end counts at once; the LF that may follow it is then dropped."""
        if not chunk:
            return chunk
        if self._ended_with_cr:
            chunk = chunk.removeprefix(b"\n")
        self._ended_with_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _added(data: bytes | bytearray, line: bytes) -> bytearray:
    """Adds one more line. In place: an event may have a million of them."""
    lines = data if isinstance(data, bytearray) else bytearray(data)
    lines += b"\n"
    lines += line
    return lines


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
