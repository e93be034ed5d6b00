"""The conversation as the API sees it: runs of messages with the same role are one message, and text is a block.

The pairing rules hold on this merged list: the results of one turn may come in several user messages. Whether the API
counts messages before or after merging when it names one is not known; the profile decides (`merged_indices`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from agui_gate_adapters.testkit.wire import Json

__all__ = ["THINKING", "Block", "Merged", "blocks_of", "merge"]

THINKING: Final = frozenset({"thinking", "redacted_thinking"})


class Block(msgspec.Struct, frozen=True):
    """One content block and the path that errors name it by."""

    value: Json
    where: str

    @property
    def kind(self) -> str:
        """Its `type`."""
        return str(self.value["type"])

    @property
    def thinks(self) -> bool:
        """Whether it is a thinking block, redacted or not."""
        return self.kind in THINKING


class Merged(msgspec.Struct, frozen=True):
    """One or more messages of the same role in a row; `index` is the one that errors name."""

    index: int
    role: str
    blocks: list[Block]

    def of_kind(self, *kinds: str) -> list[Block]:
        """Return the blocks of these types, in order."""
        return [block for block in self.blocks if block.kind in kinds]


def merge(messages: list[Json], *, merged_indices: bool = True) -> list[Merged]:
    """Return the merged list of messages whose shape has been checked."""
    result: list[Merged] = []
    for number, message in enumerate(messages):
        if not result or result[-1].role != message["role"]:
            result.append(Merged(len(result) if merged_indices else number, message["role"], []))
        into = result[-1]
        start = len(into.blocks) if merged_indices else 0
        at = into.index if merged_indices else number
        for index, value in enumerate(blocks_of(message)):
            into.blocks.append(Block(value, f"messages.{at}.content.{start + index}"))
    return result


def blocks_of(message: Json) -> list[Json]:
    """Return a message's content as blocks; an empty string is none."""
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)
