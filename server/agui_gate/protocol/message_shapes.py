"""Writes content of messages in the shapes of AG-UI 1.x.

Content: what came in as parts comes back as parts, text alone as a string.

Extra members: what comes in with a message and is of no use to a model is kept beside it, and restated as it came
(VER-6, STATE-2). It is a JSON object whose members are added to what is made of the rest; None where there is nothing
to add. Members of other types than AG-UI's are left out, and so is a type of a sealed value without its value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agui_gate.core.transcript import Content, Media, Output, Text

Message = dict[str, Any]

UNTYPED = "application/octet-stream"
"""The media type of inline bytes that came without one; the schema requires it there."""


def content_of(content: Sequence[Content]) -> str | list[Message]:
    """Returns a string where text is all there is, and came as that; else parts."""
    if not content:
        return ""
    first = content[0]
    if len(content) == 1 and isinstance(first, Text) and first.more is None:
        return first.text
    return [_part(part) for part in content]


def tool_message(message_id: str, call_id: str, output: Output) -> Message:
    """Returns a result, with its error beside it where it is one."""
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


_TYPES: Mapping[str, type] = {
    "name": str,
    "metadata": dict,
    "subagentRunId": str,
    "encryptedValue": str,
    "encryptedValueType": str,
    "content": str,
}

PART = "{}"
"""Beside a text that came as a part, and not as a plain string: it has no other members."""


def more(**members: Any) -> str | None:
    """Returns these members of a message or a call, as far as it has them."""
    found = {name: value for name, value in members.items() if isinstance(value, _TYPES[name])}
    if "encryptedValue" not in found:
        found.pop("encryptedValueType", None)
    return _text(found)


def of_part(part: Mapping[str, Any]) -> str | None:
    """Returns the members of a part that say nothing to a model."""
    found = {}
    if isinstance(part.get("id"), str):
        found["id"] = part["id"]
    if part.get("metadata") is not None:
        found["metadata"] = part["metadata"]
    return _text(found)


def with_more(item: dict[str, Any], kept: str) -> dict[str, Any]:
    """Returns ``item`` with what was kept beside it."""
    item.update(msgspec.json.decode(kept))
    return item


def _text(members: Mapping[str, Any]) -> str | None:
    return msgspec.json.encode(members).decode() if members else None
