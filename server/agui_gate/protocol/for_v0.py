"""A thread's messages for clients of 0.x, whose schema refuses the whole snapshot for one shape that it doesn't know.

It knows no `file` sources, and results that are text alone. Such a part is left out, with nothing in its place; what is
left empty is an empty string (VER-6, TOOL-3). What is lost is told to developers (VER-7). Everything else it takes, or
strips by itself: the ids of parts, metadata of texts, names of results.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from agui_gate.protocol.restating import Message

FILES = "parts of messages with a file handle (source file)"
RESULTS = "parts of results other than text"


def for_v0(messages: Iterable[Message]) -> set[str]:
    """Bring ``messages`` into the shapes of 0.x, in place. Returns what it has no shape for, in words."""
    lost: set[str] = set()
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            if message["role"] == "tool":
                message["content"] = _flat(content, lost)
            elif message["role"] == "user":
                message["content"] = _without_files(content, lost)
    return lost


def for_v0_json(messages: msgspec.Raw) -> tuple[msgspec.Raw, set[str]]:
    """The same of a JSON list. Most have no parts, and cost nothing."""
    if b'"content":[' not in bytes(messages):
        return messages, set()
    read: list[Message] = msgspec.json.decode(messages)
    lost = for_v0(read)
    return msgspec.Raw(msgspec.json.encode(read)), lost


def _flat(parts: list[dict[str, Any]], lost: set[str]) -> str:
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if len(texts) < len(parts):
        lost.add(RESULTS)
    return "".join(texts)


def _without_files(parts: list[dict[str, Any]], lost: set[str]) -> list[dict[str, Any]] | str:
    left = [part for part in parts if part["type"] == "text" or part["source"]["type"] != "file"]
    if len(left) < len(parts):
        lost.add(FILES)
    return left or ""
