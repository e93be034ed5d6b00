"""Checks that OpenAI's two APIs share: types, names, tools, and the format of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.wire import Json

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


def kind_violation(thing: object, path: str, kinds: tuple[str, ...], rule: str) -> Violation:
    """Return why this is no object whose type is one of ``kinds``."""
    if not isinstance(thing, dict):
        return v.wrong_type(path, "an object", json_type(thing), rule="type")
    if "type" not in thing:
        return v.missing(f"{path}.type", rule=rule)
    return v.unsupported_value(f"{path}.type", str(thing["type"]), kinds, rule=rule)


def check_bounds(name: str, value: float, low: float, high: float, types: tuple[type, ...]) -> Iterator[Violation]:
    """Yield whether a number is out of its bounds."""
    kind = "integer" if types == (int,) else "decimal"
    if value < low:
        yield v.out_of_bounds(name, kind, "min", low, value)
    elif value > high:
        yield v.out_of_bounds(name, kind, "max", high, value)


# The names that a tool may have, in a tool or in a call.

NAME_PATTERN: Final = "^[a-zA-Z0-9_-]+$"
MAX_NAME: Final = 64
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def check_name(name: str, path: str, rule: str = "name") -> Iterator[Violation]:
    """Yield what is wrong with a tool's name, in a tool or in a call."""
    if len(name) > MAX_NAME:
        yield v.too_long(path, MAX_NAME, len(name), rule=rule)
    elif not _NAME.fullmatch(name):
        yield v.bad_pattern(path, NAME_PATTERN, rule=rule)


# A function or custom tool that a request offers: its name and its schema.

_FUNCTION_MEMBERS: Final = frozenset(
    {
        "type",
        "name",
        "description",
        "parameters",
        "strict",
        "async",
        "defer_loading",
        "allowed_callers",
        "output_schema",
    }
)


def check_named(tool: Json, path: str, *, unknown_members: bool) -> Iterator[Violation]:
    """Yield what is wrong with one function or custom tool at `path`; with `unknown_members`, also those."""
    name = tool.get("name")
    if name is None:
        yield v.missing(f"{path}.name", rule="R22")
        return
    if not isinstance(name, str):
        yield v.wrong_type(f"{path}.name", "a string", json_type(name))
        return
    yield from check_name(name, f"{path}.name", rule="schema")
    if tool["type"] == "function":
        yield from _check_function(tool, name, path, unknown_members)


def _check_function(tool: Json, name: str, path: str, unknown_members: bool) -> Iterator[Violation]:
    for member in tool:
        if unknown_members and member not in _FUNCTION_MEMBERS:
            yield v.unknown(f"{path}.{member}")
    schema = tool.get("parameters")
    where = f"{path}.parameters"
    if schema is None:
        return
    if not isinstance(schema, dict):
        yield v.wrong_type(where, "an object", json_type(schema))
        return
    if schema.get("type") != "object":
        got = schema.get("type")
        yield v.bad_function_schema(
            where, name, f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{got}\"'."
        )
    elif tool.get("strict") is True:
        for reason in _object_faults(schema, ()):
            yield v.bad_function_schema(where, name, reason)


# The form of an answer that a request asks for: `text.format` of Responses, `response_format` of Chat Completions.

_KINDS: Final = ("text", "json_object", "json_schema")
_MEMBERS: Final = frozenset({"name", "schema", "strict", "description"})
MOST_LEVELS: Final = 10
"""How deep objects and lists may be in each other."""
MOST_MEMBERS: Final = 5000
"""How many properties a schema may have in all."""
_NOT_PERMITTED: Final = ("default", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems")


def check_format(given: object, path: str, *, within: str | None = None) -> Iterator[Violation]:
    """Yield what is wrong with the format at `path`; `within` is the member that has what is said of the schema."""
    if given is None:
        return
    if not isinstance(given, dict):
        yield v.wrong_type(path, "an object", json_type(given))
        return
    kind = given.get("type")
    if kind is None:
        yield v.missing(f"{path}.type", rule="schema")
    elif kind not in _KINDS:
        yield v.unsupported_value(f"{path}.type", str(kind), _KINDS)
    elif kind == "json_schema":
        told = given.get(within) if within else {name: value for name, value in given.items() if name != "type"}
        where = f"{path}.{within}" if within else path
        if isinstance(told, dict):
            yield from _check_schema(told, where)
        else:
            yield v.missing(where, rule="schema")


def _check_schema(told: Json, where: str) -> Iterator[Violation]:
    for name in told:
        if name not in _MEMBERS:
            yield v.unknown(f"{where}.{name}", rule="schema")
    if not isinstance(told.get("name"), str):
        yield v.missing(f"{where}.name", rule="schema")
        return
    yield from check_name(told["name"], f"{where}.name", rule="schema")
    schema = told.get("schema")
    if not isinstance(schema, dict):
        yield v.missing(f"{where}.schema", rule="schema")
    elif schema.get("type") != "object":
        got = schema.get("type")
        reason = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{got}\"'."
        yield v.bad_format_schema(where, told["name"], reason)
    elif told.get("strict") is True:
        for reason in (*strict_faults(schema), *_limits(schema)):
            yield v.bad_format_schema(where, told["name"], reason)


def _limits(schema: Json) -> Iterator[str]:
    """Yield what is too large or too deep. Azure's limits are narrower. The words of the second are inferred."""
    levels = _levels(schema, schema.get("$defs") or {}, ())
    if levels > MOST_LEVELS:
        yield f"{levels} levels of nesting exceeds limit of {MOST_LEVELS}."
    members = _members(schema)
    if members > MOST_MEMBERS:
        yield f"{members} object properties exceeds limit of {MOST_MEMBERS}."


def _levels(schema: Any, definitions: Json, within: tuple[str, ...]) -> int:
    """Count how deep objects and lists are in each other; a schema that contains itself ends there."""
    if not isinstance(schema, dict):
        return 0
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        return 0 if name in within else _levels(definitions[name], definitions, (*within, name))
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), *schema.get("anyOf", ())]
    deepest = max((_levels(one, definitions, within) for one in inner), default=0)
    return deepest + (schema.get("type") in ("object", "array"))


def _members(schema: Any) -> int:
    if isinstance(schema, list):
        return sum(map(_members, schema))
    if not isinstance(schema, dict):
        return 0
    return len(schema.get("properties") or {}) + sum(map(_members, schema.values()))


def strict_faults(schema: Any, place: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield what keeps a schema out of the strict subset, at any depth, in the words of the API."""
    if not isinstance(schema, dict):
        return
    for name in _NOT_PERMITTED:
        if name in schema:
            yield f"In context={place}, '{name}' is not permitted."
    if "$ref" in schema and len(schema) > 1:
        yield f"In context={place}, $ref cannot have keywords beside it."
    if schema.get("type") == "object":
        yield from _object_faults(schema, place)
    for name in ("properties", "$defs"):
        for key, one in (schema.get(name) or {}).items():
            yield from strict_faults(one, (*place, name, key))
    for one in (schema.get("items"), *schema.get("anyOf", ())):
        yield from strict_faults(one, place)


def _object_faults(schema: Json, place: tuple[str, ...]) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield f"In context={place}, 'additionalProperties' is required to be supplied and to be false."
    properties, required = schema.get("properties"), schema.get("required")
    named = properties if isinstance(properties, dict) else {}
    absent = [key for key in named if not isinstance(required, list) or key not in required]
    if absent:
        yield (
            f"In context={place}, 'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{absent[0]}'."
        )
