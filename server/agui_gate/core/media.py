"""Checks whether an attachment can be what it says that it is, without looking further than its first bytes.

Providers refuse a request for one picture that they can't read, and clients send their whole history with every run.
So what can't be read is told to the model as a note in its place, and never sent (`LeftOutEntry`).

The bytes decide. A picture or a PDF with another's label (the most frequent mistake of clients by far) gets its own. No
address is fetched, here or anywhere else: providers do that.
"""

import binascii
import re
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from agui_gate.core.transcript import Media

MAX_ADDRESS = 8_192
"""Characters of an address."""
MAX_HANDLE = 256
"""Characters of a provider's handle of a file."""
FOREIGN = "it is a file of another provider's"

_HEAD = 1_368
"""Base64 digits that are looked at to see what data is: the marker of a PDF may come late."""
_JPEG, _PDF = "image/jpeg", "application/pdf"
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", _JPEG),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_RECOGNISED = frozenset({"image/png", _JPEG, "image/gif", "image/webp", _PDF})
_MIME = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_HANDLE = re.compile(r"[A-Za-z0-9._:/-]+")
_TIDY = {ord("-"): "+", ord("_"): "/", **dict.fromkeys(map(ord, " \n\r\t"))}


def problem(media: Media) -> str | None:
    """Returns why no provider could take this attachment, as the end of a sentence; None if it looks well."""
    media = normal(media)
    match media.source:
        case "data":
            return _data_problem(media)
        case "url":
            return _address_problem(media.value)
        case "file":
            fits = len(media.value) <= MAX_HANDLE and _HANDLE.fullmatch(media.value)
            return None if fits else "its file handle can't be one"


def placeholder(media: Media, reason: str) -> str:
    """Returns the note that the model is told in its place."""
    return f"[{media.kind} left out: {reason}]"


def is_foreign(media: Media, vendor: str) -> bool:
    """Returns whether it is a handle of another provider's than ``vendor``: only whose it is can read it (IN-4).

    A handle that doesn't say whose it is may be anybody's, and so may one for a provider that has no name here.
    """
    return media.source == "file" and bool(media.provider and vendor) and media.provider != vendor


def normal(media: Media) -> Media:
    """Returns the attachment in the one form that adapters get: bare base64, with the label and the kind that its bytes
    have.

    Cheap (only the beginning is decoded), and doing it again changes nothing. What has problems is left as it is.
    """
    if media.source != "file" and media.value[:5].lower() == "data:":
        media = _unpacked(media)
    if media.source != "data":
        return media
    value = _tidied(media.value)
    label = _label(media.mime_type)
    found = _recognise(value)
    if found is not None:
        kind: Literal["document", "image"] = "document" if found == _PDF else "image"
        return Media(kind, "data", value, found)
    if value is media.value and label == media.mime_type:
        return media
    return msgspec.structs.replace(media, value=value, mime_type=label)


def _unpacked(media: Media) -> Media:
    """Returns what a data URL holds, which some clients send as data and others as an address."""
    head, comma, value = media.value[5:].partition(",")
    label, *options = head.split(";")
    if not comma or "base64" not in options:
        return media
    return Media(media.kind, "data", value, label or media.mime_type)


def _tidied(value: str) -> str:
    """Base64 on one line, in the usual alphabet, padded."""
    if any(odd in value for odd in " \n\r\t-_"):
        value = value.translate(_TIDY)
    bare = value.rstrip("=") if len(value) % 4 else value
    missing = -len(bare) % 4
    return bare + "=" * missing if missing in (1, 2) else value


def _label(mime_type: str | None) -> str | None:
    if mime_type is None:
        return None
    label = mime_type.partition(";")[0].strip().lower()
    return _JPEG if label == "image/jpg" else label or None


def _recognise(value: str) -> str | None:
    """Returns the type of data that begins like this, if it is one of those that can be told."""
    try:
        head = binascii.a2b_base64(value[:_HEAD])
    except (binascii.Error, ValueError):
        return None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if b"%PDF-" in head:
        return _PDF
    return next((mime_type for magic, mime_type in _MAGIC if head.startswith(magic)), None)


def _data_problem(media: Media) -> str | None:
    if not media.value:
        return "it is empty"
    try:
        binascii.a2b_base64(media.value, strict_mode=True)
    except (binascii.Error, ValueError):
        return "its data is not valid base64"
    return _label_problem(media)


def _label_problem(media: Media) -> str | None:
    """Returns a problem if what the label says can't be true. Where the bytes are recognised, it is theirs already."""
    label = media.mime_type
    if _recognise(media.value) is not None:
        return None
    if label is None:
        return "its data is no image that models read" if media.kind == "image" else None
    if not _MIME.fullmatch(label):
        return "its type is no media type"
    if label in _RECOGNISED:
        return f"its data is not {label}"
    family = label.partition("/")[0]
    if media.kind == "document":
        return f"{label} is no document" if family in ("image", "audio", "video") else None
    return None if family == media.kind else f"{label} is no {media.kind}"


def _address_problem(address: str) -> str | None:
    if not address:
        return "it is empty"
    if len(address) > MAX_ADDRESS:
        return "its address is too long"
    if any(character.isspace() or not character.isprintable() for character in address):
        return "its address can't be one"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "its address can't be one"
    if parts.scheme.lower() not in ("http", "https"):
        return "its address is not one of http or https"
    return None if host else "its address can't be one"
