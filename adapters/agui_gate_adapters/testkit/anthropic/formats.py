"""The schema of an answer in `output_config.format`: a part of JSON Schema, and not too much of it.

Sources: https://platform.claude.com/docs/en/build-with-claude/structured-outputs ("JSON Schema limitations"); words as
in vercel/ai#17268 where they are known, else inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.fields import OBJECT
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["MOST_UNIONS", "check_schema"]

MOST_UNIONS: Final = 16
"""Parameters that may have one of several types."""

_BOUNDS: Final = (
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
    "uniqueItems",
)


def check_schema(value: object, path: str) -> Iterator[Violation]:
    """Yield what keeps a schema from being one that an answer can be held to."""
    yield from OBJECT(value, path)
    if not isinstance(value, dict):
        return
    parts = list(_parts(value))
    for part in parts:
        for complaint in _complaints(part):
            yield v.wrong(path, complaint)
    if (unions := sum(map(_is_union, parts))) > MOST_UNIONS:
        yield v.wrong(
            path,
            f"Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf). "
            f"Reduce the number of nullable or union-typed parameters (limit: {MOST_UNIONS} parameters with unions).",
        )
    for name in value.get("$defs") or {}:
        if _leads_to(value, name):
            yield v.wrong(path, f"Circular reference detected in schema definitions: {name}")


def _parts(schema: Any) -> Iterator[Json]:
    """Yield the schema and all that are part of it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for member in ("properties", "$defs"):
        for one in (schema.get(member) or {}).values():
            yield from _parts(one)
    for one in (schema.get("items"), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _parts(one)


def _complaints(part: Json) -> Iterator[str]:
    kind = part.get("type")
    if kind == "object" and part.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
    bounds = [name for name in _BOUNDS if name in part]
    if bounds:
        yield f"For '{kind}' type, properties {', '.join(bounds)} are not supported"
    if part.get("minItems", 0) not in (0, 1):
        yield f"For 'array' type, 'minItems' values other than 0 or 1 are not supported (got {part['minItems']})"


def _is_union(part: Json) -> bool:
    return "anyOf" in part or isinstance(part.get("type"), list)


def _leads_to(schema: Json, name: str) -> bool:
    """Whether the definition of this name is, somewhere inside, itself."""
    definitions = schema["$defs"]
    seen: set[str] = set()
    ahead = [name]
    while ahead:
        for part in _parts(definitions.get(ahead.pop())):
            there = str(part.get("$ref", "")).removeprefix("#/$defs/")
            if there == name:
                return True
            if there and there not in seen:
                seen.add(there)
                ahead.append(there)
    return False
