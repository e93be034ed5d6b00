"""A tool's result as the one text that the model, the user and the record get. Pure.

Text stays as it is. MCP asks servers to send structured content as text too, so the same may come twice; it is told
once. Structured content that a text says already, or that only wraps it (``{"content": …}``, ``{"result": …}``), is
left out. Text that the structured content repeats among other things is left out instead. Else both are told.
Media and resources are named with their type, size and address: their bytes are for no model's text.
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
    text = "\n".join(part for part in _parts(result) if part)
    return text if len(text) <= limit else f"{text[:limit]}… (cut)"


def _parts(result: "CallToolResult") -> list[str]:
    parts, structured = [_part(content) for content in result.content], result.structured_content
    texts = [_ways(content.text) for content in result.content if content.type == "text" and content.text]
    if structured is None or _is_said(structured, texts, result.content):
        return parts
    among = {_canonical(value) for value in structured.values()} if isinstance(structured, dict) else set()
    if texts and all(ways & among for ways in texts):
        parts = [part for content, part in zip(result.content, parts, strict=True) if content.type != "text"]
    return [*parts, json.dumps(structured, ensure_ascii=False, separators=(",", ":"))]


def _is_said(structured: Any, texts: Sequence[frozenset[str]], content: Sequence[Any]) -> bool:
    """Whether the content is the structured content in other words: its JSON, or the single value that it wraps."""
    wrapped = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    pieces = wrapped if isinstance(wrapped, list) and len(wrapped) == len(texts) else ()
    if pieces and all(_canonical(piece) in ways for piece, ways in zip(pieces, texts, strict=True)):
        return True
    if content and wrapped == [part.model_dump(by_alias=True, exclude_none=True) for part in content]:
        return True
    values = {_canonical(structured), _canonical(wrapped)}
    return any(ways & values for ways in texts)


def _ways(text: str) -> frozenset[str]:
    """What a text can mean: itself, and the JSON value that it is, if it is one."""
    try:
        return frozenset((_canonical(text), _canonical(json.loads(text))))
    except (ValueError, RecursionError):
        return frozenset((_canonical(text),))


def _canonical(value: Any) -> str:
    """A value's JSON: unlike the values of Python, in which 1 is true."""
    return json.dumps(value, sort_keys=True)


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
