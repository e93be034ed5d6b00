"""Converts integers that a page can't carry. JavaScript reads a JSON number as a double.

So integers beyond ±(2^53 - 1) change their last digits on the way: …993 is shown, and comes back, as …992.

So such integers go to pages as text (`for_browser`, `schema_for_browser`) and are integers again when they come back
(`from_browser`). This is about decoded values. Where JSON goes as a text of its own, every digit is in it, and it is
left as it was written. So it is with the arguments of a call, as they stream and in messages.
"""

import re
from collections.abc import Mapping
from typing import Any

from agui_gate.core.schemas import alternatives, below, kinds_of

MAX_SAFE = 2**53 - 1
"""JavaScript's `Number.MAX_SAFE_INTEGER`."""

_DIGITS = re.compile(r"-?[1-9][0-9]{15,3999}")
_CONSTANTS = ("const", "default", "enum", "examples")


def for_browser(value: Any) -> Any:
    """Returns ``value`` (JSON) with those integers as text that a browser would round, all the way down."""
    if isinstance(value, dict):
        return {name: for_browser(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [for_browser(item) for item in value]
    return str(value) if _is_unsafe(value) else value


def from_browser(value: Any, shown: Any, schema: Mapping[str, Any]) -> Any:
    """Returns what a page means by ``value``, an edit of what was ``shown``.

    A text of digits is an integer if two things are so. One was shown as this very text, and ``schema`` (the tool's
    JSON Schema) asks for a number and for no text. Anything else stays as it is.
    """
    return _restored(value, shown, [schema], schema)


def schema_for_browser(schema: Mapping[str, Any], shown: Any) -> dict[str, Any]:
    """Returns the schema that a page checks an edit of ``shown`` against: integers may be text where one is shown as
    text.
    """
    return _for_page(schema, widened=for_browser(shown) != shown)


def _is_unsafe(value: Any) -> bool:
    return isinstance(value, int) and not -MAX_SAFE <= value <= MAX_SAFE


def _restored(value: Any, shown: Any, places: list[Mapping[str, Any]], root: Mapping[str, Any]) -> Any:
    """Restores integers as `from_browser` does; ``places`` are the parts of the schema that are about ``value``."""
    match value:
        case str():
            return _number_in(value, shown, places, root)
        case dict():
            known = shown if isinstance(shown, dict) else {}
            return {n: _restored(v, known.get(n), below(places, n, root), root) for n, v in value.items()}
        case list():
            of = shown if isinstance(shown, list) else []
            known_at = [*of, *([None] * (len(value) - len(of)))]
            items = enumerate(zip(value, known_at, strict=False))
            return [_restored(item, was, below(places, i, root), root) for i, (item, was) in items]
    return value


def _number_in(text: str, shown: Any, places: list[Mapping[str, Any]], root: Mapping[str, Any]) -> str | int:
    if not _DIGITS.fullmatch(text) or not _is_unsafe(number := int(text)):
        return text
    if shown == number and not isinstance(shown, float):
        return number
    kinds = {kind for place in alternatives(places, root) for kind in kinds_of(place)}
    return number if "string" not in kinds and not kinds.isdisjoint(("integer", "number")) else text


def _for_page(schema: Mapping[str, Any], *, widened: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, rule in schema.items():
        if name in _CONSTANTS:
            shown[name] = for_browser(rule)
        elif name == "type" and widened and "integer" in kinds_of(schema) and "string" not in kinds_of(schema):
            shown[name] = [*kinds_of(schema), "string"]
        elif name in ("properties", "$defs", "definitions") and isinstance(rule, Mapping):
            shown[name] = {n: _below_for_page(part, widened) for n, part in rule.items()}
        else:
            shown[name] = _below_for_page(rule, widened)
    return shown


def _below_for_page(rule: Any, widened: bool) -> Any:
    if isinstance(rule, Mapping):
        return _for_page(rule, widened=widened)
    return [_below_for_page(part, widened) for part in rule] if isinstance(rule, list) else rule
