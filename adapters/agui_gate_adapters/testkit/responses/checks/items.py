"""Step 3, input: the shape of each item by itself (R13–R17, R20), in the order of the list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.kinds import KINDS, Kind
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.types import json_type
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_items"]

_ID: Final = re.compile(r"[A-Za-z0-9_-]*")
_ROLES: Final = ("assistant", "system", "developer", "user")
_USER_PARTS: Final = ("input_text", "input_image", "input_file", "input_audio")
_ASSISTANT_PARTS: Final = ("output_text", "refusal")
_OUTPUT_PARTS: Final = ("input_text", "input_image", "input_file")
_CHECKED_PREFIXES: Final = ("message", "reasoning", "function_call", "function_call_output")
_STRINGS: Final = ("id", "call_id", "name", "arguments", "input", "encrypted_content", "approval_request_id")
_MAX_ID: Final = 64
_PART_TEXT: Final = {"input_text": "text", "output_text": "text", "refusal": "refusal", "summary_text": "text"}


def check_items(items: list[object], profile: Profile, root: str = "input") -> Iterator[Violation]:
    """Yield what is wrong with the items, each by its own; `root` is how paths name the list."""
    for index, item in enumerate(items):
        path = f"{root}[{index}]"
        if not isinstance(item, dict):
            yield v.wrong_type(path, "an object", json_type(item))
        else:
            yield from _check_item(item, path, profile)


def _check_item(item: Json, path: str, profile: Profile) -> Iterator[Violation]:
    kind = item.get("type")
    if kind is None:
        if profile.explicit_item_type or "role" not in item:
            yield v.unsupported_value(path, "", KINDS)
            return
        kind = "message"
    row = KINDS.get(kind) if isinstance(kind, str) else None
    if row is None:
        yield v.unsupported_value(path, str(kind), KINDS)
        return
    yield from _check_members(item, path, row, profile)
    yield from _check_ids(item, path, row, profile)
    if row.type == "message":
        yield from _check_message(item, path, profile)
    elif row.type == "reasoning":
        yield from _check_reasoning(item, path, profile)
    elif "output" in row.required:
        yield from _check_output(item, path)


def _check_members(item: Json, path: str, row: Kind, profile: Profile) -> Iterator[Violation]:
    for name in row.required:
        if name not in item:
            yield v.missing(f"{path}.{name}", rule="R15" if row.type == "reasoning" else "R11")
    if row.type in ("item_reference", "local_shell_call_output", "mcp_approval_request") and not item.get("id"):
        yield v.missing(f"{path}.id")
    for name, value in item.items():
        if profile.unknown_members and (name not in row.members or value is None):
            yield v.unknown(f"{path}.{name}")
        elif name in _STRINGS and value is not None and not isinstance(value, str):
            if (row.type, name) != ("tool_search_call", "arguments"):  # An object there.
                yield v.wrong_type(f"{path}.{name}", "a string", json_type(value))
        elif name == "approve" and not isinstance(value, bool):
            yield v.wrong_type(f"{path}.{name}", "a boolean", json_type(value))


def _check_ids(item: Json, path: str, row: Kind, profile: Profile) -> Iterator[Violation]:
    call_id = item.get("call_id")
    if isinstance(call_id, str) and len(call_id) > _MAX_ID:
        yield v.too_long(f"{path}.call_id", _MAX_ID, len(call_id))
    item_id = item.get("id")
    if not profile.id_shape or not isinstance(item_id, str):
        return
    if len(item_id) > _MAX_ID:
        yield v.too_long(f"{path}.id", _MAX_ID, len(item_id))
    elif not _ID.fullmatch(item_id):
        yield v.wrong_id_characters(f"{path}.id", item_id)
    elif row.type in _CHECKED_PREFIXES and not item_id.startswith(row.id_prefix):
        yield v.wrong_id_prefix(f"{path}.id", item_id, row.id_prefix)


def _check_message(item: Json, path: str, profile: Profile) -> Iterator[Violation]:
    role = item.get("role")
    if role is None:
        return  # Reported as missing already.
    if role not in _ROLES:
        yield v.unsupported_value(f"{path}.role" if "type" in item else path, str(role), _ROLES)
        return
    if "phase" in item and role != "assistant" and profile.unknown_members:
        yield v.unknown(f"{path}.phase")
    content = item.get("content")
    if isinstance(content, list):
        parts = _ASSISTANT_PARTS if role == "assistant" else _USER_PARTS
        yield from _check_parts(content, f"{path}.content", parts)
    elif "content" in item and not isinstance(content, str):
        yield v.wrong_type(f"{path}.content", "one of a string or array of objects", json_type(content))


def _check_parts(parts: list[object], path: str, allowed: tuple[str, ...]) -> Iterator[Violation]:
    for index, part in enumerate(parts):
        where = f"{path}[{index}]"
        if not isinstance(part, dict):
            yield v.wrong_type(where, "an object", json_type(part))
            continue
        kind = part.get("type")
        if kind not in allowed:
            yield v.unsupported_value(where, str(kind or ""), allowed)
        elif kind in _PART_TEXT and not isinstance(part.get(_PART_TEXT[kind]), str):
            yield _missing_text(part, where, _PART_TEXT[kind])


def _missing_text(part: Json, where: str, name: str) -> Violation:
    if name not in part:
        return v.missing(f"{where}.{name}")
    return v.wrong_type(f"{where}.{name}", "a string", json_type(part[name]))


def _check_reasoning(item: Json, path: str, profile: Profile) -> Iterator[Violation]:
    summary = item.get("summary")
    if "summary" in item:
        if not isinstance(summary, list):
            yield v.wrong_type(f"{path}.summary", "an array of objects", json_type(summary))
        else:
            yield from _check_parts(summary, f"{path}.summary", ("summary_text",))
    if not item.get("id") and not item.get("encrypted_content") and not profile.reasoning_id_required:
        yield v.missing(f"{path}.id", rule="R15")


def _check_output(item: Json, path: str) -> Iterator[Violation]:
    output = item.get("output")
    if isinstance(output, list):
        if item["type"] in ("function_call_output", "custom_tool_call_output"):
            yield from _check_parts(output, f"{path}.output", _OUTPUT_PARTS)
    elif item["type"] == "function_call_output" and "output" in item and not isinstance(output, str):
        yield v.wrong_type(f"{path}.output", "one of a string or array of objects", json_type(output))
