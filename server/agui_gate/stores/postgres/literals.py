"""Statements as the text that PostgreSQL is sent, and its answers as values of ours.

Values are put into the text here (client-side binding), since a round trip carries several statements, and since
nothing prepared may stay in a connection that a pooler shares. So this is the place where nothing that a person said
may become SQL:

* The connection's encoding is UTF-8 (`connection`), and Python makes no invalid UTF-8. So no character hides a quote.
* A text is in quotes, its quotes doubled. With a backslash in it, it is an ``E''`` text with its backslashes doubled,
  which means the same whatever ``standard_conforming_strings`` says.
* Everything else is a number (a boolean is 0 or 1, as in SQLite), NULL, or a list of these and texts.

PostgreSQL's texts can't hold NUL, and ours may. So `MARK`, a character that Unicode gives no meaning, begins a pair in
the database: ``MARK 0`` is NUL, and ``MARK 1`` is MARK itself. Nobody outside of this module sees that.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from agui_gate.stores.sql.operations import NAME, Statement

MARK = "\ufdd0"
_MARK = MARK.encode()

Pieces = tuple[tuple[bytes, str], ...]
"""Each: some text, and the name of the value after it."""


@lru_cache(maxsize=1024)
def _split(text: str) -> tuple[Pieces, bytes]:
    """Returns a statement's text around its names, and what is left after the last one."""
    *parts, rest = NAME.split(text)
    pieces = tuple((parts[i].encode(), parts[i + 1]) for i in range(0, len(parts), 2))
    return pieces, rest.encode()


def bind(statement: Statement, given: Mapping[str, bytes]) -> bytes:
    """Returns the statement with its values in it. ``given``: SQL of ours for names that are no values.

    Raises `UnicodeEncodeError` for a text that is none (an unpaired surrogate), as SQLite does.
    """
    pieces, rest = _split(statement.text)
    values = statement.values
    bound = bytearray()
    for text, name in pieces:
        bound += text
        bound += given[name] if name in given else literal(values[name])
    return bytes(bound + rest)


def literal(value: object) -> bytes:
    """Returns a value as SQL."""
    if isinstance(value, str):
        if "\0" in value or MARK in value:
            value = value.replace(MARK, MARK + "1").replace("\0", MARK + "0")
        return _quoted(value.encode())
    if value is None:
        return b"NULL"
    if isinstance(value, bool):
        return b"1" if value else b"0"
    if isinstance(value, int):
        return b"%d" % value if value >= 0 else b"(%d)" % value
    if isinstance(value, bytes):  # JSON, which is text and has no NUL in it
        return _quoted(value.replace(_MARK, _MARK + b"1"))
    if isinstance(value, list | tuple):
        return b"ARRAY[" + b", ".join(map(literal, value)) + b"]" if value else b"'{}'"
    raise TypeError(f"{type(value).__name__} is no value of a statement")


def _quoted(text: bytes) -> bytes:
    text = text.replace(b"'", b"''")
    if b"\\" in text:
        return b" E'" + text.replace(b"\\", b"\\\\") + b"'"
    return b"'" + text + b"'"


def _text(value: bytes) -> str:
    read = value.decode()
    return _unmarked(read, "\0") if _MARK in value else read


def _json(value: bytes) -> str:
    read = value.decode()
    return _unmarked(read, "\\u0000") if _MARK in value else read


def _unmarked(text: str, nul: str) -> str:
    """Returns ``text`` as it was before it was `literal`; one that was cut in the middle of a pair lacks that."""
    return re.sub(f"{MARK}([01]?)", lambda pair: {"0": nul, "1": MARK}.get(pair[1], ""), text)


_READERS: Mapping[int, Callable[[bytes], object]] = {20: int, 21: int, 23: int, 114: _json}
"""Readers by the types' numbers (pg_type.dat): int8, int2, int4, json. Anything else is text."""


def readers(types: Sequence[int]) -> list[Callable[[bytes], object]]:
    """Returns what reads the columns of these types."""
    return [_READERS.get(number, _text) for number in types]
