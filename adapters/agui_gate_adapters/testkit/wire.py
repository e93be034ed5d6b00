"""JSON as it travels: the aliases and the two codecs that the whole test kit shares."""

from __future__ import annotations

from typing import Any, Final

import msgspec

__all__ = ["Json", "decode", "encode", "sse_frame"]

Json = dict[str, Any]
"""One JSON object. The emulator works on plain dicts because it must see exactly what was sent, mistakes included."""

_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()


def encode(value: object) -> bytes:
    """Return `value` as compact JSON bytes."""
    return _encoder.encode(value)


def decode(raw: bytes | str) -> Any:
    """Parse JSON; raises `msgspec.DecodeError` for anything else."""
    return _decoder.decode(raw)


def sse_frame(event: Json) -> bytes:
    """Return one server-sent event as the Responses API writes it: named, one data line, LF line ends."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), _encoder.encode(event))
