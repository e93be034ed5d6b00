"""Processes large requests off the event loop, and writes and sends them in pieces.

A thread may have tens of megabytes, or tens of thousands of messages. To make a provider's request of one takes long,
and meanwhile nobody else's stream would move. So what goes through a whole request is a pure function, and is called by
one of the functions here. Which requests are large the server says: `TurnRequest.large`.

The JSON encoder lets nobody else work while it is at work, so a large body is encoded piece by piece.

What is made of the turns that later requests of a thread have, too, is made once: see `agui_gate.adapter.Beginning`. It
may depend on the turns before each and on the settings, and on nothing else. Where anything is otherwise than it was,
nothing of it is used. So a request has the same bytes with it and without.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import chain, compress
from typing import Any, ParamSpec, TypeVar

import msgspec

from agui_gate.adapter import AssistantTurn, TurnRequest, UserTurn, off_loop

P = ParamSpec("P")
T = TypeVar("T")

PIECE = 256 * 1024
"""About how many bytes of a large request are sent at once."""

GROWN = 32 * 1024
"""Bytes from which on a piece of what is kept of a conversation gets no longer: what is added is copied with it."""

AT_ONCE = 1024 * 1024
"""Bytes of a conversation that is encoded at one go: that takes two milliseconds at most."""

MANY = 500
"""Items of a list that is encoded one by one."""

TOGETHER = 256
"""Items of a list that are encoded at one go, if all their texts are short together."""

_encode = msgspec.json.encode
_CONTAINERS = (dict, list)
_JSON = {str, list, dict, int, float, bool, type(None)}
_TEXTS, _LISTS, _OBJECTS = {str}.__contains__, {list}.__contains__, {dict}.__contains__


async def work_through(request: TurnRequest, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a pure function that goes through ``request``: beside the event loop if the request is large.

    Cancelling the caller doesn't stop the function; nobody waits for it then.
    """
    if request.large:
        return await off_loop(function, *args, **kwargs)
    return function(*args, **kwargs)


class Pieces:
    """A large body, which can be read any number of times. Its `len` is in bytes."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces
        self._length = sum(map(len, pieces))

    def __len__(self) -> int:
        return self._length

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece

    def joined(self) -> bytes:
        """Returns all pieces joined."""
        return b"".join(self.pieces)


class _Gathered:
    """Joins small parts of bytes into pieces of about one size. A large one is a piece as it is."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0

    def put(self, part: bytes) -> None:
        """Adds a part."""
        if len(part) >= PIECE:
            self._close()
        self._parts.append(part)
        self._size += len(part)
        if self._size >= PIECE:
            self._close()

    def _close(self) -> None:
        if self._parts:
            self._pieces.append(b"".join(self._parts))  # of one, no copy
            self._parts, self._size = [], 0

    def pieces(self) -> Pieces:
        """Returns all pieces; nothing may be added afterwards."""
        self._close()
        return Pieces(self._pieces)


class Items:
    """A list that is JSON already: ``pieces`` of what is between its brackets."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self.pieces = pieces

    def joined(self) -> bytes:
        """Returns the list."""
        return b"".join((b"[", *self.pieces, b"]"))


_MARK = b"\0"
"""Stands for `Items` in a body: no JSON has this byte."""


def _as_mark(value: object) -> msgspec.Raw:
    if isinstance(value, Items):
        return msgspec.Raw(_MARK)
    raise TypeError(f"This is not JSON: {type(value).__name__}")


_encode_around = msgspec.json.Encoder(enc_hook=_as_mark).encode


def encode(body: dict[str, Any]) -> bytes | Pieces:
    """Encodes a body, of which one member may be `Items`: if these are long, none of them is copied. Raises `TypeError`
    or `ValueError` for what JSON can't hold.
    """
    items = next((value for value in body.values() if type(value) is Items), None)
    if items is None:
        return _encode(body)
    before, _, after = _encode_around(body).partition(_MARK)
    whole = Pieces((before + b"[", *items.pieces, b"]" + after))
    return whole if len(whole) > GROWN else whole.joined()


def encoded_items(items: list[Any], *, large: bool) -> bytes:
    """Returns the JSON of ``items`` without brackets, encoded piece by piece if they are ``large``."""
    if not large:
        return _encode(items)[1:-1]
    gathered = _Gathered()
    _write_list(items, 0, gathered.put)
    return gathered.pieces().joined()[1:-1]


Put = Callable[[bytes], None]


def in_pieces(body: dict[str, Any]) -> Pieces:
    """Encodes the body in pieces. Raises `TypeError` or `ValueError` for what JSON can't hold."""
    gathered = _Gathered()
    _write(body, 2, gathered.put)
    return gathered.pieces()


def _write(value: Any, levels: int, put: Put) -> None:
    """Encodes a value member by member, and so ``levels - 1`` levels below it, and what is large there."""
    if isinstance(value, str) and len(value) > PIECE:
        _write_text(value, put)
    elif isinstance(value, dict):
        _write_object(value, levels - 1, put)
    elif isinstance(value, list):
        _write_list(value, levels - 1, put)
    elif isinstance(value, Items):
        put(b"[")
        for piece in value.pieces:
            put(piece)
        put(b"]")
    else:
        put(_encode(value))


def _write_text(text: str, put: Put) -> None:
    put(b'"')
    for place in range(0, len(text), PIECE):
        put(_encode(text[place : place + PIECE])[1:-1])
    put(b'"')


def _write_object(value: dict[str, Any], levels: int, put: Put) -> None:
    between = b"{"
    for name, member in value.items():
        put(between + _encode(name) + b":")
        _write_inner(member, levels, put)
        between = b","
    put(b"}" if value else b"{}")


def _write_list(value: list[Any], levels: int, put: Put) -> None:
    """Encodes items together as far as they are short: nearly all of a conversation's messages are."""
    if not value:
        put(b"[]")
        return
    put(b"[")
    for place in range(0, len(value), TOGETHER):
        if place:
            put(b",")
        _write_items(value[place : place + TOGETHER], levels, put)
    put(b"]")


def _write_items(items: list[Any], levels: int, put: Put) -> None:
    if len(items) == 1:
        _write_inner(items[0], levels, put)
    elif levels <= 0 and _are_short(items):
        put(_encode(items)[1:-1])
    else:
        middle = len(items) // 2
        _write_items(items[:middle], levels, put)
        put(b",")
        _write_items(items[middle:], levels, put)


def _write_inner(value: Any, levels: int, put: Put) -> None:
    if levels > 0 or _is_long(value):
        _write(value, levels, put)
    else:
        put(_encode(value))


def _are_short(items: list[Any]) -> bool:
    """Returns False if they may be long together. They are looked at level by level, and nothing is done for each."""
    level, size = items, 0
    while level:
        kinds = [*map(type, level)]
        if not _JSON.issuperset(kinds):
            return False
        size += sum(map(len, compress(level, map(_TEXTS, kinds))))
        lists, objects = compress(level, map(_LISTS, kinds)), compress(level, map(_OBJECTS, kinds))
        level = [*chain.from_iterable(lists), *chain.from_iterable(map(dict.values, objects))]
        if size + len(level) > PIECE:
            return False
    return True


def _is_long(value: Any) -> bool:
    """Whether there is a long text or a long list in it."""
    if isinstance(value, Items) or (isinstance(value, list) and len(value) > MANY):
        return True
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,):
        if isinstance(part, str):
            if len(part) > PIECE:
                return True
        elif isinstance(part, _CONTAINERS) and _is_long(part):
            return True
    return False


# --- what later requests have, too ---
CHECKED = False
"""True in tests: what is kept is made anew as well, and both are compared."""

Turns = Sequence[UserTurn | AssistantTurn]
Body = dict[str, Any]


def new_turns(request: TurnRequest) -> Turns:
    """Returns the turns that don't stay, in which alone something can be agreed to; all, if nobody knows."""
    beginning, transcript = request.beginning, request.transcript
    return transcript if beginning is None or beginning.transcript is not transcript else transcript[beginning.turns :]


def made_of(request: TurnRequest, name: str, nothing: T, add: Callable[[T, Turns], T]) -> tuple[T, Turns]:
    """Returns what ``add`` makes of the turns that stay, beginning with ``nothing``, and the other turns.

    ``add`` returns another object each time, whose `len` is about its size. ``name`` tells it from all others.
    """
    beginning, transcript = request.beginning, request.transcript
    if beginning is None or beginning.transcript is not transcript:
        return nothing, transcript
    turns, made = beginning.made.get(name, (0, nothing))
    if turns > beginning.turns:  # a later request was made meanwhile
        return nothing, transcript
    if turns < beginning.turns:
        made = add(made, transcript[turns : beginning.turns])
        beginning.made[name] = (beginning.turns, made)
    if CHECKED:
        anew = add(nothing, transcript[: beginning.turns])
        assert _whole(made) == _whole(anew)
    return made, transcript[beginning.turns :]


def is_new(request: TurnRequest, name: str) -> bool:
    """Returns whether so much of a request is new to what stays under ``name`` that it is not for the event loop."""
    if not request.large:
        return False
    made = 0 if request.beginning is None else request.beginning.made.get(name, (0,))[0]
    return max(len(request.transcript) - made, len(request.tools)) > MANY


def is_long(request: TurnRequest) -> bool:
    """Returns whether to go through `new_turns` is not for the event loop."""
    return request.large and len(new_turns(request)) > MANY


def is_heavy(request: TurnRequest, name: str) -> bool:
    """Returns whether to write a request is not for the event loop. It is if nearly all is JSON that stays under
    ``name`` (`replayed`), and can be encoded at one go.
    """
    stays = request.beginning is not None and name in request.beginning.made
    told = request.size + len(request.instructions)
    return request.large and (not stays or told > AT_ONCE or is_new(request, name))


class _Replayed(msgspec.Struct, frozen=True, gc=False):
    """The ``pieces`` of JSON that turns were replayed as, and the ``state`` that the next turn goes on from."""

    pieces: tuple[bytes, ...]
    state: Any

    def __len__(self) -> int:
        return sum(map(len, self.pieces))


def _whole(made: Any) -> Any:
    return (b"".join(made.pieces), made.state) if isinstance(made, _Replayed) else made


Ends = tuple[list[Body], list[Body]]


def replayed(
    request: TurnRequest,
    name: str,
    state: T,
    replay: Callable[[Turns, T], tuple[list[Body], T]],
    ends: Callable[[T], Ends] = lambda _: ([], []),
    write: Callable[[Turns, T], tuple[bytes, T]] | None = None,
) -> list[Body] | Items:
    """Returns what ``replay`` makes of the transcript's turns, beginning with ``state``, which it doesn't change.

    It returns the items of some turns, and the state behind them. ``ends`` returns the items that stand before and
    behind all of these, which depend on the state behind the last turn. ``write`` returns the JSON of the same items,
    without brackets, where an adapter makes that of plain turns faster.
    """

    large = request.large and not 0 < request.size <= AT_ONCE

    def whole(turns: Turns) -> list[Body]:
        items, after = replay(turns, state)
        first, last = ends(after)
        return [*first, *items, *last]

    def encoded(turns: Turns, before: T) -> tuple[bytes, T]:
        items, after = replay(turns, before)
        return encoded_items(items, large=large), after

    def add(done: _Replayed, turns: Turns) -> _Replayed:
        more, after = (write or encoded)(turns, done.state)
        assert not CHECKED or (more, after) == encoded(turns, done.state)
        return _Replayed(_with(done.pieces, more), after)

    try:
        done, rest = made_of(request, name, _Replayed((), state), add)
        if not done.pieces:
            return whole(request.transcript)
        more, after = (write or encoded)(rest, done.state)
        first, last = [encoded_items(items, large=False) for items in ends(after)]
        behind = [part for one in (more, last) if one for part in (b",", one)]
        items = Items((*((first, b",") if first else ()), *done.pieces, *behind))
    except (TypeError, ValueError):  # JSON can't hold something of it, which is said where all of it is encoded
        return whole(request.transcript)
    assert not CHECKED or items.joined() == _encode(whole(request.transcript))
    return items


def _with(pieces: tuple[bytes, ...], more: bytes) -> tuple[bytes, ...]:
    """Returns the pieces with ``more``, and never many short ones."""
    if not more or not pieces:
        return (more,) if more else pieces
    if len(pieces[-1]) < GROWN:
        return (*pieces[:-1], pieces[-1] + b"," + more)
    return (*pieces, b"," + more)
