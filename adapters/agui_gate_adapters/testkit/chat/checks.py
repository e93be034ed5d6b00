"""Every rule the emulated Chat Completions API holds a request to, in its order, without any I/O.

    assert check_chat_request({"model": "m", "messages": [{"role": "user", "content": "hello"}]}) == []

It returns every violation of the first step that has any, in order; the first of them is what the API would answer.
The API has no state: a request carries its whole history.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.message_checks import (
    check_calls,
    check_content,
    check_media,
    check_order,
    check_pairs,
    check_reasoning,
    check_roles,
    check_shapes,
)
from agui_gate_adapters.testkit.chat.profiles import CHAT_PROFILES, ChatProfile
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.checks import (
    TYPE_NAMES,
    check_bounds,
    check_format,
    check_named,
    is_a,
    json_type,
    kind_violation,
)
from agui_gate_adapters.testkit.wire import Json

# The members of the request body: model, messages (C7), unknown ones, types, bounds, stream options.

_FIELDS: Final[dict[str, tuple[type, ...]]] = {
    "model": (str,),
    "messages": (list,),
    "tools": (list,),
    "tool_choice": (str, dict),
    "parallel_tool_calls": (bool,),
    "functions": (list,),
    "function_call": (str, dict),
    "stream": (bool,),
    "stream_options": (dict,),
    "max_tokens": (int,),
    "max_completion_tokens": (int,),
    "temperature": (int, float),
    "top_p": (int, float),
    "n": (int,),
    "stop": (str, list),
    "seed": (int,),
    "frequency_penalty": (int, float),
    "presence_penalty": (int, float),
    "logit_bias": (dict,),
    "logprobs": (bool,),
    "top_logprobs": (int,),
    "response_format": (dict,),
    "reasoning_effort": (str,),
    "verbosity": (str,),
    "modalities": (list,),
    "audio": (dict,),
    "prediction": (dict,),
    "web_search_options": (dict,),
    "metadata": (dict,),
    "store": (bool,),
    "service_tier": (str,),
    "user": (str,),
    "safety_identifier": (str,),
    "prompt_cache_key": (str,),
    "prompt_cache_retention": (str,),
    "moderation": (dict,),
}

_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "max_tokens": (1, float("inf")),
    "max_completion_tokens": (1, float("inf")),
    "temperature": (0, 2),
    "top_p": (0, 1),
    "n": (1, 128),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "top_logprobs": (0, 20),
}

_STREAM_OPTIONS: Final = frozenset({"include_usage", "include_obfuscation"})


def check_envelope(body: Json, models: frozenset[str] | None) -> Iterator[Violation]:
    """Check the model, and the messages' presence (C7). `models`: None accepts any model."""
    if not body.get("model"):
        yield cv.no_model()
    elif models is not None and str(body["model"]) not in models:
        yield cv.unknown_model(str(body["model"]))
    if "messages" not in body:
        yield v.missing("messages", rule="C7")
    elif not isinstance(body["messages"], list):
        yield v.wrong_type("messages", "an array of objects", json_type(body["messages"]), rule="C7")
    elif not body["messages"]:
        yield cv.empty_array("messages", "C7")


def check_members(body: Json, profile: ChatProfile) -> Iterator[Violation]:
    """Check that each member is known, taken by this server, of its type and within its bounds."""
    for name, value in body.items():
        if name in profile.refused:
            yield cv.unsupported(profile, name)
        elif name not in _FIELDS:
            if profile.unknown_members:
                yield cv.unsupported(profile, name) if profile.errors == "bare" else v.unknown(name, rule="member")
        elif value is not None and not is_a(value, _FIELDS[name]):
            kind = "one of a string or array of strings" if name == "stop" else TYPE_NAMES[_FIELDS[name]]
            yield v.wrong_type(name, kind, json_type(value), rule="type")
        elif value is not None and name in _BOUNDS:
            yield from check_bounds(name, value, *_BOUNDS[name], _FIELDS[name])
    yield from _check_stream_options(body, profile)
    yield from _check_format(body, profile)


def _check_format(body: Json, profile: ChatProfile) -> Iterator[Violation]:
    given = body.get("response_format")
    if isinstance(given, dict):
        known = profile.output_schema or given.get("type") != "json_schema"
        if not known or (body.get("tools") and not profile.output_beside_tools):
            yield cv.unsupported(profile, "response_format")
        else:
            yield from check_format(given, "response_format", within="json_schema")


def _check_stream_options(body: Json, profile: ChatProfile) -> Iterator[Violation]:
    options = body.get("stream_options")
    if not isinstance(options, dict):
        return
    if not body.get("stream"):
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        yield v.not_allowed("stream_options", message)
    for member in options:
        if member not in _STREAM_OPTIONS and profile.unknown_members:
            yield v.unknown(f"stream_options.{member}", rule="R25")


# Tools in Chat's nested shape, and what may be said about them.

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
    if not isinstance(tool, dict) or tool.get("type") not in _TYPES:
        yield kind_violation(tool, path, _TYPES, "schema")
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


def check_chat_request(
    body: Json, profile: ChatProfile = CHAT_PROFILES["openai"], *, models: frozenset[str] | None = None
) -> list[Violation]:
    """Return what the API would refuse about `POST /chat/completions` with this body; empty means accepted."""
    return next((found for found in map(list, _steps(body, profile, models)) if found), [])


def _steps(body: Json, profile: ChatProfile, models: frozenset[str] | None) -> Iterator[Iterator[Violation]]:
    """Yield the steps lazily, so that each runs only after the one before it found nothing."""
    yield check_envelope(body, models)
    yield check_members(body, profile)
    messages = body["messages"]
    yield check_roles(messages, profile)
    yield chain(check_shapes(messages, profile), check_calls(messages, profile))
    yield check_media(messages, profile)
    yield check_tools(body, profile)
    yield check_pairs(messages, profile)
    yield check_order(messages, profile)
    yield check_reasoning(messages, profile)
    yield check_content(messages, profile)
