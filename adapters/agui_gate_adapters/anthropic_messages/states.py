"""The states of a message's content blocks, each turning what is known of its block into model events.

All states share one life: `start` when the block appears, `delta`, `stop` when the provider says that it is complete,
or `abandon` when the message ended without saying so. `block` is the block as it would be sent back (a paused message
goes on that way). ``position`` counts the blocks that a transcript keeps; it goes into `private`, where it tells a
whole turn from one with gaps (`replay.py`). Text that never came is no block: it can't be sent back (A11).
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallResult,
    CallStart,
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
    """The base of all blocks' states. ``key`` is unique in the turn; ``position`` is -1 until the block has one."""

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
        """Begins the block, with what `content_block_start` says about it."""
        self.position = self._take()

    def delta(self, delta: Delta, out: Events) -> None:
        """Adds a piece."""

    def stop(self, out: Events) -> None:
        """Ends the block, which is complete."""
        self.closed = True

    def abandon(self, out: Events) -> None:
        """Closes a block that is still open at the end of the message; it isn't complete."""
        self.closed = True

    def block(self) -> Body | None:
        """Returns the block as it is sent back; None if it can't be."""
        return self.body


class TextState(BlockState):
    """A block of text."""

    __slots__ = ("_citations", "pieces")
    type = "text"

    def __init__(self, body: Body, key: str, take: Take) -> None:
        super().__init__(body, key, take)
        self.pieces: list[str] = []
        self._citations: list[Any] = []

    def start(self, out: Events) -> None:
        """Begins the text; some hosts send a piece with the start."""
        self._text(self.body.get("text"), out)

    def delta(self, delta: Delta, out: Events) -> None:
        """Adds a piece of text, or a citation."""
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
        """Ends the text, which is complete."""
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
        """Returns the text with its citations; None for blank text (A11)."""
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
        """Begins the thinking, also if it is hidden."""
        super().start(out)
        out.append(ReasoningStart(self.key))
        self._add(self.body.get("thinking"), self.body.get("signature"), out)

    def delta(self, delta: Delta, out: Events) -> None:
        """Adds a piece of thinking, or the signature, which comes last."""
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
        """Returns the block as it came."""
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
        """Returns the block as it came; a result without its call would be refused."""
        return None if "tool_use_id" in self.body else self.body


# What came of a server tool, as text for people. The model gets the provider's own blocks back, not this.

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_OPAQUE = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout", "data", "type"})
"""Members that say nothing to a person."""


def shown_name(name: object) -> str:
    """Returns the tool's name in the form of any tool's."""
    return _NAME.sub("_", name) if isinstance(name, str) and name else "server_tool"


def shown(block: Body) -> tuple[str, bool]:
    """Returns a `*_tool_result` block as text, and whether it is an error."""
    content = block.get("content")
    if isinstance(content, dict) and "error_code" in content:
        return str(content.get("error_message") or content["error_code"]), True
    parts = content if isinstance(content, list) else [content]
    return "\n".join(text for part in parts if (text := _part(part))), bool(block.get("is_error"))


def _part(part: Any) -> str:
    match part:
        case _ if not part:
            return ""
        case str():
            return part
        case {"type": "text", "text": str(text)}:
            return text
        case {"stdout": str(out), "stderr": str(err)}:
            return "\n".join(text for text in (out.rstrip("\n"), err.rstrip("\n")) if text)
        case {"title": str(title), "url": str(url)}:
            return f"{title}: {url}"
        case _:
            return msgspec.json.encode(_readable(part)).decode()


def _readable(value: Any) -> Any:
    """Returns the value without what only the provider can read, at any depth."""
    if isinstance(value, dict):
        return {name: _readable(member) for name, member in value.items() if name not in _OPAQUE}
    return [_readable(member) for member in value] if isinstance(value, list) else value


# The states of calls: those that we answer, and those that the provider runs itself.


def new_state(body: Body, key: str, take: Take) -> "BlockState":
    """Makes the state for a block of this type."""
    return _STATES.get(str(body.get("type")), OtherState)(body, key, take)


class CallState(BlockState):
    """A call that we answer. It ends with the message, not with its block: only then is it known whether it may run."""

    __slots__ = ("_pieces",)
    type = "tool_use"

    def __init__(self, body: Body, key: str, take: Take) -> None:
        super().__init__(body, key, take)
        self._pieces: list[str] = []

    def start(self, out: Events) -> None:
        """Begins the call; the provider's id and the tool's name come with the start."""
        super().start(out)
        out.append(self._started(str(self.body.get("id") or ""), str(self.body.get("name") or "")))

    def _started(self, wire_id: str, name: str) -> CallStart:
        return CallStart(self.key, wire_id, name)

    def delta(self, delta: Delta, out: Events) -> None:
        """Adds a piece of the arguments."""
        if delta.partial_json and not self.closed:
            self._pieces.append(delta.partial_json)
            out.append(CallDelta(self.key, delta.partial_json))

    @property
    def arguments(self) -> str:
        """JSON text. Without any delta it is what the start said, which is an empty object."""
        given = self.body.get("input")
        return "".join(self._pieces) or msgspec.json.encode(given if isinstance(given, dict) else {}).decode()

    @property
    def whole(self) -> bool:
        """Whether the arguments are a JSON object."""
        return isinstance(decode_any(self.arguments), dict)

    def end(self, blocks: int, out: Events) -> None:
        """End a call that may run; ``blocks`` is how many the turn has. One that was cut, or is no JSON, never ends."""
        if self.closed and self.whole:
            self._finish({"index": self.position, "blocks": blocks}, out)

    def _finish(self, private: Private, out: Events) -> None:
        arguments = self.arguments
        if not self._pieces:
            out.append(CallDelta(self.key, arguments))
        out.append(CallEnd(self.key, arguments, private))

    def block(self) -> Body | None:
        """Returns the block as it came, with its arguments."""
        return self.body | {"input": decode_any(self.arguments) if self.whole else {}}


class HostedState(CallState):
    """A server tool's call: the provider runs it, and its result is a block of its own, in this message or the next."""

    __slots__ = ()
    type = "server_tool_use"

    def _started(self, wire_id: str, name: str) -> CallStart:
        return CallStart(self.key, wire_id, shown_name(name), hosted=True)

    def stop(self, out: Events) -> None:
        """Ends the call with its block, as nothing runs here."""
        if not self.closed:
            whole = self.whole
            self._finish({"index": self.position, "block": self.block()} if whole else {}, out)
        self.closed = True

    def result(self, block: Body, position: int, out: Events) -> None:
        """Returns the call's result."""
        self.stop(out)
        text, is_error = shown(block)
        out.append(CallResult(self.key, text, is_error, {"result": block, "result_index": position}))


class ResultState(BlockState):
    """A server tool's result; it comes whole."""

    __slots__ = ("_call",)

    def __init__(self, body: Body, key: str, take: Take, call: HostedState) -> None:
        super().__init__(body, key, take)
        self._call = call

    def start(self, out: Events) -> None:
        """Gives it to its call."""
        super().start(out)
        self._call.result(self.body, self.position, out)


class McpState(HostedState):
    """A call of the provider's own MCP client: a server tool's in all but name."""

    __slots__ = ()
    type = "mcp_tool_use"


_STATES: dict[str, type[BlockState]] = {
    state.type: state for state in (TextState, ThinkingState, RedactedState, CallState, HostedState, McpState)
}
