"""Tool calls put together from pieces, whatever of the usual addressing a server leaves out.

A piece says which call it belongs to by index, by id, or not at all. It begins another call in three cases. Its id is a
new one at its index. Its name is another one. Or it brings a name although the call that it would belong to has whole
arguments. Everything else continues the call: ids and names are repeated by some servers with every piece,
and are never put together from pieces.

A call is shown when its name is known, and ended only by the end of the answer. Until then a piece may follow, and a
stream that is cut off must not leave a call that looks complete (B25).
"""

from collections.abc import Callable

import msgspec

from agui_gate.adapter import CallDelta, CallEnd, CallStart, ModelEvent

from .wire import CallPiece, Function

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
        """A piece of the arguments. ``headed``: it came with a name, so it may be a repetition of the whole.

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
        """The answer is over. ``limited``: it was cut short, so only a call that is whole counts."""
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
        """One piece of one call."""
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
