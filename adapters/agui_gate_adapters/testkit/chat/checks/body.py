"""The members of the request body: model, messages (C7), unknown ones, types, bounds, stream options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.formats import check_format
from agui_gate_adapters.testkit.openai.types import TYPE_NAMES, is_a, json_type
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_envelope", "check_members"]

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
            yield from _check_bounds(name, value)
    yield from _check_stream_options(body, profile)
    yield from _check_format(body, profile)


def _check_bounds(name: str, value: float) -> Iterator[Violation]:
    low, high = _BOUNDS[name]
    kind = "integer" if _FIELDS[name] == (int,) else "decimal"
    if value < low:
        yield v.out_of_bounds(name, kind, "min", low, value)
    elif value > high:
        yield v.out_of_bounds(name, kind, "max", high, value)


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
