"""A transcript as `system` and `messages`.

The API wants the two roles in turns, beginning and ending with the user (A10, A12). The results of a turn's calls come
first in the message after it (A1, A2, A5). A call's id is unique in the whole request (A3) and of few characters (A6).
So one that repeats, or comes from elsewhere, is minted anew, always the same for the same transcript.

A turn is told in one of three ways:

| turn | thinking | calls | server tools |
|---|---|---|---|
| of an open loop, with its thinking (`thinking.py`) | as it came | as made; edits told with results | as they came |
| another one of ours that is whole | left out | as they ran | as they came |
| any other | left out | as they ran | as text |
"""

import re
from typing import Any, NamedTuple

from agui_gate.adapter import AssistantTurn, ReasoningPart, SettledCall, TextPart, Transcript, UserTurn, retold
from agui_gate_adapters.common.decisions import output_text
from agui_gate_adapters.common.json_decoder import decode_any
from agui_gate_adapters.common.names import stable_id

from .content import as_text, result_blocks, text_block, user_blocks
from .thinking_blocks import is_whole, private
from .wire import Body

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_HOSTED_ID = re.compile(r"[A-Za-z0-9_]{1,128}")
_EMPTY_ERROR = "The tool failed without saying why."
_BEGINNING = "(The conversation begins with the assistant.)"
_GO_ON = "(Go on.)"

_Part = TextPart | ReasoningPart | SettledCall
_Placed = list[tuple[int, Body]]


class Replayed(NamedTuple):
    """What the request says of the transcript. ``names`` are those of the calls in it, in order."""

    system: list[Body]
    messages: list[Body]
    names: list[str]


def replay(transcript: Transcript, *, origin: str, kept: frozenset[int] = frozenset()) -> Replayed:
    """The whole transcript; the turns at the positions ``kept`` bring their thinking back."""
    said = _Replay(origin)
    for place, turn in enumerate(transcript):
        if isinstance(turn, UserTurn):
            said.user(turn)
        else:
            said.assistant(turn, with_thinking=place in kept)
    return Replayed(said.system, _begun_and_ended(said.messages), list(dict.fromkeys(said.names)))


def _begun_and_ended(messages: list[Body]) -> list[Body]:
    """The messages with a user's at either end."""
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, _user(_BEGINNING))
    if not messages or messages[-1]["role"] == "assistant":
        messages.append(_user(_GO_ON))
    return messages


def _user(text: str) -> Body:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


class _Replay:
    """Collects what is said, in order."""

    def __init__(self, origin: str) -> None:
        self.system: list[Body] = []
        self.messages: list[Body] = []
        self.names: list[str] = []
        self._origin = origin
        self._used: set[str] = set()

    def user(self, turn: UserTurn) -> None:
        """A user's message; a system's or developer's goes to the front, as there is no such role."""
        if turn.role == "user":
            self._add("user", user_blocks(turn.content))
        elif (block := text_block(as_text(turn.content))) is not None:
            self.system.append(block)

    def assistant(self, turn: AssistantTurn, *, with_thinking: bool) -> None:
        """An assistant's turn, and the results of its calls."""
        whole = turn.origin == self._origin and is_whole(turn)
        placed: _Placed = []
        results: list[Body] = []
        for position, part in enumerate(turn.parts):
            if isinstance(part, SettledCall) and part.part.local:
                call_id = self._call_id(part, f"{turn.id}\0{position}")
                placed.append((_place(part, position), self._call(part, call_id, as_made=with_thinking)))
                results.append(_result(part, call_id, as_made=with_thinking))
            else:
                placed += self._other(part, position, whole=whole, with_thinking=with_thinking)
        if whole:  # a server tool's result may come later than what follows its call
            placed.sort(key=lambda one: one[0])
        self._add("assistant", [block for _, block in placed])
        self._add("user", results)

    def _add(self, role: str, blocks: list[Body]) -> None:
        """Add to the last message if it has that role."""
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += blocks
        elif blocks:
            self.messages.append({"role": role, "content": blocks})

    def _call(self, call: SettledCall, call_id: str, *, as_made: bool) -> Body:
        name = call.part.name
        self.names.append(name)
        arguments = call.part.arguments if as_made else call.arguments
        return {"type": "tool_use", "id": call_id, "name": name, "input": _object(arguments)}

    def _call_id(self, call: SettledCall, place: str) -> str:
        """The provider's own id, or a new one where it can't be one, or was there before (S24)."""
        call_id = call.part.wire_id
        if not _ID.fullmatch(call_id) or call_id in self._used:
            call_id = stable_id("toolu_", place, call.part.id)
        self._used.add(call_id)
        return call_id

    def _other(self, part: _Part, position: int, *, whole: bool, with_thinking: bool) -> _Placed:
        """The blocks of any part but a call of ours."""
        if isinstance(part, SettledCall):
            return self._hosted(part, position, whole=whole)
        if isinstance(part, ReasoningPart):
            return [(_place(part, position), _thinking(part))] if with_thinking else []
        block = text_block(part.text)
        if block is None:
            return []
        citations = private(part).get("citations") if whole else None
        return [(_place(part, position), block | {"citations": citations} if citations else block)]

    def _hosted(self, call: SettledCall, position: int, *, whole: bool) -> _Placed:
        """A server tool's call and result as they came, or as text."""
        kept, wire_id = private(call), call.part.wire_id
        if not whole or not _HOSTED_ID.fullmatch(wire_id) or wire_id in self._used:
            block = text_block(retold(call))
            return [(_place(call, position), block)] if block is not None else []
        self._used.add(wire_id)
        return [(kept["index"], kept["block"]), (kept["result_index"], kept["result"])]


def _place(part: _Part, position: int) -> int:
    """Where the block was in its message; in a turn that is not whole nobody asks."""
    index = private(part).get("index")
    return index if isinstance(index, int) else position


def _thinking(part: ReasoningPart) -> Body:
    if private(part).get("redacted"):
        return {"type": "redacted_thinking", "data": part.encrypted}
    return {"type": "thinking", "thinking": "".join(part.summary), "signature": part.encrypted}


def _result(call: SettledCall, call_id: str, *, as_made: bool) -> Body:
    block: Body = {"type": "tool_result", "tool_use_id": call_id}
    content = output_text(call) if as_made else call.output.content
    if call.output.parts is not None and not call.edited:
        block["content"] = result_blocks(call.output) or content
    elif content.strip():
        block["content"] = content
    elif call.output.is_error:
        block["content"] = _EMPTY_ERROR  # an error has to say something
    if call.output.is_error:
        block["is_error"] = True
    return block


def _object(text: str) -> dict[str, Any]:
    value = decode_any(text)
    return value if isinstance(value, dict) else {}
