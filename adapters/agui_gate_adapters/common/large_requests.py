"""Processes large requests off the event loop, and writes and sends them in pieces.

A thread may have tens of megabytes, or tens of thousands of messages. To make a provider's request of one takes long,
and meanwhile nobody else's stream would move. So what goes through a whole request is a pure function, and is called by
one of the functions here. Which requests are large the server says: `TurnRequest.large`.

The JSON encoder lets nobody else work while it is at work, so a large body is encoded piece by piece.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import msgspec

from agui_gate.adapter import TurnRequest, off_loop

P = ParamSpec("P")
T = TypeVar("T")

PIECE = 256 * 1024
"""About how many bytes of a large request are sent at once."""

MANY = 500
"""Items of a list that is encoded one by one."""

TOGETHER = 16
"""Short items of a list that are encoded at one go."""

_encode = msgspec.json.encode
_CONTAINERS = (dict, list)


async def work_through(request: TurnRequest, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a pure function that goes through ``request``: beside the event loop if the request is large.

    Cancelling the caller doesn't stop the function; nobody waits for it then.
    """
    if request.large:
        return await off_loop(function, *args, **kwargs)
    return function(*args, **kwargs)


class Pieces:
    """A large body, which can be read any number of times. ``length`` is in bytes."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self.length = sum(map(len, pieces))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    def joined(self) -> bytes:
        """Returns all pieces joined."""
        return b"".join(self._pieces)


class _Gathered:
    """Joins small parts of bytes into pieces of about one size."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0

    def put(self, part: bytes) -> None:
        """Adds a part."""
        self._parts.append(part)
        self._size += len(part)
        if self._size >= PIECE:
            self._close()

    def _close(self) -> None:
        self._pieces.append(b"".join(self._parts))
        self._parts, self._size = [], 0

    def pieces(self) -> Pieces:
        """Returns all pieces; nothing may be added afterwards."""
        self._close()
        return Pieces(self._pieces)


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
    """Encodes short items together: nearly all of a conversation's messages are short."""
    between = b"["
    for place in range(0, len(value), TOGETHER):
        items = value[place : place + TOGETHER]
        if levels <= 0 and not any(map(_is_long, items)):
            put(between + _encode(items)[1:-1])
            between = b","
            continue
        for item in items:
            put(between)
            _write_inner(item, levels, put)
            between = b","
    put(b"]" if value else b"[]")


def _write_inner(value: Any, levels: int, put: Put) -> None:
    if levels > 0 or _is_long(value):
        _write(value, levels, put)
    else:
        put(_encode(value))


def _is_long(value: Any) -> bool:
    """Whether there is a long text or a long list in it."""
    if isinstance(value, list) and len(value) > MANY:
        return True
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,):
        if isinstance(part, str):
            if len(part) > PIECE:
                return True
        elif isinstance(part, _CONTAINERS) and _is_long(part):
            return True
    return False
