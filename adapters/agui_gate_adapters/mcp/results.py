"""A tool's result as the one text that the model, the user and the record get. Pure.

Text stays as it is. Structured content is added as JSON, unless a text says the same already (MCP asks servers to
send both). Media and resources are named with their type, size and address: their bytes are for no model's text.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_types import CallToolResult

MAX_RESULT = 256 * 1024
"""Characters of a result that are kept."""


def as_text(result: "CallToolResult", limit: int = MAX_RESULT) -> str:
    """The result as text of at most ``limit`` characters, and a word about what was cut."""
    parts = [_part(content) for content in result.content]
    structured = result.structured_content
    if structured is not None and not _said(structured, [c.text for c in result.content if c.type == "text"]):
        parts.append(json.dumps(structured, ensure_ascii=False, separators=(",", ":")))
    text = "\n".join(part for part in parts if part)
    return text if len(text) <= limit else f"{text[:limit]}… (cut)"


def _said(structured: Any, texts: Sequence[str]) -> bool:
    """Whether the texts are the structured content in other words: its JSON, or the single value that it wraps."""
    wrapped = structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else None
    if isinstance(wrapped, list) and len(wrapped) == len(texts) > 0:
        return all(_is(text, item) for text, item in zip(texts, wrapped, strict=True))
    return any(_is(text, structured) or (wrapped is not None and _is(text, wrapped)) for text in texts)


def _is(text: str, value: Any) -> bool:
    if text == value:
        return True
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _part(content: Any) -> str:
    match content.type:
        case "text":
            return str(content.text)
        case "image" | "audio":
            return f"[{content.type}: {content.mime_type}, {_bytes(content.data)}]"
        case "resource_link":
            about = [content.title or content.name, content.uri, content.mime_type, content.description]
            return f"[resource: {', '.join(str(said) for said in about if said)}]"
        case "resource":
            return _resource(content.resource)
        case other:
            return f"[{other}]"


def _resource(resource: Any) -> str:
    kind = f", {resource.mime_type}" if resource.mime_type else ""
    if (text := getattr(resource, "text", None)) is not None:
        return f"[resource: {resource.uri}{kind}]\n{text}"
    return f"[resource: {resource.uri}{kind}, {_bytes(resource.blob)}]"


def _bytes(base64: str) -> str:
    """The size that base64 text stands for."""
    size = len(base64) * 3 // 4 - base64[-2:].count("=")
    return f"{size:,} bytes"
