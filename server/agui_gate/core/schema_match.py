"""Checks whether a value fits a JSON Schema of somebody else's, as far as that can be told quickly.

What isn't known here (patterns, formats, documents elsewhere) is for whoever made the schema to check. A schema that
takes too long is one that nothing fits.
"""

from collections.abc import Callable, Iterator, Mapping, Sized
from typing import Any

import msgspec

from agui_gate.core.json_text import canonical, is_deeper
from agui_gate.core.schemas import target

MAX_STEPS = 20_000
MAX_LEVELS = 60
BYTES_A_STEP = 64
"""Bytes that count as one step, of what a part of a schema is compared with, however often it is referred to."""

_LONG = ("type", "enum", "const", "required", "$ref")
_encode = msgspec.json.encode

Rules = Mapping[str, Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


class _TooLong(Exception):
    """The check takes too long."""


def misfit(value: Any, schema: Any) -> str | None:
    """Returns what is wrong with ``value``, without a word of it; None if nothing is."""
    if is_deeper(value, MAX_LEVELS) or is_deeper(schema, MAX_LEVELS):
        return "it nests too deep"
    try:
        return next(_Check(schema).problems(value, schema, ""), None)
    except (_TooLong, RecursionError):
        return "its schema can't be checked"


class _Check:
    """Checks one value; ``root`` is what references point into."""

    def __init__(self, root: Any) -> None:
        self._root: Rules = root if isinstance(root, Mapping) else {}
        self._steps = 0

    def problems(self, value: Any, rules: Any, where: str) -> Iterator[str]:
        """Yields all that is wrong with ``value``, found as far as it is asked for."""
        self._spend(1)
        if rules is False:
            yield f"{where or 'it'} can't be anything"
        if not isinstance(rules, Mapping):
            return
        self._spend(_weight(value, rules))
        reference = rules.get("$ref")
        meant = self._root if reference == "#" else target(reference, self._root)
        if meant is not None:
            yield from self.problems(value, meant, where)
        yield from _plain(value, rules, where or "it")
        yield from self._alternatives(value, rules, where)
        if isinstance(value, dict):
            yield from self._members(value, rules, where)
        if isinstance(value, list) and "items" in rules:
            for number, item in enumerate(value):
                yield from self.problems(item, rules["items"], f"{where}[{number}]")

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise _TooLong

    def _fits(self, value: Any, rules: Any) -> bool:
        return next(self.problems(value, rules, ""), None) is None

    def _alternatives(self, value: Any, rules: Rules, where: str) -> Iterator[str]:
        for one in _list(rules.get("allOf")):
            yield from self.problems(value, one, where)
        any_of, one_of = _list(rules.get("anyOf")), _list(rules.get("oneOf"))
        if any_of and not any(self._fits(value, one) for one in any_of):
            yield f"{where or 'it'} fits none of what it may be"
        if one_of and sum(self._fits(value, one) for one in one_of) != 1:
            yield f"{where or 'it'} has to fit exactly one of what it may be"
        if "not" in rules and self._fits(value, rules["not"]):
            yield f"{where or 'it'} is what it must not be"

    def _members(self, value: dict[str, Any], rules: Rules, where: str) -> Iterator[str]:
        known = rules.get("properties")
        known = known if isinstance(known, Mapping) else {}
        for name in _list(rules.get("required")):
            if isinstance(name, str) and name not in value:
                yield f"{_inner(where, name)} is missing"
        for name, item in value.items():
            if name in known:
                yield from self.problems(item, known[name], _inner(where, name))
            elif "patternProperties" not in rules:
                yield from self.problems(item, rules.get("additionalProperties", True), _inner(where, name))


def _weight(value: Any, rules: Rules) -> int:
    """Returns the steps that one part of a schema costs besides, by how much there is to go through each time."""
    size = sum(len(_encode(rules[keyword])) for keyword in _LONG if keyword in rules)
    if isinstance(value, dict | list) and ("enum" in rules or "const" in rules):
        size += len(_encode(value)) * (1 + len(_list(rules.get("enum"))))
    return size // BYTES_A_STEP


def _plain(value: Any, rules: Rules, where: str) -> Iterator[str]:
    """Yields what one part of a schema says of the value itself."""
    kinds = rules.get("type", [])
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else _list(kinds)) if isinstance(kind, str)]
    if kinds and not any(kind in _TYPES and _TYPES[kind](value) for kind in kinds):
        yield f"{where} has to be of type {' or '.join(kinds)}"[:200]
    if "enum" in rules and not any(_same(value, one) for one in _list(rules["enum"])):
        yield f"{where} has to be one of {canonical([rules['enum']])[1:-1]}"[:500]
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{where} has to be {canonical([rules['const']])[1:-1]}"[:200]
    for keyword, size, breaks in _BOUNDS:
        measured, bound = size(value), rules.get(keyword)
        if measured is not None and _is_number(bound) and breaks(measured, bound):
            yield f"{where} has to satisfy {keyword} {bound}"


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    return bool(canonical([one]) == canonical([other]) if isinstance(one, dict | list) else one == other)


def _number(value: Any) -> Any:
    return value if _is_number(value) else None


def _length(kind: type[Sized]) -> Callable[[Any], int | None]:
    return lambda value: len(value) if isinstance(value, kind) else None


_BOUNDS: tuple[tuple[str, Callable[[Any], Any], Callable[[Any, Any], bool]], ...] = (
    ("minimum", _number, lambda value, bound: value < bound),
    ("maximum", _number, lambda value, bound: value > bound),
    ("exclusiveMinimum", _number, lambda value, bound: value <= bound),
    ("exclusiveMaximum", _number, lambda value, bound: value >= bound),
    ("minLength", _length(str), lambda size, bound: size < bound),
    ("maxLength", _length(str), lambda size, bound: size > bound),
    ("minItems", _length(list), lambda size, bound: size < bound),
    ("maxItems", _length(list), lambda size, bound: size > bound),
)


def _inner(where: str, name: str) -> str:
    return f"{where}.{name[:100]}" if where else name[:100]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
