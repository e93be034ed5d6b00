"""JSON on the wire: aliases, the two codecs and the pieces of text that all emulated APIs use."""

from __future__ import annotations

from typing import Any, Final

import msgspec

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


# The pieces in which text and arguments are streamed.


def pieces_of(text: str) -> list[str]:
    """Cut text into words with their trailing blanks, as a model's tokens would arrive."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []


def argument_pieces(text: str) -> list[str]:
    """Cut arguments into pieces of eight characters."""
    return [text[start : start + 8] for start in range(0, len(text), 8)]
