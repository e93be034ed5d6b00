"""Attachments in messages of the Responses API, and the names of calls in a history: what poisons a conversation.

Wordings: "Expected a base64-encoded data URL …" as in anomalyco/opencode#23983 and Alibaba-NLP/OmniSearch#3, "Timeout
while downloading …" as in vercel/ai#8857. That other addresses and other bytes are refused is known, the words for it
are near those of the neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit import violations as v
from agui_gate_adapters.testkit.media import IMAGES, Trouble, look_at, look_at_address, split_data_url
from agui_gate_adapters.testkit.profiles import Profile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["EXAMPLE", "MAX_NAME", "NAME_PATTERN", "check_history_names", "check_media", "check_name", "got"]

NAME_PATTERN: Final = "^[a-zA-Z0-9_-]+$"
MAX_NAME: Final = 64
EXAMPLE: Final = "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU=')"
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
_CALLS: Final = ("function_call", "custom_tool_call")


def check_media(items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Yield what is wrong with the attachments of messages; their shape is right by now."""
    for index, item in enumerate(items if profile.media else ()):
        content = item.get("content") if item.get("role") == "user" else None
        for place, part in enumerate(content if isinstance(content, list) else ()):
            path = f"input[{index}].content[{place}]"
            if part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
                yield from _check_image(part["image_url"], f"{path}.image_url")
            elif part.get("type") == "input_file":
                yield from _check_file(part, path)


def check_history_names(items: list[Json], profile: Profile) -> Iterator[Violation]:
    """Yield calls of a history whose names no tool can have."""
    for index, item in enumerate(items if profile.call_names else ()):
        if item.get("type") in _CALLS and isinstance(item.get("name"), str):
            yield from check_name(item["name"], f"input[{index}].name")


def check_name(name: str, path: str, rule: str = "name") -> Iterator[Violation]:
    """Yield what is wrong with a tool's name, in a tool or in a call."""
    if len(name) > MAX_NAME:
        yield v.too_long(path, MAX_NAME, len(name), rule=rule)
    elif not _NAME.fullmatch(name):
        yield v.bad_pattern(path, NAME_PATTERN, rule=rule)


def got(trouble: Trouble) -> str:
    """What the API says that it got instead of a data URL."""
    match trouble.what:
        case "empty":
            return "empty base64-encoded bytes"
        case "type":
            return f"unsupported MIME type '{trouble.detail}'"
        case "prefix":
            return "a value without the 'data:' prefix"
        case _:
            return "an invalid base64-encoded value"


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
