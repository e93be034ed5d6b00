"""A message's parts in this API's words."""

import base64
import binascii
from collections.abc import Iterable

from agui_gate.adapter import Content, Media, Output, Text
from agui_gate_adapters.common.failures import READABLE, dropped

from .wire import Body

_PDF = "application/pdf"


def user_blocks(content: Iterable[Content]) -> list[Body]:
    """A user's message as blocks; blank text is left out (A11)."""
    return [block for part in content if (block := _block(part)) is not None]


def result_blocks(output: Output) -> list[Body]:
    """The parts of a result as blocks: those that the API takes."""
    parts = [part for part in output.parts or () if isinstance(part, Text) or _source(part) is not None]
    dropped(output, len(parts))
    return user_blocks(parts)


def as_text(content: Iterable[Content]) -> str:
    """The same as text alone, for the places that take nothing else; "" when nothing is said."""
    texts = [part.text if isinstance(part, Text) else _left_out(part) for part in content]
    return "\n\n".join(text for text in texts if text.strip())


def text_block(text: str) -> Body | None:
    """A text block; None for blank text, which the API refuses (A11)."""
    return {"type": "text", "text": text} if text.strip() else None


def _block(part: Content) -> Body | None:
    if isinstance(part, Text):
        return text_block(part.text)
    source = _source(part) if part.value else None
    if source is None:
        # The model should know that something was there; a refusal of the whole turn would help nobody.
        return text_block(_left_out(part))
    return {"type": part.kind, "source": source}


def _left_out(part: Media) -> str:
    kind = f"{part.kind} ({part.mime_type})" if part.mime_type else part.kind
    return f"[{kind} attachment left out: this model's API does not accept it here]"


def _source(part: Media) -> Body | None:
    """Where an image or a document comes from; None for what the API can't take."""
    if part.kind not in ("image", "document"):
        return None
    if part.source == "file":
        return {"type": "file", "file_id": part.value}
    mime_type, data = part.mime_type, part.value
    if data.startswith("data:"):
        head, _, data = data[5:].partition(",")
        mime_type = head.partition(";")[0] or mime_type
    elif part.source == "url":
        return {"type": "url", "url": data}
    if part.kind == "image":
        mime_type = mime_type or "image/png"
        return _base64(mime_type, data) if mime_type in READABLE else None
    return _document(mime_type or _PDF, data)


def _document(mime_type: str, data: str) -> Body | None:
    """Documents are PDF, or plain text of whatever kind."""
    if mime_type == _PDF:
        return _base64(mime_type, data)
    if not mime_type.startswith("text/"):
        return None
    try:
        text = base64.b64decode(data).decode()
    except (binascii.Error, ValueError):
        return None
    return {"type": "text", "media_type": "text/plain", "data": text} if text.strip() else None


def _base64(mime_type: str, data: str) -> Body:
    return {"type": "base64", "media_type": mime_type, "data": data}
