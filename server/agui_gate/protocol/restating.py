"""Content in the shapes of AG-UI 1.x: what came in as parts comes back as parts, text alone as a string."""

from collections.abc import Sequence
from typing import Any

from agui_gate.core.transcript import Content, Media, Output, Text
from agui_gate.protocol.kept import with_more

Message = dict[str, Any]

UNTYPED = "application/octet-stream"
"""The media type of inline bytes that came without one; the schema requires it there."""


def content_of(content: Sequence[Content]) -> str | list[Message]:
    """A string where text is all there is, and came as that; else parts."""
    if not content:
        return ""
    first = content[0]
    if len(content) == 1 and isinstance(first, Text) and first.more is None:
        return first.text
    return [_part(part) for part in content]


def tool_message(message_id: str, call_id: str, output: Output) -> Message:
    """A result, with its error beside it where it is one."""
    content = output.content if output.parts is None else [_part(part) for part in output.parts]
    message: Message = {"id": message_id, "role": "tool", "toolCallId": call_id, "content": content}
    if output.is_error:
        message["error"] = output.error or output.content
    return message


def _part(part: Content) -> Message:
    shown = (
        {"type": "text", "text": part.text} if isinstance(part, Text) else {"type": part.kind, "source": _source(part)}
    )
    return shown if part.more is None else with_more(shown, part.more)


def _source(media: Media) -> Message:
    source = {"type": media.source, "value": media.value}
    mime_type = media.mime_type or (UNTYPED if media.source == "data" else None)
    if mime_type:
        source["mimeType"] = mime_type
    if media.provider is not None:
        source["provider"] = media.provider
    return source
