"""Hosted tools: which ones there are, and what is shown of their calls.

Their arguments are what the tool was asked, their result a short text for people; the model has the whole of it at the
provider. Images are not part of that: they are shown once, as a notice, and the thread keeps their size alone.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from agui_gate.adapter import Notice
from agui_gate.errors import ConfigurationError

from .wire import Body, Item

MAX_IMAGE = 4 * 1024 * 1024
"""Characters of base64 up to which an image is shown; what is larger is only mentioned."""
MAX_TEXT = 2_000
"""Characters of one text in a result (a found passage, a log)."""
MAX_NAME = 64

HOSTED = ("code_interpreter", "file_search", "image_generation", "mcp", "web_search")
"""Types of tools that the provider runs itself, or their beginnings (there are dated and preview ones)."""

_NO_ADDRESS = {
    *("type", "server_label", "server_description", "authorization", "headers"),
    *("allowed_tools", "allowed_callers", "require_approval", "defer_loading"),
}
"""What is said of an MCP server besides where it is. What is not known here may say that."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def checked_hosted_tools(tools: Sequence[dict[str, Any]], approval_expires_after: float | None) -> tuple[Body, ...]:
    """The tools as they are sent. Raises `ConfigurationError`."""
    if approval_expires_after is not None and approval_expires_after <= 0:
        raise ConfigurationError("approval_expires_after is a number of seconds above 0")
    labels: set[str] = set()
    for tool in tools:
        if not isinstance(tool, dict):
            raise ConfigurationError('hosted_tools is a list of objects, such as [{"type": "web_search"}]')
        kind = tool.get("type")
        if not isinstance(kind, str) or not kind.startswith(HOSTED):
            raise ConfigurationError(
                f"hosted_tools: {kind!r} is none that the provider runs; it runs {', '.join(HOSTED)}"
            )
        if kind == "mcp":
            _check_label(tool.get("server_label"), labels)
    return tuple({name: value for name, value in tool.items() if value is not None} for tool in tools)


def _check_label(label: object, labels: set[str]) -> None:
    """Each server has one of its own: what the provider says of a server's calls names it by nothing else."""
    if not isinstance(label, str) or not label:
        raise ConfigurationError("hosted_tools: an mcp server needs a server_label")
    if label in labels:
        raise ConfigurationError(f"hosted_tools: two mcp servers have the server_label {label!r}")
    labels.add(label)


def where_servers_are(tools: Sequence[Body]) -> dict[str, str]:
    """Which server each label stands for, as a digest of its address: what was agreed to for one is for no other.

    Keys change, so what is sent with each request (``headers``, ``authorization``) is no part of it.
    """
    servers = [tool for tool in tools if tool["type"].startswith("mcp") and "server_label" in tool]
    return {tool["server_label"]: _digest(tool) for tool in servers}


def _digest(server: Body) -> str:
    address = {name: value for name, value in server.items() if name not in _NO_ADDRESS}
    return hashlib.sha256(msgspec.json.encode(address, order="deterministic")).hexdigest()


class Kind(NamedTuple):
    """How one kind of hosted call reads: both are JSON texts, but an MCP server's result is its own text."""

    arguments: Callable[[Item], str]
    result: Callable[[Item], str]


def name_of(item: Item) -> str:
    """What people see: ``server__tool`` for hosted MCP, so that it is never taken for a tool of ours; "" if unknown."""
    if item.type not in ("mcp_call", "mcp_approval_request"):
        return item.type.removesuffix("_call")
    name = f"{item.server_label or 'mcp'}__{item.name}" if item.name else ""
    return _NOT_IN_NAMES.sub("_", name)[:MAX_NAME]


def image_notice(item: Item) -> Notice | None:
    """A generated image, unless it is too large to be shown."""
    if item.type != "image_generation_call" or not item.result or len(item.result) > MAX_IMAGE:
        return None
    return Notice("openai.image", {"id": item.id, "format": item.output_format or "png", "data": item.result})


def _search_arguments(item: Item) -> str:
    action = item.action if isinstance(item.action, dict) else {}
    return _json({name: value for name, value in action.items() if name not in ("type", "sources") and value})


def _search_result(item: Item) -> str:
    sources = item.action.get("sources") if isinstance(item.action, dict) else None
    return _status(item, sources=_short(sources))


def _mcp_result(item: Item) -> str:
    found = item.error if item.error is not None else item.output
    if isinstance(found, str):
        return found
    return _status(item) if found is None else _json(found)


def _image_result(item: Item) -> str:
    size = len(item.result or "") * 3 // 4
    return _status(item, format=item.output_format, bytes=size or None)


def _status(item: Item, **more: Any) -> str:
    known = {"status": item.status or "completed", **more}
    return _json({name: value for name, value in known.items() if value is not None})


def _short(value: Any) -> Any:
    """``value`` with its texts cut: passages, logs, and images written as data URLs."""
    match value:
        case str():
            return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        case list():
            return [_short(each) for each in value]
        case dict():
            return {name: _short(each) for name, each in value.items() if each is not None}
        case _:
            return value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


KINDS: dict[str, Kind] = {
    "code_interpreter_call": Kind(
        lambda item: _json({"code": item.code or ""}), lambda item: _status(item, outputs=_short(item.outputs))
    ),
    "file_search_call": Kind(
        lambda item: _json({"queries": item.queries or []}), lambda item: _status(item, results=_short(item.results))
    ),
    "image_generation_call": Kind(
        lambda item: _json({"prompt": item.revised_prompt} if item.revised_prompt else {}), _image_result
    ),
    "mcp_call": Kind(lambda item: item.arguments_text or "{}", _mcp_result),
    "web_search_call": Kind(_search_arguments, _search_result),
}
