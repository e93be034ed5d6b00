"""Step 3, tools: the flat shape of the Responses API (R20, R22), names, and schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.functions import check_named
from agui_gate_adapters.testkit.openai.types import json_type
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.violations import Violation

__all__ = ["check_tool_choice", "check_tools"]

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
            yield from check_named(tool, path, unknown_members=profile.unknown_members)


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
