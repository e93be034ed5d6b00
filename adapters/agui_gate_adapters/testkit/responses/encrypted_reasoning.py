"""Encrypted reasoning, as far as a client can tell: opaque text that only its maker can read.

A blob is bound to the reasoning item's id and to the model (R18). The provider sends one already with
`response.output_item.added`, and different bytes with `response.output_item.done`. Only the latter is good, and so it
is here: the early one is marked unfinished and refused when it comes back.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

import msgspec

_KEY = b"agui-gate emulator"
_MARK = "gAAAAAB"


class SealedReasoning(msgspec.Struct, frozen=True):
    """What a blob says to the one who can read it."""

    item_id: str
    model: str
    response_id: str
    finished: bool


def seal(content: SealedReasoning) -> str:
    """Return the blob; equal content gives equal bytes."""
    payload = msgspec.json.encode(content)
    return _MARK + base64.urlsafe_b64encode(_digest(payload) + payload).decode()


def unseal(blob: str) -> SealedReasoning | None:
    """Read a blob, or return None when it was altered or made by someone else."""
    if not blob.startswith(_MARK):
        return None
    try:
        raw = base64.b64decode(blob[len(_MARK) :], altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    digest, payload = raw[:16], raw[16:]
    if _digest(payload) != digest:
        return None
    return msgspec.json.decode(payload, type=SealedReasoning)


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16, key=_KEY).digest()
