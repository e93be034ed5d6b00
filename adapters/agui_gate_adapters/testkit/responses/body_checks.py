"""Steps 1 and 2: the members of the request body themselves, before anything is looked up.

Order, as probed on the real API: `model`, then a missing `input`, then unknown members, then each member's own shape
with `input` first. `null` counts as absent for every member but `model` and `input`. One knowing divergence: a body
with Chat's `messages` gets R21 before R11. Such a body has no `input`, and R21 would never be seen otherwise.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.checks import (
    TYPE_NAMES,
    check_bounds,
    check_format,
    check_named,
    is_a,
    json_type,
)
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.wire import Json

_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "model": (str,),
    "input": (str, list),
    "previous_response_id": (str,),
    "conversation": (str, dict),
    "include": (list,),
    "instructions": (str, list),
    "tools": (list,),
    "tool_choice": (str, dict),
    "metadata": (dict,),
    "text": (dict,),
    "reasoning": (dict,),
    "stream": (bool,),
    "stream_options": (dict,),
    "store": (bool,),
    "background": (bool,),
    "parallel_tool_calls": (bool,),
    "max_output_tokens": (int,),
    "max_tool_calls": (int,),
    "temperature": (int, float),
    "top_p": (int, float),
    "top_logprobs": (int,),
    "truncation": (str,),
    "user": (str,),
    "safety_identifier": (str,),
    "prompt": (dict,),
    "prompt_cache_key": (str,),
    "prompt_cache_options": (dict,),
    "prompt_cache_retention": (str,),
    "service_tier": (str,),
    "context_management": (list,),
    "moderation": (dict,),
}

_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "max_output_tokens": (16, float("inf")),
    "max_tool_calls": (1, float("inf")),
    "temperature": (0, 2),
    "top_p": (0, 1),
    "top_logprobs": (0, 20),
}

_ENUMS: Final[dict[str, tuple[str, ...]]] = {
    "truncation": ("auto", "disabled"),
    "prompt_cache_retention": ("in_memory", "24h"),
    "service_tier": ("auto", "default", "flex", "scale", "priority"),
}

_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "reasoning": frozenset({"effort", "summary", "generate_summary", "context", "mode"}),
    "text": frozenset({"format", "verbosity"}),
}

_INCLUDABLE: Final = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)


def check_envelope(body: Json, models: frozenset[str] | None = None) -> Iterator[Violation]:
    """Check presence: model, input, no unknown members. `models`: None accepts any model."""
    if not body.get("model"):
        yield v.missing("model")
    elif models is not None and str(body["model"]) not in models:
        yield v.unknown_model(str(body["model"]))
    if "messages" in body:
        yield v.chat_body()
    if "input" not in body:
        yield v.missing("input")
    for name in body:
        if name not in _FIELDS and name != "messages":
            close = difflib.get_close_matches(name, _FIELDS, n=1, cutoff=0.75)
            yield v.unknown(name, close[0] if close else None)


def check_types(body: Json) -> Iterator[Violation]:
    """Check each member's JSON type (R14)."""
    for name, types in _FIELDS.items():
        value = body.get(name)
        if value is None and (name not in ("model", "input") or name not in body):
            continue
        if not is_a(value, types):
            yield v.wrong_type(name, TYPE_NAMES[types], json_type(value))


def check_fields(body: Json) -> Iterator[Violation]:
    """Check bounds, enumerations, sub-objects and combinations; the types are right by now."""
    named = body.get("conversation")
    if isinstance(named, dict) and not isinstance(named.get("id"), str):
        yield v.missing("conversation.id")
    yield from _check_numbers(body)
    yield from _check_include(body.get("include"))
    yield from _check_metadata(body.get("metadata"))
    yield from _check_objects(body)
    yield from check_format((body.get("text") or {}).get("format"), "text.format")
    yield from _check_combinations(body)


def _check_numbers(body: Json) -> Iterator[Violation]:
    for name, (low, high) in _BOUNDS.items():
        value = body.get(name)
        if isinstance(value, int | float):
            yield from check_bounds(name, value, low, high, _FIELDS[name])


def _check_include(include: object) -> Iterator[Violation]:
    for index, value in enumerate(include if isinstance(include, list) else ()):
        if value not in _INCLUDABLE:
            yield v.unsupported_value(f"include[{index}]", str(value), _INCLUDABLE)


def _check_metadata(metadata: object) -> Iterator[Violation]:
    if not isinstance(metadata, dict):
        return
    if len(metadata) > 16:
        yield v.too_many_properties("metadata", 16, len(metadata))
    for key, value in metadata.items():
        if len(key) > 64:
            yield v.too_long("metadata", 64, len(key), rule="bounds")
        if not isinstance(value, str):
            yield v.wrong_type(f"metadata.{key}", "a string", json_type(value))
        elif len(value) > 512:
            yield v.too_long(f"metadata.{key}", 512, len(value), rule="bounds")


def _check_objects(body: Json) -> Iterator[Violation]:
    for name, values in _ENUMS.items():
        if body.get(name) is not None and body[name] not in values:
            yield v.unsupported_value(name, str(body[name]), values)
    for name, members in _MEMBERS.items():
        for member in body.get(name) or ():
            if member not in members:
                yield v.unknown(f"{name}.{member}")
    for member in body.get("stream_options") or ():
        if member != "include_obfuscation":
            yield v.unknown(f"stream_options.{member}", rule="R25")


def _check_combinations(body: Json) -> Iterator[Violation]:
    if body.get("stream_options") is not None and not body.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield v.not_allowed("stream_options", message)
    if body.get("background") and body.get("store") is False:
        yield v.not_allowed("background", "Background mode requires 'store' to be true.")


# Step 3, tools: the flat shape of the Responses API (R20, R22), names, and schemas.

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
