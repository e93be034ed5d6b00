"""Narrows a JSON Schema to the subset that providers enforce while a model writes ("strict").

There every object lists all of its members as required, and has no others. So what is made here is narrower than what
came in, and whatever fits it fits that, too, as far as the shape goes. Bounds and patterns are told in the description
instead, as some providers refuse them. The caller validates the answer, which catches what a model makes of that.

Sources: https://platform.openai.com/docs/guides/structured-outputs and
https://platform.claude.com/docs/en/build-with-claude/structured-outputs.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]

_SAME = ("type", "enum", "const", "description")
_TOLD = (
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
)
_SHAPE = ("anyOf", "oneOf", "properties", "required", "additionalProperties", "items", "$ref", "$defs")
_WITHOUT_MEANING = ("title", "default", "examples", "deprecated", "discriminator")
_KNOWN = {*_SAME, *_TOLD, *_SHAPE, *_WITHOUT_MEANING}


class _NotStrict(ValueError):
    """Raised for a schema without an equivalent in the subset: free members, tuples, any value."""


def strict_schema(schema: Mapping[str, Any], *, recursive: bool = True) -> Schema | None:
    """Narrows ``schema`` to the subset; None if that can't be done. ``recursive``: a schema may contain itself."""
    definitions = schema.get("$defs", {})
    if schema.get("type") != "object" or (not recursive and _is_recursive(definitions)):
        return None
    try:
        made = _narrowed(schema)
        if definitions:
            made["$defs"] = {name: _narrowed(one) for name, one in definitions.items()}
    except _NotStrict:
        return None
    return made


def _narrowed(schema: Mapping[str, Any]) -> Schema:
    if "$ref" in schema:  # which nothing may stand beside
        return {"$ref": schema["$ref"]}
    if not schema.keys() <= _KNOWN:
        raise _NotStrict
    made: Schema = {name: schema[name] for name in _SAME if name in schema}
    told = [f"{name}: {schema[name]}" for name in _TOLD if name in schema]
    if told:
        made["description"] = " ".join([*filter(None, [schema.get("description")]), f"({', '.join(told)})"])
    return made | _shape(schema)


def _shape(schema: Mapping[str, Any]) -> Schema:
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return {"anyOf": [_narrowed(one) for one in alternatives]}
    kind = schema.get("type")
    if kind == "object":
        return _object(schema)
    if kind == "array" and "items" in schema:
        return {"items": _narrowed(schema["items"])}
    if kind == "array" or not (isinstance(kind, str) or "enum" in schema or "const" in schema):
        raise _NotStrict
    return {}


def _object(schema: Mapping[str, Any]) -> Schema:
    if schema.get("additionalProperties", False) is not False:
        raise _NotStrict
    members = {name: _narrowed(one) for name, one in schema.get("properties", {}).items()}
    return {"properties": members, "required": list(members), "additionalProperties": False}


def _is_recursive(definitions: Mapping[str, Any]) -> bool:
    leads = {name: set(_references(one)) for name, one in definitions.items()}
    for name in leads:
        seen: set[str] = set()
        ahead = set(leads[name])
        while ahead:
            seen |= ahead
            ahead = {there for one in ahead for there in leads.get(one, ())} - seen
        if name in seen:
            return True
    return False


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix("#/$defs/")
        for one in schema.values():
            yield from _references(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from _references(one)
