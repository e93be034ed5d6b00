"""JSON text that came from models, clients and people: read strictly, compared by meaning.

Two texts mean the same if `canonical` writes them the same. Members are sorted by name (the last of equal names
counts), there are no spaces, and a whole number has no fraction. ``10.0``, ``1e1`` and ``10`` are one value to a
browser, so an answer that went through one still matches (RFC 8785 §3.2.2.3 does the same). Large integers keep every
digit.

Refused, because no tool, store or provider can be handed them safely: NaN and infinities, numbers out of range,
unpaired surrogates, and nesting deeper than `MAX_DEPTH`.
"""

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

import msgspec

MAX_DEPTH = 64
"""Deepest nesting of objects and arrays that is read or written."""

_EXACT_BELOW = 1e21
"""Whole floats are written as integers below this (where ECMAScript switches to exponents)."""

# One token of a JSON text, or what is left of one at its end. What is no JSON at all is found by parsing the whole.
_TOKEN = re.compile(r'[{}\[\],:]|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[^\s{}\[\],:"]+', re.DOTALL)
_CHARACTERS = re.compile(r"[^\\]*(?:(?:\\[^u]|(\\u[0-9a-fA-F]{4}))[^\\]*)*", re.DOTALL)
_HOLDERS = (dict, list, tuple, set, frozenset)
_LITERALS = ("true", "false", "null")

_decode = msgspec.json.Decoder().decode
_as_it_is = msgspec.json.Encoder().encode
_encode = msgspec.json.Encoder(order="deterministic").encode


def parse(text: str) -> Any:
    """Reads one JSON value. Raises ValueError if the text is not JSON, or is JSON that is refused here."""
    try:
        value = _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    # Counting brackets is exact enough to skip the walk for nearly every text: nesting can't exceed their number, and
    # each has its end.
    if len(text) > 2 * MAX_DEPTH and text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(value)
    return value


def parse_object(text: str) -> dict[str, Any] | None:
    """Reads a JSON object; None if the text is anything else."""
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def canonical(text_or_value: Any) -> str:
    """Returns the one way to write a JSON value. A `str` is JSON text; anything else is the value itself.

    Raises ValueError if it is not JSON.
    """
    value = parse(text_or_value) if isinstance(text_or_value, str) else text_or_value
    try:
        return _encode(_plain(value, MAX_DEPTH)).decode()
    except (TypeError, UnicodeError, OverflowError) as error:
        raise ValueError(f"not JSON: {error}") from None


MAX_TOKENS = 50_000
"""Tokens of a text that is to be completed. It is arguments that a model never ended."""


def completion(text: str) -> str | None:
    """Returns the shortest text that makes a truncated JSON text a whole one: ``{"q":"tru`` needs ``"}``, a whole one
    nothing.

    None if nothing can, or if that would take too long (`MAX_TOKENS`). Placeholders are ``0`` for a value and ``""``
    for a name. Linear.
    """
    if _is_json(text):
        return ""
    lacks = _lacks(text)
    rest = None if lacks is None else "".join(lacks)
    return rest if rest is not None and _is_json(text + rest) else None


def so_far(text: str) -> Any:
    """Returns the value of a JSON text of which only the beginning may have come.

    None where it ends before a value or in a name.

    A number, or a text, may go on. None as well for what `completion` can't complete. Linear.
    """
    try:
        return parse(text)
    except ValueError:
        lacks = _lacks(text)
    if lacks is None or lacks.need:
        return None
    try:
        return parse(text + "".join(lacks))
    except ValueError:
        return None


def object_or_empty(text: str) -> str:
    """Returns ``text`` if it is a JSON object, else ``{}``: arguments as clients may parse them."""
    return "{}" if parse_object(text) is None else text


class _Lacks(NamedTuple):
    """The end that a text lacks: of its last token, a placeholder that is needed then, and what closes it."""

    token: str
    need: str
    closers: str


def _lacks(text: str) -> _Lacks | None:
    """Returns what a text lacks if it is the beginning of a JSON text. None for one of too many tokens."""
    closers: list[str] = []
    last, need, named = "", "0", False
    for number, match in enumerate(_TOKEN.finditer(text)):
        if number > MAX_TOKENS:
            return None
        before, last = last, match[0]
        named = last[0] == '"' and closers[-1:] == ["}"] and before in ("{", ",")
        if last in ("}", "]") and closers:
            closers.pop()
        elif last in ("{", "["):
            closers.append("}" if last == "{" else "]")
        need = {",": '"":0' if closers[-1:] == ["}"] else "0", ":": "0"}.get(last, ":0" if named else "")
    ends_here = bool(last) and text.endswith(last)
    return _Lacks(_token_rest(last) if ends_here else "", need, "".join(reversed(closers)))


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _token_rest(token: str) -> str:
    """Returns what the last token lacks."""
    if token[0] == '"':
        whole = len(token) > 1 and _CHARACTERS.fullmatch(token, 1, len(token) - 1) is not None and token[-1] == '"'
        return "" if whole else _string_rest(token)
    if token[-1] in "+-.eE" and token[0] in "-0123456789":
        return "0"
    return next((word[len(token) :] for word in _LITERALS if word.startswith(token)), "")


def _string_rest(token: str) -> str:
    """Returns what an open string lacks: the rest of an escape, the second half of a surrogate pair, the closing
    quote.
    """
    match = _CHARACTERS.match(token, 1)
    assert match is not None  # it matches nothing, too
    escape = token[match.end() :]
    last = match[1] if match[1] and match.end(1) == match.end() else ""
    if re.match(r"\\u[dD][89abAB]", last):
        return "\\udc00"[len(escape) :] + '"'
    if escape == "\\":
        return '""'
    if not escape:
        return '"'
    digits = escape[2:] + "0" * (6 - len(escape))
    return digits[len(escape) - 2 :] + ("\\udc00" if re.match("[dD][89abAB]", digits) else "") + '"'


def plain(value: Any) -> Any:
    """Returns ``value`` with its numbers in the form in which a browser writes them. Raises ValueError if it nests too
    deep.
    """
    return _plain(value, MAX_DEPTH)


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, float):
        return _number(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        return {name: item if type(item) is str else _plain(item, depth - 1) for name, item in value.items()}
    return [item if type(item) is str else _plain(item, depth - 1) for item in value]


def _number(value: float) -> float | int:
    if not isfinite(value):
        raise NotFinite
    return int(value) if value.is_integer() and abs(value) < _EXACT_BELOW else value


_CONTAINERS = (dict, list)  # a union would be made anew for each value


def _check_depth(value: Any) -> None:
    """Raises ValueError if ``value`` nests too deep. Goes level by level: no recursion to run out of."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level if isinstance(outer, _CONTAINERS) for inner in _members(outer)]
        if not level:
            return
    raise ValueError(f"nested deeper than {MAX_DEPTH}")


def _members(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def encoded(value: Any) -> bytes:
    """Returns what people's code made, as JSON.

    Raises ValueError for what is not: NaN and infinities too, of which the encoder would make null.
    """
    try:
        text = _as_it_is(value)
        as_seen = msgspec.to_builtins(value) if b"null" in text else None
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    check_finite(as_seen)
    return text


class NotFinite(ValueError):
    """A number that JSON has no word for: NaN, or an infinity."""

    def __init__(self) -> None:
        super().__init__("NaN and infinities are not JSON")


def check_finite(value: Any) -> None:
    """Raises `NotFinite` where a number in ``value`` is not, however deep."""
    level = [value]
    while level:
        if any(isinstance(item, float) and not isfinite(item) for item in level):
            raise NotFinite
        level = [inner for outer in level if isinstance(outer, _HOLDERS) for inner in _members(outer)]


def is_deeper(value: Any, levels: int) -> bool:
    """Returns whether ``value`` nests deeper than ``levels``. Level by level: no recursion to run out of."""
    level = [value]
    for _ in range(levels):
        level = [
            child
            for item in level
            if isinstance(item, _CONTAINERS)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, _CONTAINERS)
        ]
        if not level:
            return False
    return True


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string, or the rest of a text in which one never ends: so it is gone through once, whatever is in it."""


def has_more(text: bytes, most: int, marks: bytes) -> bool:
    """Returns whether a JSON text has more than ``most`` of these marks outside of its strings."""
    number = _count(text, marks)
    if number > most:  # those in strings are none
        number -= sum(_count(string[0], marks) for string in _STRING.finditer(text))
    return number > most


def _count(text: bytes, marks: bytes) -> int:
    return sum(text.count(mark) for mark in marks)
