"""What came of a server tool, as text for people. The model gets the provider's own blocks back, not this."""

import re
from typing import Any

import msgspec

from .wire import Body

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_OPAQUE = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout", "data", "type"})
"""Members that say nothing to a person."""


def shown_name(name: object) -> str:
    """The tool's name as any tool's may be."""
    return _NAME.sub("_", name) if isinstance(name, str) and name else "server_tool"


def shown(block: Body) -> tuple[str, bool]:
    """A `*_tool_result` block as text, and whether it is an error."""
    content = block.get("content")
    if isinstance(content, dict) and "error_code" in content:
        return str(content.get("error_message") or content["error_code"]), True
    parts = content if isinstance(content, list) else [content]
    return "\n".join(text for part in parts if (text := _part(part))), bool(block.get("is_error"))


def _part(part: Any) -> str:
    match part:
        case _ if not part:
            return ""
        case str():
            return part
        case {"type": "text", "text": str(text)}:
            return text
        case {"stdout": str(out), "stderr": str(err)}:
            return "\n".join(text for text in (out.rstrip("\n"), err.rstrip("\n")) if text)
        case {"title": str(title), "url": str(url)}:
            return f"{title}: {url}"
        case _:
            return msgspec.json.encode(_readable(part)).decode()


def _readable(value: Any) -> Any:
    """The value without what only the provider can read, at whatever depth."""
    if isinstance(value, dict):
        return {name: _readable(member) for name, member in value.items() if name not in _OPAQUE}
    return [_readable(member) for member in value] if isinstance(value, list) else value
