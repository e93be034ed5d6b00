"""Tools in Chat's nested shape, and what may be said about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.functions import check_named
from agui_gate_adapters.testkit.openai.types import json_type
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_tools"]

_TYPES: Final = ("function", "custom")
_CHOICES: Final = ("none", "auto", "required")


def check_tools(body: Json, profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is wrong with `tools`, `tool_choice` and `parallel_tool_calls`."""
    tools = body.get("tools")
    if tools is None:
        for member in ("tool_choice", "parallel_tool_calls"):
            if body.get(member) is not None and profile.unknown_members:
                yield cv.needs_tools(member)
        return
    if not tools and profile.unknown_members:
        yield cv.empty_array("tools", "schema")
    for index, tool in enumerate(tools):
        yield from _check_tool(tool, f"tools[{index}]", profile)
    yield from _check_choice(body.get("tool_choice"), tools)


def _check_tool(tool: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not isinstance(tool, dict):
        yield v.wrong_type(path, "an object", json_type(tool), rule="type")
    elif "type" not in tool:
        yield v.missing(f"{path}.type", rule="schema")
    elif tool["type"] not in _TYPES:
        yield v.unsupported_value(f"{path}.type", str(tool["type"]), _TYPES, rule="schema")
    elif not isinstance(tool.get(tool["type"]), dict):  # The flat shape of the Responses API ends up here.
        yield v.missing(f"{path}.{tool['type']}", rule="schema")
    else:
        yield from _check_inner(tool[tool["type"]], f"{path}.{tool['type']}", str(tool["type"]), profile)


def _check_inner(inner: Json, path: str, kind: str, profile: ChatProfile) -> Iterator[Violation]:
    if "strict" in inner and "strict" in profile.refused:
        yield cv.unsupported(profile, f"{path}.strict")
    yield from check_named({**inner, "type": kind}, path, unknown_members=profile.unknown_members)


def _check_choice(choice: object, tools: list[object]) -> Iterator[Violation]:
    if isinstance(choice, str) and choice not in _CHOICES:
        yield v.unsupported_value("tool_choice", choice, _CHOICES, rule="schema")
    if not isinstance(choice, dict) or choice.get("type") not in _TYPES:
        return
    kind = choice["type"]
    named = choice.get(kind)
    if not isinstance(named, dict) or "name" not in named:
        yield v.missing(f"tool_choice.{kind}", rule="schema")
    elif named["name"] not in [_name_of(tool, kind) for tool in tools]:
        yield v.not_allowed("tool_choice", f"Tool choice '{named['name']}' not found in 'tools' parameter.")


def _name_of(tool: object, kind: str) -> object:
    inner = tool.get(kind) if isinstance(tool, dict) else None
    return inner.get("name") if isinstance(inner, dict) else None
