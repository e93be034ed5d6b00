"""The tools of a request and the choice among them.

Words that no numbered rule of `docs/wire-rules.md` has are inferred, in the form of those that were reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.fields import (
    BOOLEAN,
    OBJECT,
    TEXT,
    each,
    literal,
    optional,
    pattern,
    required,
    tagged,
)
from agui_gate_adapters.testkit.violations import Violation

__all__ = ["TOOL", "TOOL_CHOICE", "check_tools"]

_SERVER_TOOLS: Final = (
    "bash_20250124",
    "browser_toolset_20260801",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "computer_toolset_20260801",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
    "web_search_20250305",
    "web_search_20260209",
    "web_search_20260318",
)
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_COMBINED: Final = ("oneOf", "allOf", "anyOf")
_PARALLEL: Final = {"disable_parallel_tool_use": optional(BOOLEAN)}

TOOL_CHOICE: Final = tagged(
    {"auto": _PARALLEL, "any": _PARALLEL, "tool": {"name": required(TEXT), **_PARALLEL}, "none": {}}
)


def _schema(value: Any, path: str) -> Iterator[Violation]:
    """Check a tool's `input_schema`: an object's, without alternatives at the top, of types that exist."""
    yield from OBJECT(value, path)
    if not isinstance(value, dict):
        return
    if "type" not in value:
        yield v.missing(f"{path}.type")
    yield from literal("object")(value.get("type", "object"), f"{path}.type")
    if any(name in value for name in _COMBINED):
        yield v.wrong(path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    try:
        valid = _is_schema(value)
    except RecursionError:
        valid = False
    if not valid:
        yield v.wrong(path, "JSON schema is invalid. It must match JSON Schema draft 2020-12")


def _is_schema(value: Any) -> bool:
    """Say whether the types and properties of a schema can be ones, all the way down."""
    if isinstance(value, bool):
        return True
    if not isinstance(value, dict):
        return False
    named = value.get("type", [])
    names = named if isinstance(named, list) else [named]
    inner = value.get("properties", {})
    nested = [*(inner.values() if isinstance(inner, dict) else [None]), *([value["items"]] if "items" in value else [])]
    return all(isinstance(name, str) and name in _TYPES for name in names) and all(map(_is_schema, nested))


TOOL: Final = tagged(
    {
        "custom": {
            "name": required(pattern("^[a-zA-Z0-9_-]{1,128}$")),
            "description": optional(TEXT),
            "input_schema": required(_schema),
            "cache_control": optional(OBJECT, nullable=True),
            "strict": optional(BOOLEAN),
            "defer_loading": optional(BOOLEAN),
            "allowed_callers": optional(each(TEXT)),
            "eager_input_streaming": optional(BOOLEAN, nullable=True),
            "input_examples": optional(each(OBJECT)),
        },
        **dict.fromkeys(_SERVER_TOOLS),
    },
    default="custom",
)


def check_tools(tools: Any, choice: Any) -> Iterator[Violation]:
    """Check what a single tool cannot show: unique names, and a choice that can be made."""
    named = [tool.get("name") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    if len(set(map(str, named))) < len(named):
        yield v.refused("schema", "tools: Tool names must be unique.")
    if not isinstance(choice, dict) or choice.get("type") == "none":
        return
    if not named:
        yield v.refused("schema", "tool_choice may only be specified while providing tools.")
    elif choice.get("type") == "tool" and choice.get("name") not in named:
        yield v.refused("schema", f"Tool '{choice.get('name')}' not found in provided tools")
