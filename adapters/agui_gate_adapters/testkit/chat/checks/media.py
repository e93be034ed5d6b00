"""Attachments in a user's message, in the words of each server.

* "Invalid image URL: … Expected a base64-encoded data URL" as in Alibaba-NLP/OmniSearch#3
* "You uploaded an unsupported image" as in STranslate/STranslate#277
* "Failed to download image from" as in WordPress/php-ai-client#137
* "Failed to load image or audio file" as in cline/cline#8977

The words about files and audio are inferred.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.media import IMAGES, is_gone, look_at
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.openai.media import EXAMPLE, got
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_media"]

_PDF: Final = ("application/pdf",)
_EXAMPLE_PDF: Final = "(e.g. 'data:application/pdf;base64,aW1nIGJ5dGVzIGhlcmU=')"


def check_media(messages: list[Json], profile: ChatProfile) -> Iterator[Violation]:
    """Yield what is wrong with attachments; their shape is right by now."""
    for index, message in enumerate(messages):
        content = message.get("content")
        for place, part in enumerate(content if isinstance(content, list) else ()):
            path = f"messages[{index}].content[{place}]"
            if part["type"] == "image_url":
                yield from _check_image(part["image_url"], f"{path}.image_url", profile)
            elif part["type"] == "file":
                yield from _check_file(part.get("file"), f"{path}.file")
            elif part["type"] == "input_audio":
                yield from _check_audio(part.get("input_audio"), f"{path}.input_audio")


def _check_image(image: object, path: str, profile: ChatProfile) -> Iterator[Violation]:
    if not profile.images:
        yield cv.no_images(path.partition(".content")[0])
        return
    address = image.get("url") if isinstance(image, dict) else image
    if not isinstance(address, str):
        yield v.missing(f"{path}.url", rule="content")
        return
    trouble = look_at(address, IMAGES)
    if trouble is None or trouble.what == "label":
        return
    if profile.errors in ("vllm", "numbered"):
        yield cv.unreadable_image(profile)
    elif trouble.what in ("address", "unreachable", "prefix"):
        yield v.bad_media(f"Failed to download image from {address}. Image URL is invalid.", None, "invalid_image_url")
    elif trouble.what == "bytes":
        yield v.bad_media(_UNSUPPORTED, None, "invalid_image_format")
    else:
        message = (
            f"Invalid image URL: '{path}.url'. Expected a base64-encoded data URL with an image MIME type {EXAMPLE}"
        )
        yield v.bad_media(f"{message}, but got {got(trouble)}.", f"{path}.url")


_UNSUPPORTED: Final = (
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
    "['png', 'jpeg', 'gif', 'webp']."
)


def _check_file(file: object, path: str) -> Iterator[Violation]:
    handle, data = (file.get("file_id"), file.get("file_data")) if isinstance(file, dict) else (None, None)
    if isinstance(handle, str) and is_gone(handle):
        yield v.bad_media(f"No such File object: {handle}", f"{path}.file_id")
    if not isinstance(data, str):
        return
    trouble = look_at(data, _PDF)
    if trouble is not None:
        expected = f"Expected a base64-encoded data URL with an application/pdf MIME type {_EXAMPLE_PDF}"
        where = f"{path}.file_data"
        yield v.bad_media(f"Invalid file data: '{where}'. {expected}, but got {got(trouble)}.", where)


def _check_audio(audio: object, path: str) -> Iterator[Violation]:
    data = audio.get("data") if isinstance(audio, dict) else None
    try:
        fits = isinstance(data, str) and bool(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        fits = False
    if not fits:
        yield v.bad_media(f"Invalid value for '{path}.data': expected base64-encoded audio.", f"{path}.data")
