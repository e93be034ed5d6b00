"""A function or custom tool that a request offers: its name and its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.names import check_name
from agui_gate_adapters.testkit.openai.types import json_type
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_named"]

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
        yield from _check_strict(schema, name, where)


def _check_strict(schema: Json, name: str, where: str) -> Iterator[Violation]:
    if schema.get("additionalProperties") is not False:
        reason = "In context=(), 'additionalProperties' is required to be supplied and to be false."
        yield v.bad_function_schema(where, name, reason)
    properties, required = schema.get("properties"), schema.get("required")
    named = properties if isinstance(properties, dict) else {}
    absent = [key for key in named if not isinstance(required, list) or key not in required]
    if absent:
        reason = (
            "In context=(), 'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{absent[0]}'."
        )
        yield v.bad_function_schema(where, name, reason)
