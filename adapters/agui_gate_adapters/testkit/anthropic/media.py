"""Images and documents of a request to the Messages API.

"The image was specified using …" as in home-assistant/core#167208; "image exceeds 5 MB maximum" as in
anthropics/claude-code#19631; "image cannot be empty" as in anthropics/claude-code#12750; "Could not process image",
which names no place, as in anthropics/claude-code#46127; "The PDF specified was not valid" as in
anthropics/claude-code#5174. The words about addresses and encodings, and about other types, are inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.message_merge import blocks_of
from agui_gate_adapters.testkit.media import IMAGES, is_gone, look_at_address, look_at_data
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["check_media"]

_MAX_IMAGE: Final = 5 * 1024 * 1024
_PDF: Final = ("application/pdf",)


def check_media(body: Json) -> Iterator[Violation]:
    """Yield what is wrong with attachments; the shape is right by now."""
    for number, message in enumerate(body["messages"]):
        for index, block in enumerate(blocks_of(message)):
            if block["type"] in ("image", "document"):
                yield from _check(block["type"], block["source"], f"messages.{number}.content.{index}")


def _check(kind: str, source: Any, path: str) -> Iterator[Violation]:
    match source.get("type"):
        case "base64" if kind == "image":
            yield from _check_image(source, f"{path}.image.source.base64")
        case "base64":
            yield from _check_pdf(source, path)
        case "url":
            yield from _check_url(str(source.get("url")))
        case "file" if is_gone(str(source.get("file_id"))):
            yield v.bad_media(f"File not found: {source['file_id']}")


def _check_image(source: Json, path: str) -> Iterator[Violation]:
    label, value = source["media_type"], source["data"]
    trouble = look_at_data(label, value, IMAGES)
    if trouble is not None and trouble.what == "type":
        yield v.wrong(f"{path}.media_type", "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
    elif len(value) > _MAX_IMAGE:
        yield v.bad_media(f"{path}: image exceeds 5 MB maximum: {len(value)} bytes > {_MAX_IMAGE} bytes")
    elif trouble is None:
        return
    elif trouble.what == "empty":
        yield v.bad_media(f"{path}: image cannot be empty")
    elif trouble.what == "encoding":
        yield v.bad_media(f"{path}.data: invalid base64 data")
    elif trouble.what == "label":
        said = f"The image was specified using the {label} media type, but the image appears to be a"
        yield v.bad_media(f"{path}: {said} {trouble.detail} image")
    else:
        yield v.bad_media("Could not process image")


def _check_pdf(source: Json, path: str) -> Iterator[Violation]:
    trouble = look_at_data(str(source.get("media_type")), str(source.get("data")), _PDF)
    if trouble is not None and trouble.what == "type":
        yield v.wrong(f"{path}.document.source.base64.media_type", "Input should be 'application/pdf'")
    elif trouble is not None:
        yield v.bad_media(f"{path}.pdf.source.base64.data: The PDF specified was not valid.")


def _check_url(url: str) -> Iterator[Violation]:
    if not url.startswith("https://"):
        yield v.bad_media("Only HTTPS URLs are supported.")
    elif look_at_address(url) is not None:
        yield v.bad_media("Unable to download the file. Please verify the URL and try again.")
