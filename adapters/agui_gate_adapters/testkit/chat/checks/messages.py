"""Each message by itself: its role, its members, its content, and the calls of an assistant (C4, C5, C6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.names import check_name
from agui_gate_adapters.testkit.openai.types import json_type
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_calls", "check_content", "check_roles", "check_shapes"]

_ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")
_MEMBERS: Final[dict[str, frozenset[str]]] = {
    "system": frozenset({"name"}),
    "developer": frozenset({"name"}),
    "user": frozenset({"name"}),
    "assistant": frozenset({"name", "refusal", "audio", "annotations", "tool_calls", "function_call"}),
    "tool": frozenset({"tool_call_id", "name"}),
    "function": frozenset({"name"}),
}
_TEXT: Final = ("text",)
_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}
_CALL_TYPES: Final = ("function", "custom")
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")


def check_roles(messages: list[object], profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is no message, and roles that are unknown, or unknown to this server."""
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if not isinstance(message, dict):
            yield v.wrong_type(path, "an object", json_type(message), rule="type")
        elif "role" not in message:
            yield v.missing(f"{path}.role", rule="role")
        elif message["role"] not in _ROLES:
            yield v.unsupported_value(f"{path}.role", str(message["role"]), _ROLES, rule="role")
        elif message["role"] == "system" and index and profile.system_first:
            yield cv.late_system()
        elif message["role"] == "developer" and not profile.developer_role:
            yield cv.unknown_role(f"{path}.role", "developer")


def check_shapes(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield unknown members, and content of a wrong type; content that is absent comes last of all."""
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        yield from _check_members(message, path, profile)
        content = message.get("content")
        if isinstance(content, list):
            yield from _check_parts(content, f"{path}.content", _PARTS.get(message["role"], _TEXT))
        elif content is not None and not isinstance(content, str):
            kinds = "one of a string or array of objects"
            yield v.wrong_type(f"{path}.content", kinds, json_type(content), rule="type")


def check_calls(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is wrong with calls (C5), and with the ids of calls and answers (C6)."""
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if message["role"] == "tool":
            yield from _check_id(message, "tool_call_id", path, profile)
        if message.get("tool_calls") is not None:
            yield from _check_calls(message["tool_calls"], f"{path}.tool_calls", profile)


def check_content(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """C4, which the API looks at last of all."""
    for index, message in enumerate(messages if profile.content_required else ()):
        excused = message["role"] == "assistant" and any(
            message.get(member) is not None for member in ("tool_calls", "refusal", "audio", "function_call")
        )
        if message.get("content") is None and not excused:
            yield cv.no_content(index)


def _check_members(message: Json, path: str, profile: ChatProfile) -> Iterator[Violation]:
    reasoning = profile.reasoning_field or "reasoning_content"
    known = _MEMBERS[message["role"]] | {"role", "content"}
    for member in message:
        if member == reasoning and profile.reasoning_back == "refused":
            yield cv.reasoning_sent(f"{path}.{member}")
        elif profile.unknown_members and member not in known and member != profile.reasoning_field:
            if profile.errors == "bare":  # A schema of tagged unions: the role is part of the place.
                yield cv.unsupported(profile, f"{path}.{message['role']}.{member}")
            else:
                yield v.unknown(f"{path}.{member}", rule="member")


def _check_parts(parts: list[object], path: str, kinds: tuple[str, ...]) -> Iterator[Violation]:
    if not parts:
        yield cv.empty_array(path, "content")
    for index, part in enumerate(parts):
        where = f"{path}[{index}]"
        if not isinstance(part, dict):
            yield v.wrong_type(where, "an object", json_type(part), rule="type")
        elif "type" not in part:
            yield v.missing(f"{where}.type", rule="content")
        elif part["type"] not in kinds:
            yield v.unsupported_value(f"{where}.type", str(part["type"]), kinds, rule="content")
        elif part["type"] not in part and part["type"] in ("text", "refusal", "image_url"):
            yield v.missing(f"{where}.{part['type']}", rule="content")


def _check_calls(calls: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not isinstance(calls, list):
        yield v.wrong_type(path, "an array of objects", json_type(calls), rule="C5")
        return
    if not calls:
        yield cv.empty_array(path, "C5")
    for index, call in enumerate(calls):
        where = f"{path}[{index}]"
        if not isinstance(call, dict):
            yield v.wrong_type(where, "an object", json_type(call), rule="type")
            continue
        yield from _check_id(call, "id", where, profile)
        if "type" not in call:
            yield v.missing(f"{where}.type", rule="call")
        elif call["type"] not in _CALL_TYPES:
            yield v.unsupported_value(f"{where}.type", str(call["type"]), _CALL_TYPES, rule="call")
        elif call["type"] == "function":
            yield from _check_function(call.get("function"), f"{where}.function", profile)


def _check_function(function: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not isinstance(function, dict):
        yield v.missing(path, rule="call")
        return
    for member in ("name", "arguments"):
        if member not in function:
            yield v.missing(f"{path}.{member}", rule="call")
        elif not isinstance(function[member], str):
            yield v.wrong_type(f"{path}.{member}", "a string", json_type(function[member]), rule="call")
    if profile.call_names and isinstance(function.get("name"), str):
        yield from check_name(function["name"], f"{path}.name")


def _check_id(holder: Json, member: str, path: str, profile: ChatProfile) -> Iterator[Violation]:
    given, where = holder.get(member), f"{path}.{member}"
    if given is None:
        yield v.missing(where, rule="call")
    elif not isinstance(given, str):
        yield v.wrong_type(where, "a string", json_type(given), rule="call")
    elif profile.nine_character_ids and not _NINE.fullmatch(given):
        yield cv.unfit_call_id(given)
    elif profile.max_call_id is not None and len(given) > profile.max_call_id:
        yield v.too_long(where, profile.max_call_id, len(given), rule="C6")
