"""Signatures of thinking blocks, and the emulator's memory of its own answers.

A signature is opaque text that only its maker can read. It says which message it was issued in, where, for which text
and behind which conversation, under a keyed digest. So an edited text, a signature of another provider, and (for
preserved thinking) a changed conversation can be told without remembering anything. The `data` of a redacted block is
made in the same way. The real API needs no more. The emulator also remembers the last messages, so that it can name
the block.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.anthropic.messages import THINKING, Block, Merged
from agui_gate_adapters.testkit.wire import Json

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


# What the emulator remembers of its own answers, to tell whether they come back as they were (A7, A8, A10).

_MAX: Final = 20_000


class Issued(msgspec.Struct, frozen=True):
    """One message as it was issued."""

    id: str
    content: list[Json]
    stop_reason: str

    @property
    def thought_first(self) -> bool:
        """Whether it began with thinking."""
        return bool(self.content) and self.content[0]["type"] in THINKING

    def position(self, block: Block) -> int | None:
        """Return where this message had the block: thinking by its signature, calls by their id."""
        if block.thinks:
            signed = unsign(str(block.value.get("signature", block.value.get("data"))))
            return signed.position if signed is not None and signed.message_id == self.id else None
        wanted = block.value.get("id")
        if wanted is None:
            return None
        return next((n for n, known in enumerate(self.content) if known.get("id") == wanted), None)


class Record:
    """The last messages that were issued, by id and by the calls in them; the oldest are dropped."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, Issued] = OrderedDict()
        self._by_call: dict[str, list[str]] = {}

    def keep(self, message: Issued) -> None:
        """Remember a message."""
        self._messages[message.id] = message
        for block in message.content:
            if "id" in block:
                self._by_call.setdefault(block["id"], []).append(message.id)
        while len(self._messages) > _MAX:
            self._drop(self._messages.popitem(last=False)[1])

    def thought_in(self, message: Merged) -> list[Issued]:
        """Return the issued messages whose thinking is in this one."""
        signatures = (unsign(str(b.value.get("signature", b.value.get("data")))) for b in message.blocks if b.thinks)
        ids = dict.fromkeys(signed.message_id for signed in signatures if signed is not None)
        return [self._messages[name] for name in ids if name in self._messages]

    def called_in(self, message: Merged) -> list[Issued]:
        """Return the issued messages that this one's calls may come from: several, when a script repeats an id."""
        ids = [name for b in message.blocks for name in self._by_call.get(str(b.value.get("id")), ())]
        return [self._messages[name] for name in dict.fromkeys(ids)]

    def paused(self, message: Merged) -> bool:
        """Say whether this is a turn that was paused, to be continued by sending it back."""
        return any(issued.stop_reason == "pause_turn" for issued in self.called_in(message) + self.thought_in(message))

    def _drop(self, message: Issued) -> None:
        for block in message.content:
            if "id" in block and (known := self._by_call.get(block["id"])):
                known.remove(message.id)
                if not known:
                    del self._by_call[block["id"]]
