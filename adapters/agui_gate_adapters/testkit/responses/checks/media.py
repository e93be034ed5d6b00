"""Attachments in messages of the Responses API, and the names of calls in a history: what poisons a conversation.

Wordings: "Expected a base64-encoded data URL …" as in anomalyco/opencode#23983 and Alibaba-NLP/OmniSearch#3, "Timeout
while downloading …" as in vercel/ai#8857, "The image data you provided …" as in acoyfellow/my-ax#69. The words about
addresses of another form and about files are inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.media import IMAGES, is_gone, look_at, look_at_address, split_data_url
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.media import EXAMPLE, got
from agui_gate_adapters.testkit.openai.names import check_name
from agui_gate_adapters.testkit.responses.profiles import Profile
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_history_names", "check_media"]

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
