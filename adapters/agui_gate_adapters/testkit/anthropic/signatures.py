"""Signatures of thinking blocks, as far as a client can tell: opaque text that only its maker can read.

A signature says which message it was issued in, where, for which text and behind which conversation, under a keyed
digest. So an edited text, a signature of another provider, and (for preserved thinking) a changed conversation can be
told without remembering anything. The `data` of a redacted block is made in the same way.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.wire import Json

__all__ = ["Signed", "digest", "prefix_digest", "sign", "unsign"]

_KEY: Final = b"agui-gate emulator: thinking"
_IGNORED: Final = frozenset({"thinking", "redacted_thinking"})


class Signed(msgspec.Struct, frozen=True, array_like=True):
    """What a signature says to the one who can read it."""

    message_id: str
    position: int
    """Index of the block in the message that it was issued in."""
    text: str
    """Digest of the thinking, as it was shown."""
    prefix: str
    """Digest of the conversation before the block, without other thinking."""
    after: str
    """Digest of the signature of the thinking block before this one, wherever it is; empty for the first."""


_EMPTY: Final[tuple[tuple[str, Any], ...]] = (("citations", None), ("caller", {"type": "direct"}))
"""Members that say nothing, whether they come back or not."""


def sign(content: Signed) -> str:
    """Return the signature; equal content gives equal bytes."""
    payload = msgspec.json.encode(content)
    return base64.b64encode(_mac(payload) + payload).decode()


def unsign(signature: str) -> Signed | None:
    """Read a signature, or return None when it was altered or made by someone else."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    mac, payload = raw[:16], raw[16:]
    return msgspec.json.decode(payload, type=Signed) if payload and _mac(payload) == mac else None


def digest(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def prefix_digest(body: Json, blocks: Iterable[tuple[str, Json]]) -> str:
    """Return the digest of a conversation: system, tools, and (role, block) pairs, without thinking and cache marks."""
    kept = [(role, _plain(block)) for role, block in blocks if block["type"] not in _IGNORED]
    seen = [_unmarked(body.get("system") or []), _unmarked(body.get("tools") or []), kept]
    return hashlib.blake2b(msgspec.json.encode(seen, order="deterministic"), digest_size=8).hexdigest()


def _plain(block: Json) -> Json:
    """Return a block without cache marks; a result's plain text becomes a block."""
    content = block.get("content")
    if block["type"] != "tool_result" or content is None:
        return _without_mark(block)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**_without_mark(block), "content": _unmarked(parts)}


def _unmarked(value: Any) -> Any:
    return [_without_mark(item) for item in value] if isinstance(value, list) else value


def _without_mark(value: Json) -> Json:
    return {name: member for name, member in value.items() if name != "cache_control" and (name, member) not in _EMPTY}


def _mac(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16, key=_KEY).digest()
