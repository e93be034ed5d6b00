"""JSON text that came from models, clients and people: read strictly, compared by meaning.

Two texts mean the same if `canonical` writes them the same: members sorted by name (the last of equal names counts), no
spaces, and a number that is whole written without a fraction (``10.0``, ``1e1`` and ``10`` are one value to a browser,
so an answer that went through one still matches; RFC 8785 §3.2.2.3 does the same). Large integers keep every digit.

Refused, because no tool, store or provider can be handed them safely: NaN and infinities, numbers out of range,
unpaired surrogates, and nesting deeper than `MAX_DEPTH`.
"""

from typing import Any

import msgspec

MAX_DEPTH = 64
"""Deepest nesting of objects and arrays that is read or written."""

_EXACT_BELOW = 1e21
"""Whole floats are written as integers below this (where ECMAScript switches to exponents)."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def parse(text: str) -> Any:
    """Read one JSON value. Raises ValueError if the text is not JSON, or is JSON that is refused here."""
    try:
        value = _decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    # Counting brackets is exact enough to skip the walk for nearly every text: nesting can't exceed their number.
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(value)
    return value


def parse_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object; None if the text is anything else."""
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def canonical(text_or_value: Any) -> str:
    """The one way to write a JSON value. A `str` is JSON text; anything else is the value itself.

    Raises ValueError if it is not JSON.
    """
    value = parse(text_or_value) if isinstance(text_or_value, str) else text_or_value
    try:
        return _encode(_plain(value, MAX_DEPTH)).decode()
    except (TypeError, UnicodeError, OverflowError) as error:
        raise ValueError(f"not JSON: {error}") from None


def _plain(value: Any, depth: int) -> Any:
    """``value`` with its numbers in one form, all the way down."""
    if isinstance(value, float):
        return _number(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        return {name: _plain(item, depth - 1) for name, item in value.items()}
    return [_plain(item, depth - 1) for item in value]


def _number(value: float) -> float | int:
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("NaN and infinities are not JSON")
    return int(value) if value.is_integer() and abs(value) < _EXACT_BELOW else value


def _check_depth(value: Any) -> None:
    """Raise ValueError if ``value`` nests too deep. Goes level by level: no recursion to run out of."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _members(outer)]
        if not level:
            return
    raise ValueError(f"nested deeper than {MAX_DEPTH}")


def _members(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value
