"""Replays a transcript as `system` and `messages`.

The API wants the two roles in turns, beginning and ending with the user (A10, A12). The results of a turn's calls come
first in the message after it (A1, A2, A5). A call's id is unique in the whole request (A3) and of few characters (A6).
So one that repeats, or comes from elsewhere, is minted anew, always the same for the same transcript.

A turn is told in one of three ways:

| turn | thinking | calls | server tools |
|---|---|---|---|
| of an open loop, with its thinking | as it came | as made; edits told with results | as they came |
| another one of ours that is whole | left out | as they ran | as they came |
| any other | left out | as they ran | as text |
"""

import base64
import binascii
import re
from collections.abc import Iterable
from itertools import dropwhile
from typing import Any, NamedTuple

import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    Content,
    Media,
    Output,
    ReasoningPart,
    SettledCall,
    Text,
    TextPart,
    Transcript,
    UserTurn,
    retold,
)
from agui_gate_adapters.common.decisions import output_text
from agui_gate_adapters.common.failures import READABLE, dropped
from agui_gate_adapters.common.json_decoder import decode_any
from agui_gate_adapters.common.names import stable_id

from .wire import Body

# A message's parts in this API's words.

_PDF = "application/pdf"


def user_blocks(content: Iterable[Content]) -> list[Body]:
    """Returns a user's message as blocks, without blank text (A11)."""
    return [block for part in content if (block := _block(part)) is not None]


def result_blocks(output: Output) -> list[Body]:
    """Returns the parts of a result that the API accepts, as blocks."""
    parts = [part for part in output.parts or () if isinstance(part, Text) or _source(part) is not None]
    dropped(output, len(parts))
    return user_blocks(parts)


def as_text(content: Iterable[Content]) -> str:
    """Returns the content as text, for places that accept nothing else; "" when there is none."""
    texts = [part.text if isinstance(part, Text) else _left_out(part) for part in content]
    return "\n\n".join(text for text in texts if text.strip())


def text_block(text: str) -> Body | None:
    """Makes a text block; None for blank text, which the API refuses (A11)."""
    return {"type": "text", "text": text} if text.strip() else None


def _block(part: Content) -> Body | None:
    if isinstance(part, Text):
        return text_block(part.text)
    source = _source(part) if part.value else None
    if source is None:
        # The model should know that something was there; a refusal of the whole turn would help nobody.
        return text_block(_left_out(part))
    return {"type": part.kind, "source": source}


def _left_out(part: Media) -> str:
    kind = f"{part.kind} ({part.mime_type})" if part.mime_type else part.kind
    return f"[{kind} attachment left out: this model's API does not accept it here]"


def _source(part: Media) -> Body | None:
    """Returns the source of an image or a document; None for what the API doesn't accept."""
    if part.kind not in ("image", "document"):
        return None
    if part.source == "file":
        return {"type": "file", "file_id": part.value}
    mime_type, data = part.mime_type, part.value
    if data.startswith("data:"):
        head, _, data = data[5:].partition(",")
        mime_type = head.partition(";")[0] or mime_type
    elif part.source == "url":
        return {"type": "url", "url": data}
    if part.kind == "image":
        mime_type = mime_type or "image/png"
        return _base64(mime_type, data) if mime_type in READABLE else None
    return _document(mime_type or _PDF, data)


def _document(mime_type: str, data: str) -> Body | None:
    """Documents are PDF, or plain text of whatever kind."""
    if mime_type == _PDF:
        return _base64(mime_type, data)
    if not mime_type.startswith("text/"):
        return None
    try:
        text = base64.b64decode(data).decode()
    except (binascii.Error, ValueError):
        return None
    return {"type": "text", "media_type": "text/plain", "data": text} if text.strip() else None


def _base64(mime_type: str, data: str) -> Body:
    return {"type": "base64", "media_type": mime_type, "data": data}


# Which turns bring their thinking back.
#
# The API wants thinking back inside a *tool loop* (A7) and there exactly as it was (A8, A9); everywhere else it may be
# left out. So it goes back whole while a loop is open, and is left out once the loop is over. That is legal for every
# model. A prefix of the request stays the same from one turn to the next. That is good for prompt caches, and some
# models need it: with them a thinking block is only good behind the very conversation that it was made in. Instructions
# that change later can't make an old block illegal.
#
# A loop is open if the last assistant turn has calls. It reaches back to the last message of a user that came with no
# results. One that came with results (the user spoke instead of answering) stands in the middle of what the API sees as
# one turn. Where a turn of the loop has lost its thinking, the request goes without any thinking at all, which is the
# API's own advice.

_Part = TextPart | ReasoningPart | SettledCall


class Thinking(NamedTuple):
    """The thinking of a request. ``kept``: positions of turns that bring theirs back. ``off``: it must not think."""

    kept: frozenset[int] = frozenset()
    off: bool = False


class _InLoop(NamedTuple):
    """A turn of the open loop: its position in the transcript, and whether a user spoke right before it."""

    place: int
    turn: AssistantTurn
    begins: bool


def decide(transcript: Transcript, origin: str, mode: str | None) -> Thinking:
    """Decides which turns bring their thinking back. ``mode`` is the `type` of thinking, None if left to the model."""
    loop = _open_loop(transcript)
    ours = [one for one in loop if one.turn.origin == origin]
    thought = any(_thinks(one.turn) for one in ours)
    if mode == "disabled" or not loop or (mode is None and not thought):
        return Thinking()
    whole = all(is_whole(one.turn) and not _thinks_after_blank(one.turn) for one in ours)
    if mode == "enabled":
        # Manual thinking is the strict one: whatever the API sees as the beginning of a turn must be thinking.
        heads = (one.turn for one in loop if one.begins)
        whole = whole and len(ours) == len(loop) and all(isinstance(turn.parts[0], ReasoningPart) for turn in heads)
    if not whole:
        return Thinking(off=True)
    # What came before the first thought was told in another way when that was made (`replay.py`), and stays so.
    since = dropwhile(lambda one: not _thinks(one.turn), reversed(ours))
    return Thinking(frozenset(one.place for one in since))


def _open_loop(transcript: Transcript) -> list[_InLoop]:
    """Returns the assistant turns of the open tool loop, newest first; none if no loop is open."""
    loop: list[_InLoop] = []
    found: tuple[int, AssistantTurn] | None = None  # in the loop, and who spoke before it is not known yet
    spoken = False
    for place in range(len(transcript) - 1, -1, -1):
        turn = transcript[place]
        if not _is_heard(turn):
            continue
        if found is not None:
            loop.append(_InLoop(*found, begins=isinstance(turn, UserTurn)))
            found = None
        if isinstance(turn, UserTurn):
            spoken = True
            continue
        if (spoken or not loop) and not turn.local_calls:
            break
        found, spoken = (place, turn), False
    if found is not None:
        loop.append(_InLoop(*found, begins=True))
    return loop


def _is_heard(turn: UserTurn | AssistantTurn) -> bool:
    """Whether the turn is a message of the request, or a part of one, even if its thinking is left out."""
    if isinstance(turn, UserTurn):
        return turn.role == "user" and any(not isinstance(part, Text) or part.text.strip() for part in turn.content)
    return bool(turn.calls) or any(isinstance(part, TextPart) and part.text.strip() for part in turn.parts)


def _thinks(turn: AssistantTurn) -> bool:
    return any(isinstance(part, ReasoningPart) for part in turn.parts)


def is_whole(turn: AssistantTurn) -> bool:
    """Whether the turn is complete as it came: no block without its place, none missing, no thinking without a seal."""
    places: list[int] = []
    for part in turn.parts:
        if not _is_intact(part):
            return False
        kept = private(part)
        places += [kept[name] for name in ("index", "result_index") if name in kept]
    counts = {kept["blocks"] for part in turn.parts if "blocks" in (kept := private(part))}
    return sorted(places) == list(range(len(places))) and counts <= {len(places)}


def _thinks_after_blank(turn: AssistantTurn) -> bool:
    """Whether thinking came after blank text, which can't be sent back (A11): it would follow something else."""
    blank = False
    for part in turn.parts:
        if blank and isinstance(part, ReasoningPart):
            return True
        blank = blank or (isinstance(part, TextPart) and not part.text.strip())
    return False


def private(part: _Part) -> dict[str, Any]:
    """Returns what the machine kept with a part."""
    return (part.part.private if isinstance(part, SettledCall) else part.private) or {}


def _is_intact(part: _Part) -> bool:
    kept = private(part)
    if not isinstance(kept.get("index"), int):
        return False
    match part:
        case ReasoningPart():
            return bool(part.encrypted)
        case SettledCall() if not part.part.local:
            return "block" in kept and "result" in kept
        case SettledCall():
            return not part.part.malformed
        case TextPart():
            return True


_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_HOSTED_ID = re.compile(r"[A-Za-z0-9_]{1,128}")
_EMPTY_ERROR = "The tool failed without saying why."
_BEGINNING = "(The conversation begins with the assistant.)"
_GO_ON = "(Go on.)"

_Placed = list[tuple[int, Body]]


class State(msgspec.Struct, frozen=True):
    """The state of a replay behind some turns. ``tail``: the messages that may still change, by what follows or where
    a cache is marked: those from the last but one of the user's on. ``begins``: the role of the first of all messages.

    ``system`` are the blocks of the application's messages, ``names`` those of the calls, and ``used`` their ids.
    """

    tail: tuple[Body, ...] = ()
    begins: str = ""
    system: tuple[Body, ...] = ()
    names: tuple[str, ...] = ()
    used: frozenset[str] = frozenset()


def replay(
    turns: Transcript, state: State, *, origin: str, kept: frozenset[int] = frozenset()
) -> tuple[list[Body], State]:
    """Replays turns that come after ``state``; those at the positions ``kept`` bring their thinking back. Returns the
    messages that stay as they are, and the state behind the turns.
    """
    said = _Replay(origin, state)
    for place, turn in enumerate(turns):
        if isinstance(turn, UserTurn):
            said.user(turn)
        else:
            said.assistant(turn, with_thinking=place in kept)
    messages = said.messages
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    first = users[-2] if len(users) > 1 else 0
    begins = state.begins or (messages[0]["role"] if messages else "")
    names = tuple(dict.fromkeys(said.names))
    return messages[:first], State(tuple(messages[first:]), begins, tuple(said.system), names, frozenset(said.used))


def ends(state: State) -> tuple[list[Body], list[Body]]:
    """Returns the messages before and behind those that stay: so that all have a user's at either end."""
    first = [_user(_BEGINNING)] if state.begins == "assistant" else []
    last = list(state.tail)
    if not state.begins or last[-1]["role"] == "assistant":
        last.append(_user(_GO_ON))
    return first, last


def _user(text: str) -> Body:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


class _Replay:
    """Collects the messages, in order."""

    def __init__(self, origin: str, state: State) -> None:
        self.system = list(state.system)
        self.messages: list[Body] = [{**message, "content": [*message["content"]]} for message in state.tail]
        self.names = list(state.names)
        self.used = set(state.used)
        self._origin = origin

    def user(self, turn: UserTurn) -> None:
        """Adds a user's message; a system's or developer's goes to the front, as there is no such role."""
        if turn.role == "user":
            self._add("user", user_blocks(turn.content))
        elif (block := text_block(as_text(turn.content))) is not None:
            self.system.append(block)

    def assistant(self, turn: AssistantTurn, *, with_thinking: bool) -> None:
        """Adds an assistant's turn, and the results of its calls."""
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
        """Returns the provider's own id, or a new one where it is invalid, or occurred before (S24)."""
        call_id = call.part.wire_id
        if not _ID.fullmatch(call_id) or call_id in self.used:
            call_id = stable_id("toolu_", place, call.part.id)
        self.used.add(call_id)
        return call_id

    def _other(self, part: _Part, position: int, *, whole: bool, with_thinking: bool) -> _Placed:
        """Returns the blocks of any part but a local call."""
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
        """Returns a server tool's call and result as they came, or as text."""
        kept, wire_id = private(call), call.part.wire_id
        if not whole or not _HOSTED_ID.fullmatch(wire_id) or wire_id in self.used:
            block = text_block(retold(call))
            return [(_place(call, position), block)] if block is not None else []
        self.used.add(wire_id)
        return [(kept["index"], kept["block"]), (kept["result_index"], kept["result"])]


def _place(part: _Part, position: int) -> int:
    """Returns the block's place in its message. Only whole turns need it."""
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
