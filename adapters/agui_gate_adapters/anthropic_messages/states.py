"""The states of a message's content blocks, each turning what is known of its block into model events.

All states share one life: `start` when the block appears, `delta`, `stop` when the provider says that it is complete,
or `abandon` when the message ended without saying so. `block` is the block as it would be sent back (a paused message
goes on that way). ``position`` counts the blocks that a transcript keeps; it goes into `private`, where it tells a
whole turn from one with gaps (`replay.py`). Text that never came is no block: it can't be sent back (A11).
"""

from collections.abc import Callable
from typing import Any, ClassVar

from agui_gate.adapter import (
    ModelEvent,
    Notice,
    Private,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from agui_gate_adapters.common.json_decoder import decode_any

from .wire import Body, Delta

Events = list[ModelEvent]
Take = Callable[[], int]
"""Gives out positions."""


class BlockState:
    """What all blocks have in common. ``key`` is unique in the turn; ``position`` is -1 until the block has one."""

    __slots__ = ("_take", "body", "closed", "key", "position")
    type: ClassVar[str] = ""

    def __init__(self, body: Body, key: str, take: Take) -> None:
        # What the API sends as null it does not take back.
        self.body = {name: value for name, value in body.items() if value is not None}
        self.key = key
        self.position = -1
        self.closed = False
        self._take = take

    def start(self, out: Events) -> None:
        """The block appears, with what `content_block_start` said of it."""
        self.position = self._take()

    def delta(self, delta: Delta, out: Events) -> None:
        """A piece of it."""

    def stop(self, out: Events) -> None:
        """It is complete."""
        self.closed = True

    def abandon(self, out: Events) -> None:
        """The message is over; a block that is still open is closed without a claim to be complete."""
        self.closed = True

    def block(self) -> Body | None:
        """The block as it is sent back; None if it can't be."""
        return self.body


class TextState(BlockState):
    """Text."""

    __slots__ = ("_citations", "pieces")
    type = "text"

    def __init__(self, body: Body, key: str, take: Take) -> None:
        super().__init__(body, key, take)
        self.pieces: list[str] = []
        self._citations: list[Any] = []

    def start(self, out: Events) -> None:
        """Some hosts send text with the start."""
        self._text(self.body.get("text"), out)

    def delta(self, delta: Delta, out: Events) -> None:
        """A piece of text, or where it comes from."""
        if delta.text:
            self._text(delta.text, out)
        elif delta.type == "citations_delta" and (citation := decode_any(delta.citation)) is not None:
            self._citations.append(citation)
            out.append(Notice("anthropic.citation", {"key": self.key, "citation": citation}))

    def _text(self, text: Any, out: Events) -> None:
        if not text or not isinstance(text, str) or self.closed:
            return
        if not self.pieces:
            self.position = self._take()
            out.append(TextStart(self.key))
        self.pieces.append(text)
        out.append(TextDelta(self.key, text))

    def stop(self, out: Events) -> None:
        """The text is complete."""
        if self.pieces and not self.closed:
            private: Private = {"index": self.position}
            if self._citations:
                private["citations"] = self._citations
            out.append(TextEnd(self.key, private))
        self.closed = True

    def abandon(self, out: Events) -> None:
        """Ends it without a position: what is not complete never counts as whole."""
        if self.pieces and not self.closed:
            out.append(TextEnd(self.key))
        self.closed = True

    def block(self) -> Body | None:
        """The text with its citations; None for blank text (A11)."""
        text = "".join(self.pieces)
        block: Body = {"type": "text", "text": text}
        return (block | {"citations": self._citations} if self._citations else block) if text.strip() else None


class ThinkingState(BlockState):
    """Thinking that can be seen (or whose text is left out), with its signature."""

    __slots__ = ("_pieces", "_signature")
    type = "thinking"

    def __init__(self, body: Body, key: str, take: Take) -> None:
        super().__init__(body, key, take)
        self._pieces: list[str] = []
        self._signature = ""

    def start(self, out: Events) -> None:
        """Hidden thinking starts and ends too."""
        super().start(out)
        out.append(ReasoningStart(self.key))
        self._add(self.body.get("thinking"), self.body.get("signature"), out)

    def delta(self, delta: Delta, out: Events) -> None:
        """A piece of thinking, or the signature, which comes last."""
        self._add(delta.thinking, delta.signature, out)

    def _add(self, text: Any, signature: Any, out: Events) -> None:
        if self.closed:
            return
        if text and isinstance(text, str):
            self._pieces.append(text)
            out.append(ReasoningDelta(self.key, text))
        if signature and isinstance(signature, str):
            self._signature += signature

    def stop(self, out: Events) -> None:
        """Ends it with its signature, without which it can't be sent back."""
        if not self.closed:
            out.append(ReasoningEnd(self.key, self._signature or None, {"index": self.position}))
        self.closed = True

    def abandon(self, out: Events) -> None:
        """Ends it without a signature."""
        if not self.closed:
            out.append(ReasoningEnd(self.key))
        self.closed = True

    def block(self) -> Body | None:
        """As it came."""
        return {"type": "thinking", "thinking": "".join(self._pieces), "signature": self._signature}


class RedactedState(BlockState):
    """Thinking that only the provider can read."""

    __slots__ = ()
    type = "redacted_thinking"

    def start(self, out: Events) -> None:
        """Comes whole."""
        super().start(out)
        out.append(ReasoningStart(self.key))

    def stop(self, out: Events) -> None:
        """Ends it with its data."""
        if not self.closed:
            data = self.body.get("data")
            private: Private = {"index": self.position, "redacted": True}
            out.append(ReasoningEnd(self.key, data if isinstance(data, str) else None, private))
        self.closed = True

    abandon = stop


class OtherState(BlockState):
    """Results of no call that is known, and blocks that do not exist yet: reported, never an error."""

    __slots__ = ()

    def start(self, out: Events) -> None:
        """Mentions that it is there."""
        out.append(Notice("anthropic.block", {"type": self.body.get("type")}))

    def block(self) -> Body | None:
        """As it came; a result without its call would be refused."""
        return None if "tool_use_id" in self.body else self.body
