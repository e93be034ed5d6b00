"""What the emulator remembers of its own answers, to tell whether they come back as they were (A7, A8, A10).

The real API needs no memory, its signatures say it all; ours holds the last messages so that it can name the block.
A message that is no longer remembered is only held to its signatures.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec

from agui_gate_adapters.testkit.anthropic.message_merge import THINKING, Block, Merged
from agui_gate_adapters.testkit.anthropic.signatures import unsign
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Issued", "Record"]

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
