"""Finds what is wrong with an attachment, as a provider does: its address, label, encoding or bytes.

How each API says it is in the checks of that API. There are no files, so every handle of one is good, but for those
that end in ``-gone`` or ``_gone``. Nothing is fetched: an address whose host ends with ``.invalid``, or
that is nobody's but this machine's, is one that can't be. Of pictures the first bytes are looked at, and of PNG all of
them: its checksums say whether it was cut or changed.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")

What = Literal["address", "unreachable", "prefix", "type", "empty", "encoding", "bytes", "label"]


class Trouble(msgspec.Struct, frozen=True):
    """A problem of an attachment. ``detail``: the type that was given (`type`), or that the bytes have (`label`)."""

    what: What
    detail: str = ""


def is_gone(handle: str) -> bool:
    """Whether a file's handle is of a file that is not there any more: one whose name ends so."""
    return handle.endswith(("-gone", "_gone"))


def look_at(address: str, types: tuple[str, ...]) -> Trouble | None:
    """Finds what is wrong with an address, or with a data URL that has to be of one of these types."""
    if not address.startswith("data:"):
        return look_at_address(address)
    label, value = split_data_url(address)
    return look_at_data(label, value, types)


def look_at_address(address: str) -> Trouble | None:
    """Finds what is wrong with an address."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return Trouble("address")
    if not parts.scheme:
        return Trouble("prefix")
    if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in address):
        return Trouble("address")
    return Trouble("unreachable") if host.endswith(".invalid") or host in ("localhost", "127.0.0.1", "::1") else None


def look_at_data(label: str, value: str, types: tuple[str, ...]) -> Trouble | None:
    """Finds what is wrong with base64 data of this label."""
    if label not in types:
        return Trouble("type", label)
    if not value:
        return Trouble("empty")
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return Trouble("encoding")
    found = recognised(data)
    if found is None or found not in types:
        return Trouble("bytes")
    return None if found == label else Trouble("label", found)


def split_data_url(url: str) -> tuple[str, str]:
    """Splits a data URL into label and data; no data if it is not in base64."""
    head, _, value = url.removeprefix("data:").partition(",")
    label, _, encoding = head.partition(";")
    return label, value if encoding == "base64" else ""


def recognised(data: bytes) -> str | None:
    """Recognises the type of these bytes; None if no model reads it, or they are broken."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png" if _is_whole_png(data) else None
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "application/pdf" if b"%PDF-" in data[:1024] else None


def _is_whole_png(data: bytes) -> bool:
    """Whether its chunks are there to the last, and as they were written."""
    place = 8
    while place + 12 <= len(data):
        length = int.from_bytes(data[place : place + 4], "big")
        kind, end = data[place + 4 : place + 8], place + 8 + length
        if data[end : end + 4] != zlib.crc32(data[place + 4 : end]).to_bytes(4, "big"):
            return False
        if kind == b"IEND":
            return True
        place = end + 4
    return False
