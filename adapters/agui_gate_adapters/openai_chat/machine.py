"""Turns the provider's chunks into model events. Pure: no I/O, no clock, one instance a response.

Theory of operation. A chunk adds to one message: reasoning, text, and pieces of tool calls (`Calls`). Text and
reasoning are items of their own as long as nothing of another kind comes between; of calls any number are open at once.

The answer is over at `[DONE]`, or where the body ends after a `finish_reason`. It is not over at the `finish_reason`
itself: token counts follow, and some servers say it too early or more than once. Nothing ends before that (B25). What
the `finish_reason` says is believed only where it says that the answer is incomplete; whether there are calls is seen.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    TurnDone,
    Usage,
)
from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.common.failures import Api, Failure, Kind, classify_code, classify_status
from agui_gate_adapters.common.json_decoder import ABSENT, inside

from .reasoning import DETAILS, merge
from .wire import CallPiece, Chunk, Counts, Delta, Function, decode_chunk, decode_tail, error_in

# Tool calls put together from pieces, whatever of the usual addressing a server leaves out.
#
# A piece says which call it belongs to by index, by id, or not at all. It begins another call in three cases. Its id is
# a new one at its index. Its name is another one. Or it brings a name although the call that it would belong to has
# whole arguments. Everything else continues the call: ids and names are repeated by some servers with every piece, and
# are never put together from pieces.
#
# A call is shown when its name is known, and ended only by the end of the answer. Until then a piece may follow, and a
# stream that is cut off must not leave a call that looks complete (B25).

Events = list[ModelEvent]

_EMPTY = Function()
_PLACEHOLDER = "{}"


class Call:
    """One call while it streams. ``given_id`` is the server's id, "" as long as it named none."""

    __slots__ = ("_key", "_length", "_pieces", "_shown", "_unshown", "given_id", "name")

    def __init__(self, key: str) -> None:
        self._key = key
        self._pieces: list[str] = []
        self._length = 0
        self._unshown = ""
        self._shown = False
        self.given_id = ""
        self.name = ""

    @property
    def is_whole(self) -> bool:
        """Whether the arguments so far are a JSON object, and not one that may only stand in its place."""
        if not self._pieces or not self._pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(msgspec.json.decode("".join(self._pieces)), dict)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return False

    def is_other(self, call_id: str, name: str, arguments: str, *, indexed: bool) -> bool:
        """Whether a piece that came with this call's address begins another call. ``indexed``: it has an index."""
        same_id = bool(call_id) and call_id == self.given_id
        if call_id and self.given_id and not same_id:
            return True
        if not name:
            return False
        if self.name and name != self.name and not same_id:
            return True
        if not arguments.strip():
            return not indexed and not same_id and self.is_whole
        return self.is_whole and not (same_id and self._is_again(arguments))

    def _is_again(self, arguments: str) -> bool:
        """Whether arguments are the ones that this call has: some servers repeat the whole call when it is complete."""
        return len(arguments) == self._length and arguments == "".join(self._pieces)

    def show(self, call_id: str, name: str, mint: Callable[[], str], out: Events) -> None:
        """Take over what a piece says about the call; begin it as soon as it has a name."""
        self.given_id = self.given_id or call_id
        if name and not self._shown:
            self.name = name
            self._shown = True
            out.append(CallStart(self._key, self.given_id or mint(), name))
            out.extend(CallDelta(self._key, text) for text in self._pieces)

    def add(self, text: str, *, headed: bool, out: Events) -> None:
        """Adds a piece of the arguments. ``headed``: it came with a name, so it may repeat the whole.

        An empty object may be a placeholder that stands before the real one, or after it. So it is held back, and
        counts only if nothing else comes.
        """
        if not self._pieces:
            self._begin(self._unshown + text, out)
        elif not (self._may_repeat(text, headed) and self.is_whole):
            self._push(text, out)

    def _may_repeat(self, text: str, headed: bool) -> bool:
        return text.strip() == _PLACEHOLDER or (headed and self._is_again(text))

    def _begin(self, text: str, out: Events) -> None:
        text = text.lstrip()
        while text.startswith(_PLACEHOLDER) and text[len(_PLACEHOLDER) :].lstrip().startswith("{"):
            text = text[len(_PLACEHOLDER) :].lstrip()
        if _PLACEHOLDER.startswith(text.rstrip()):
            self._unshown = text
        else:
            self._push(text, out)

    def _push(self, text: str, out: Events) -> None:
        self._pieces.append(text)
        self._length += len(text)
        if self._shown:
            out.append(CallDelta(self._key, text))

    def end(self, out: Events, *, limited: bool) -> None:
        """Ends the call with the answer. ``limited``: it was cut short, so only a complete call counts."""
        if not self._shown or (limited and not self.is_whole and self._unshown.rstrip() != _PLACEHOLDER):
            return
        if not self._pieces:
            self._push(self._unshown.rstrip() or _PLACEHOLDER, out)
        out.append(CallEnd(self._key, "".join(self._pieces)))


class Calls:
    """The calls of one answer. ``mint`` makes ids for those that have none."""

    def __init__(self, mint: Callable[[], str]) -> None:
        self._mint = mint
        self._all: list[Call] = []
        self._by_index: dict[int | None, Call] = {}
        self._by_id: dict[tuple[int | None, str], Call] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def take(self, piece: CallPiece, out: Events) -> None:
        """Takes a piece of a call."""
        function = piece.function or _EMPTY
        call_id, name, text = piece.id or "", function.name or "", function.text
        call = self._find(piece.index, call_id)
        if call is None or call.is_other(call_id, name, text, indexed=piece.index is not None):
            call = self._call_at(piece.index)
        if call_id:
            self._by_id[piece.index, call_id] = call
        if call_id or name:
            call.show(call_id, name, self._mint, out)
        if text:
            call.add(text, headed=bool(name), out=out)

    def end(self, out: Events, *, limited: bool) -> None:
        """End all calls, in the order in which they began."""
        for call in self._all:
            call.end(out, limited=limited)

    def _find(self, index: int | None, call_id: str) -> Call | None:
        if call_id and (call := self._by_id.get((index, call_id))) is not None:
            return call
        if index is None:
            return self._all[-1] if self._all else None
        return self._by_index.get(index)

    def _call_at(self, index: int | None) -> Call:
        call = Call(f"call-{len(self._all)}")
        self._all.append(call)
        self._by_index[index] = call
        return call


_INCOMPLETE = {
    "length": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "model_length": "max_output_tokens",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
}
"""What cut an answer short, by `finish_reason`."""

_FAILED = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
"""`finish_reason` of an answer that the server gave up."""


class ChatMachine:
    """Turns payloads into model events.

    ``done`` is true once the answer is over; ``failure`` is set when the provider said that it failed, or when what it
    says can't be read. ``mint`` makes an id for a call that has none. ``provider`` is who the token counts are from.
    ``says_end``: see `Profile`.
    """

    def __init__(
        self, model: str, api: Api, mint: Callable[[], str], *, provider: str = "openai", says_end: bool = True
    ) -> None:
        self.done = False
        self.failure: Failure | None = None
        self._model = model
        self._api = api
        self._provider = provider
        self._says_end = says_end
        self._items = 0
        self._text = ""  # the open item's key
        self._thought = ""
        self._thought_field: str | None = None
        self._details: list[dict[str, Any]] = []
        self._details_key = ""
        self._calls = Calls(mint)
        self._finish: str | None = None
        self._refused = False
        self._usage: Counts | None = None
        self._last = b""

    def feed(self, payloads: list[bytes]) -> Events:
        """Returns the events of these payloads; what follows a failure or the end is ignored."""
        out: Events = []
        for payload in payloads:
            if self.done or self.failure is not None:
                break
            if payload[:1] == b"[" and payload.strip() == b"[DONE]":
                self._complete(out, cut_short=False)
            else:
                self._take(payload, out)
        return out

    def end(self) -> Events:
        """Returns the last events at the end of the body. After a `finish_reason`, `[DONE]` may be missing."""
        out: Events = []
        if self._finish is not None:
            self._complete(out, cut_short=False)
        elif not self._says_end and self._said_something:
            self._complete(out, cut_short=True)
        return out

    def _take(self, payload: bytes, out: Events) -> None:
        try:
            chunk = decode_chunk(payload)
        except ProviderUnavailable as error:
            self.failure = Failure(error, Kind.AMBIGUOUS)
            return
        if chunk.usage is not None:
            self._usage = chunk.usage
            self._last = payload
        if chunk.choices is None or chunk.error is not ABSENT:
            self._rare(chunk, payload)
            if self.failure is not None:
                return
        for choice in chunk.choices or ():
            if choice.index:
                continue
            if choice.delta is not None:
                self._delta(choice.delta, out)
            if choice.finish_reason:
                self._finished(choice.finish_reason, payload)

    def _rare(self, chunk: Chunk, payload: bytes) -> None:
        """Reads a chunk without choices: an error, or token counts."""
        reply, status = error_in(payload, chunk.error)
        if reply is not None and status is not None:
            self.failure = classify_status(status, reply, self._api, model=self._model)
        elif reply is not None:
            self.failure = classify_code(reply, self._api)

    def _finished(self, reason: str, payload: bytes) -> None:
        self._last = payload
        if reason in _FAILED:
            self.failure = Failure(ProviderUnavailable("The provider failed while it answered."), Kind.AMBIGUOUS)
        elif self._finish not in _INCOMPLETE:
            self._finish = reason

    # --- the message ----------------------------------------------------------------------------------------------

    def _delta(self, delta: Delta, out: Events) -> None:
        content = delta.content
        if delta.reasoning_content or delta.reasoning or delta.reasoning_details:
            self._reason(delta, out)
        if content:
            if isinstance(content, str):
                self._say(content, out)
            else:
                self._typed(content, out)
        if delta.refusal:
            self._refused = True
            self._say(delta.refusal, out)
        if delta.tool_calls:
            self._close_text(out)
            self._close_thought(out)
            for piece in delta.tool_calls:
                self._calls.take(piece, out)

    def _say(self, text: str, out: Events) -> None:
        """Tell a piece of text."""
        if not self._text:
            self._close_thought(out)
            self._text = self._key("text")
            out.append(TextStart(self._text))
        out.append(TextDelta(self._text, text))

    def _reason(self, delta: Delta, out: Events) -> None:
        """Returns the reasoning of a delta; the same text may come in two members at once, and is shown once."""
        text = ""
        if delta.reasoning_details:
            if not self._details_key:
                # An item of its own, which begins before what it belongs to and ends with the answer: more may follow.
                self._details_key = self._key("details")
                out.append(ReasoningStart(self._details_key))
            text = merge(self._details, delta.reasoning_details)
        if delta.reasoning_content:
            self._think(delta.reasoning_content, "reasoning_content", out)
        elif delta.reasoning or text:
            self._think(delta.reasoning or text, "reasoning", out)

    def _think(self, text: str, field: str | None, out: Events) -> None:
        if not self._thought:
            self._close_text(out)
            self._thought = self._key("reasoning")
            self._thought_field = field
            out.append(ReasoningStart(self._thought))
        out.append(ReasoningDelta(self._thought, text))

    def _typed(self, pieces: list[Any], out: Events) -> None:
        """Reads a list as content (Mistral): `{"type": "text", "text"}`, `{"type": "thinking", "thinking": [...]}`."""
        for piece in pieces:
            if not isinstance(piece, dict):
                continue
            if text := piece.get("text"):
                self._say(str(text), out)
            elif isinstance(thinking := piece.get("thinking"), list):
                words = "".join(str(one.get("text") or "") for one in thinking if isinstance(one, dict))
                if words:
                    self._think(words, None, out)

    def _key(self, kind: str) -> str:
        self._items += 1
        return f"{kind}-{self._items}"

    def _close_text(self, out: Events) -> None:
        if self._text:
            out.append(TextEnd(self._text))
            self._text = ""

    def _close_thought(self, out: Events) -> None:
        if self._thought:
            private = {"field": self._thought_field} if self._thought_field else None
            out.append(ReasoningEnd(self._thought, private=private))
            self._thought = ""

    # --- the end --------------------------------------------------------------------------------------------------

    @property
    def _said_something(self) -> bool:
        return bool(self._items or self._calls)

    def _complete(self, out: Events, *, cut_short: bool) -> None:
        """Ends all items, and the turn. ``cut_short``: the answer may be incomplete."""
        if self._finish is None and not self._said_something:
            self.failure = Failure(ProviderUnavailable("The provider answered with nothing."), Kind.AMBIGUOUS)
            return
        reason = _INCOMPLETE.get(self._finish or "")
        self._close_thought(out)
        self._close_text(out)
        if self._details_key:
            out.append(ReasoningEnd(self._details_key, private={DETAILS: self._details}))
        self._calls.end(out, limited=cut_short or reason is not None)
        self.done = True
        out.append(TurnDone("incomplete" if reason else "completed", reason, self._counts(), refused=self._refused))

    def _counts(self) -> Usage | None:
        tail = decode_tail(self._last)
        said = self._usage or tail.usage
        usage = Usage(
            provider=self._provider,
            model=tail.model or self._model,
            input_tokens=inside(said, "prompt_tokens"),
            output_tokens=inside(said, "completion_tokens"),
            total_tokens=inside(said, "total_tokens"),
            cached_input_tokens=_cached(said),
            reasoning_tokens=inside(said, "completion_tokens_details", "reasoning_tokens"),
            cache_write_input_tokens=inside(said, "prompt_tokens_details", "cache_write_tokens"),
        )
        return usage if usage.reported else None


def _cached(said: Counts | None) -> Any:
    """Returns the cached part of the prompt, under OpenAI's name, else DeepSeek's, else Kimi's."""
    names = (("prompt_tokens_details", "cached_tokens"), ("prompt_cache_hit_tokens",), ("cached_tokens",))
    return next((found for path in names if (found := inside(said, *path)) is not None), None)
