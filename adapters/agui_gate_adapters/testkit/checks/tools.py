"""Step 3, tools: the flat shape of the Responses API (R20, R22), names, and schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit import violations as v
from agui_gate_adapters.testkit.checks.body import json_type
from agui_gate_adapters.testkit.checks.media import check_name
from agui_gate_adapters.testkit.profiles import Profile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_named", "check_tool_choice", "check_tools"]

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
_NAMED: Final = ("function", "custom")
_TYPES: Final = (
    "function",
    "file_search",
    "computer",
    "computer_use_preview",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "mcp",
    "code_interpreter",
    "image_generation",
    "local_shell",
    "shell",
    "custom",
    "apply_patch",
    "tool_search",
    "namespace",
)
_CHOICES: Final = ("none", "auto", "required")


def check_tools(tools: list[object], profile: Profile) -> Iterator[Violation]:
    """Yield what is wrong with the advertised tools."""
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        if not isinstance(tool, dict):
            yield v.wrong_type(path, "an object", json_type(tool))
        elif "type" not in tool:
            yield v.missing(f"{path}.type", rule="R22")
        elif tool["type"] not in _TYPES:
            yield v.unsupported_value(path, str(tool["type"]), _TYPES)
        elif tool["type"] in _NAMED:
            yield from check_named(tool, path, profile)


def check_tool_choice(choice: object, tools: list[object]) -> Iterator[Violation]:
    """Yield what is wrong with `tool_choice`; a function it names must be among the tools."""
    if isinstance(choice, str) and choice not in _CHOICES:
        yield v.unsupported_value("tool_choice", choice, _CHOICES)
    if not isinstance(choice, dict) or choice.get("type") not in _NAMED:
        return
    if "name" not in choice:
        yield v.missing("tool_choice.name", rule="R22")
    elif not any(isinstance(tool, dict) and tool.get("name") == choice["name"] for tool in tools):
        yield v.not_allowed("tool_choice", f"Tool choice '{choice['name']}' not found in 'tools' parameter.")


def check_named(tool: Json, path: str, profile: Profile) -> Iterator[Violation]:
    """Yield what is wrong with one function or custom tool at `path`."""
    name = tool.get("name")
    if name is None:
        yield v.missing(f"{path}.name", rule="R22")
        return
    if not isinstance(name, str):
        yield v.wrong_type(f"{path}.name", "a string", json_type(name))
        return
    yield from check_name(name, f"{path}.name", rule="schema")
    if tool["type"] == "function":
        yield from _check_function(tool, name, path, profile)


def _check_function(tool: Json, name: str, path: str, profile: Profile) -> Iterator[Violation]:
    for member in tool:
        if profile.unknown_members and member not in _FUNCTION_MEMBERS:
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
