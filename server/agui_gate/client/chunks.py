"""The chunk form of messages, calls and reasoning, taken apart into start, pieces and end.

An item that is open in chunk form belongs to a lane: the subagent that its chunks name, or the agent itself. Each lane
has one at most. A chunk without an id goes on with what is open. An explicit event of a lane ends what is open there,
and so do the lane's end and the run's. The rules are client 1.0.0's (`transformChunks`).
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from agui_gate.client import events as ev
from agui_gate.client.errors import Malformed, TooMuch

Chunk: TypeAlias = ev.TextMessageChunk | ev.ToolCallChunk | ev.ReasoningMessageChunk
Opened: TypeAlias = ev.TextMessageStart | ev.ToolCallStart | ev.ReasoningMessageStart

_ASIDE = (ev.Raw, ev.ActivitySnapshot, ev.ActivityDelta, ev.ReasoningEncryptedValue, ev.SubagentStarted)
"""Events that end nothing."""
_WHOLE_RUN = (ev.RunStarted, ev.RunFinished, ev.RunError, ev.MessagesSnapshot)
_OPENER: dict[type[Any], type[Any]] = {
    ev.TextMessageChunk: ev.TextMessageStart,
    ev.ToolCallChunk: ev.ToolCallStart,
    ev.ReasoningMessageChunk: ev.ReasoningMessageStart,
}


MAX_LANES = 256
"""Items that are open in chunk form at the same time. Each chunk is looked for among them."""


class Chunks:
    """The messages and calls that are open in chunk form on one stream."""

    def __init__(self) -> None:
        self._lanes: dict[str | None, Opened] = {}

    def unfolded(self, event: ev.AnyEvent) -> Iterator[ev.AnyEvent]:
        """Yields the event without chunks: itself, or what a chunk stands for. Raises `Malformed` and `TooMuch`."""
        if isinstance(event, Chunk):
            yield from self._chunk(event)
            return
        if self._lanes and not isinstance(event, _ASIDE):
            if isinstance(event, _WHOLE_RUN):
                for lane in list(self._lanes):
                    yield self._end(lane)
            elif event.subagent_run_id in self._lanes:
                yield self._end(event.subagent_run_id)
        yield event

    def _chunk(self, chunk: Chunk) -> Iterator[ev.AnyEvent]:
        lane = self._lane(chunk)
        opened, named = self._lanes.get(lane), _id(chunk)
        same = opened is not None and _OPENER[type(chunk)] is type(opened) and named in (None, _id(opened))
        more: dict[str, Any] = {"metadata": chunk.metadata}
        if opened is None or not same:
            if opened is not None:
                yield self._end(lane)
            opened = self._lanes[lane] = _opener(chunk)
            if len(self._lanes) > MAX_LANES:
                raise TooMuch(f"The agent sends chunks of more than {MAX_LANES} items at the same time.")
            yield opened
            if chunk.delta is None and chunk.raw_event is None:
                return
        else:
            _check_agrees(chunk, opened)
            if chunk.delta is None and chunk.raw_event is None and chunk.metadata is None:
                return
        owner = chunk.subagent_run_id if chunk.subagent_run_id is not None else opened.subagent_run_id
        more |= {"raw_event": chunk.raw_event, "subagent_run_id": owner, "delta": chunk.delta or ""}
        yield _piece(opened, more)

    def _lane(self, chunk: Chunk) -> str | None:
        """Returns the lane that a chunk belongs to. Raises `Malformed`."""
        kind, named, tag = _OPENER[type(chunk)], _id(chunk), chunk.subagent_run_id
        of_kind = [lane for lane, opened in self._lanes.items() if type(opened) is kind]
        if named is not None:
            holder = next((lane for lane in of_kind if _id(self._lanes[lane]) == named), tag)
            if tag is not None and tag != holder:
                raise Malformed("The agent continues an item under the name of another subagent.")
            return holder
        if tag is not None or None in of_kind or not of_kind:
            return tag
        if len(of_kind) > 1:
            raise Malformed("The agent sent a chunk that may belong to several items.")
        return of_kind[0]

    def _end(self, lane: str | None) -> ev.AnyEvent:
        match self._lanes.pop(lane):
            case ev.TextMessageStart() as opened:
                return ev.TextMessageEnd(message_id=opened.message_id, subagent_run_id=opened.subagent_run_id)
            case ev.ToolCallStart() as opened:
                return ev.ToolCallEnd(tool_call_id=opened.tool_call_id, subagent_run_id=opened.subagent_run_id)
            case ev.ReasoningMessageStart() as opened:
                return ev.ReasoningMessageEnd(message_id=opened.message_id, subagent_run_id=opened.subagent_run_id)


def _id(item: Chunk | Opened) -> str | None:
    return item.tool_call_id if isinstance(item, ev.ToolCallChunk | ev.ToolCallStart) else item.message_id


def _opener(chunk: Chunk) -> Opened:
    """Returns the start that the first chunk of an item stands for. Raises `Malformed` if it doesn't say which item."""
    more: dict[str, Any] = {"metadata": chunk.metadata, "subagent_run_id": chunk.subagent_run_id}
    match chunk:
        case ev.TextMessageChunk(message_id=str() as message_id):
            return ev.TextMessageStart(message_id=message_id, role=chunk.role or "assistant", name=chunk.name, **more)
        case ev.ToolCallChunk(tool_call_id=str() as call_id, tool_call_name=str() as name):
            parent = chunk.parent_message_id
            return ev.ToolCallStart(tool_call_id=call_id, tool_call_name=name, parent_message_id=parent, **more)
        case ev.ReasoningMessageChunk(message_id=str() as message_id):
            return ev.ReasoningMessageStart(message_id=message_id, role="reasoning", **more)
    raise Malformed("The agent sent the first chunk of an item without saying which item it is.")


def _piece(opened: Opened, more: dict[str, Any]) -> ev.AnyEvent:
    match opened:
        case ev.TextMessageStart():
            return ev.TextMessageContent(message_id=opened.message_id, **more)
        case ev.ToolCallStart():
            return ev.ToolCallArgs(tool_call_id=opened.tool_call_id, **more)
        case ev.ReasoningMessageStart():
            return ev.ReasoningMessageContent(message_id=opened.message_id, **more)


def _check_agrees(chunk: Chunk, opened: Opened) -> None:
    """Raises `Malformed` for a chunk that repeats what the first one said, with another value."""
    for name in ("role", "name", "tool_call_name", "parent_message_id"):
        said = getattr(chunk, name, None)
        if said is not None and said != getattr(opened, name):
            raise Malformed("The agent contradicts the values with which it began an item.")
