"""The types of JSON values, as error messages name them."""

from __future__ import annotations

from typing import Final

__all__ = ["TYPE_NAMES", "is_a", "json_type"]

TYPE_NAMES: Final[dict[tuple[type, ...], str]] = {
    (str,): "a string",
    (bool,): "a boolean",
    (int,): "an integer",
    (int, float): "a decimal",
    (list,): "an array",
    (dict,): "an object",
    (str, list): "one of a string or array of input items",
    (str, dict): "one of a string or object",
}


def json_type(value: object) -> str:
    """Name a JSON value's type with its article, as error messages do."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a decimal"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def is_a(value: object, types: tuple[type, ...]) -> bool:
    """Say whether a JSON value is of one of these types."""
    if isinstance(value, bool):
        return bool in types  # bool is an int to Python, never to JSON.
    return isinstance(value, types)
