"""Large requests: gone through beside the event loop, and written and sent in pieces.

A thread may have tens of megabytes, or tens of thousands of messages. To make a provider's request of one takes long,
and meanwhile nobody else's stream would move. So what goes through a whole request is a pure function, and is called by
one of the functions here. Which requests are large the server says: `TurnRequest.large`.

The JSON encoder lets nobody else work while it is at work, so a large body is encoded piece by piece.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, ParamSpec, TypeVar

import msgspec

from agui_gate.adapter import TurnRequest, off_loop

P = ParamSpec("P")
T = TypeVar("T")

PIECE = 256 * 1024
"""About how many bytes of a large request are sent at once."""

MANY = 500
"""Items of a list that is encoded one by one."""


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
        """All of it at once."""
        return b"".join(self._pieces)


def in_pieces(body: dict[str, Any]) -> Pieces:
    """The body as JSON. Raises `TypeError` or `ValueError` for what JSON can't say."""
    made: list[bytes] = []
    gathered, size = [], 0
    for piece in _json(body, 2):
        gathered.append(piece)
        size += len(piece)
        if size >= PIECE:
            made.append(b"".join(gathered))
            gathered, size = [], 0
    return Pieces([*made, b"".join(gathered)])


def _json(value: Any, levels: int) -> Iterator[bytes]:
    """A value's JSON. Its first ``levels``, and what is large below them, are encoded member by member."""
    if isinstance(value, str) and len(value) > PIECE:
        yield b'"'
        for place in range(0, len(value), PIECE):
            yield msgspec.json.encode(value[place : place + PIECE])[1:-1]
        yield b'"'
    elif isinstance(value, dict) and (levels > 0 or _is_long(value)):
        names = (msgspec.json.encode(name) + b":" for name in value)
        yield from _members(b"{", zip(names, value.values(), strict=True), b"}", levels - 1)
    elif isinstance(value, list) and (levels > 0 or _is_long(value)):
        yield from _members(b"[", zip(repeat(b""), value, strict=False), b"]", levels - 1)
    else:
        yield msgspec.json.encode(value)


def _members(opening: bytes, members: Iterable[tuple[bytes, Any]], closing: bytes, levels: int) -> Iterator[bytes]:
    between = opening
    for name, value in members:
        yield between + name
        yield from _json(value, levels)
        between = b","
    yield closing if between == b"," else opening + closing


def _is_long(value: Any) -> bool:
    """Whether there is a long text or a long list in it."""
    if isinstance(value, str):
        return len(value) > PIECE
    if isinstance(value, list):
        return len(value) > MANY or any(map(_is_long, value))
    return isinstance(value, dict) and any(map(_is_long, value.values()))
