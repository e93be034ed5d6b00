"""Step 3, input: checks each item by itself (R13–R17, R20), in the order of the list; attachments; names of calls.

Words of the checks of attachments: "Expected a base64-encoded data URL …" as in anomalyco/opencode#23983 and
Alibaba-NLP/OmniSearch#3, "Timeout while downloading …" as in vercel/ai#8857, "The image data you provided …" as in
acoyfellow/my-ax#69. The words about addresses of another form and about files are inferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.kinds import KINDS, Kind
from agui_gate_adapters.testkit.media import IMAGES, is_gone, look_at, look_at_address, split_data_url
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.checks import check_name, json_type
from agui_gate_adapters.testkit.openai.violations import EXAMPLE, got
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.wire import Json

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


# Attachments in messages of the Responses API, and the names of calls in a history: what poisons a conversation.

_CALLS: Final = ("function_call", "custom_tool_call")


def check_media(items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Yield what is wrong with the attachments of messages; their shape is right by now."""
    for index, item in enumerate(items if profile.media else ()):
        content = item.get("content") if item.get("role") == "user" else None
        for place, part in enumerate(content if isinstance(content, list) else ()):
            path = f"input[{index}].content[{place}]"
            if is_gone(str(part.get("file_id", ""))):
                yield v.bad_media(f"No such File object: {part['file_id']}", f"{path}.file_id")
            if part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
                yield from _check_image(part["image_url"], f"{path}.image_url")
            elif part.get("type") == "input_file":
                yield from _check_file(part, path)


def check_history_names(items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Yield calls of a history whose names no tool can have."""
    for index, item in enumerate(items if profile.call_names else ()):
        if item.get("type") in _CALLS and isinstance(item.get("name"), str):
            yield from check_name(item["name"], f"input[{index}].name")


def _check_image(address: str, path: str) -> Iterator[Violation]:
    trouble = look_at(address, IMAGES)
    if trouble is None or trouble.what == "label":  # which of the four it is, is not checked here
        return
    match trouble.what:
        case "address":
            yield v.bad_media(f"Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.", path)
        case "unreachable":
            yield v.bad_media(f"Timeout while downloading {address}.", "url")
        case "bytes":
            formats = "['image/jpeg', 'image/png', 'image/gif', 'image/webp']"
            message = (
                "The image data you provided does not represent a valid image. Please check your input and try again "
                f"with one of the supported image formats: {formats}."
            )
            yield v.bad_media(message, "input")
        case _:
            message = (
                f"Invalid '{path}'. Expected a base64-encoded data URL with an image MIME type {EXAMPLE}, but got "
            )
            yield v.bad_media(f"{message}{got(trouble)}.", path)


def _check_file(part: Json, path: str) -> Iterator[Violation]:
    if isinstance(url := part.get("file_url"), str) and look_at_address(url) is not None:
        yield v.bad_media(f"Error while downloading {url}.", "url")
    if isinstance(data := part.get("file_data"), str):
        label = split_data_url(data)[0]
        types = ("application/pdf",) if label == "application/pdf" else ()
        trouble = look_at(data, types) if types or not data.startswith("data:") else None
        if trouble is not None:
            message = (
                f"Invalid '{path}.file_data'. Expected a base64-encoded data URL with a file's MIME type, but got "
            )
            yield v.bad_media(f"{message}{got(trouble)}.", f"{path}.file_data")
