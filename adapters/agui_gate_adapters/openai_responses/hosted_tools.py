"""The states of items that the provider works on itself, of those that it asks about, and of kinds nobody here knows.

A hosted tool's item becomes a call that is finished when the item is; `KINDS` says what is shown of it. A
hosted MCP call that needs approval becomes one that is held: the engine asks, and the next request has the answer.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from agui_gate.adapter import CallDelta, CallEnd, CallHeld, CallResult, CallStart, Notice, Private
from agui_gate.errors import ConfigurationError

from .states import Events, ItemState
from .wire import Body, Item

# Hosted tools: which ones there are, and what is shown of their calls.
#
# Their arguments are what the tool was asked, their result a short text for people; the model has the whole of it at
# the provider. Images are not part of that: they are shown once, as a notice, and the thread keeps their size alone.

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
    """Checks the tools and returns them as they are sent. Raises `ConfigurationError`."""
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
    """Checks that each server has its own label: the provider names a call's server by nothing else."""
    if not isinstance(label, str) or not label:
        raise ConfigurationError("hosted_tools: an mcp server needs a server_label")
    if label in labels:
        raise ConfigurationError(f"hosted_tools: two mcp servers have the server_label {label!r}")
    labels.add(label)


def where_servers_are(tools: Sequence[Body]) -> dict[str, str]:
    """Returns a digest of each label's server address: an approval for one server holds for no other.

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
    """Returns the name for people: ``server__tool`` for hosted MCP, so that it can't be a local tool; "" if unknown."""
    if item.type not in ("mcp_call", "mcp_approval_request"):
        return item.type.removesuffix("_call")
    name = f"{item.server_label or 'mcp'}__{item.name}" if item.name else ""
    return _NOT_IN_NAMES.sub("_", name)[:MAX_NAME]


def image_notice(item: Item) -> Notice | None:
    """Returns a notice with a generated image, unless it is too large to be shown."""
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
    """Returns ``value`` with its texts cut: passages, logs, and images written as data URLs."""
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


_CLIENT_EXECUTED = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "tool_search_call",
    }
)
"""Items that wait for an answer which nobody here can give: the response can't be continued."""


class Hosting(NamedTuple):
    """The settings of hosted tools. ``expires_after`` (seconds) is for approvals of hosted MCP calls.

    ``keeps_lists``: a server's tool list is kept with the call that it asks about, to be sent again with the answer.
    ``servers``: see `where_servers_are`.
    """

    expires_after: float | None = None
    keeps_lists: bool = False
    servers: Mapping[str, str] = {}


NOT_HOSTING = Hosting()


class HostedState(ItemState):
    """The base of hosted tools' states. A call that does not end is for the engine to close."""

    __slots__ = ("_started", "_streamed", "_type")

    def __init__(self, key: str, position: int) -> None:
        super().__init__(key, position)
        self._started = False
        self._streamed = False
        self._type = ""

    def start(self, item: Item, out: Events) -> None:
        """Starts at once, or as soon as its name is known."""
        self._type = self._type or item.type
        if not self._started and (name := name_of(item)):
            self._started = True
            out.append(CallStart(self.key, item.id or self.key, name, hosted=True))

    def is_for(self, item: Item) -> bool:
        """Whether an item is of a hosted type."""
        return item.type == self._type

    def delta(self, text: str | None, out: Events) -> None:
        """Adds a piece of the JSON arguments (of hosted MCP calls)."""
        if text and self._started and not self.closed:
            out.append(CallDelta(self.key, text))

    def code(self, text: str | None, out: Events) -> None:
        """Adds a piece of a code interpreter's code, as a piece of the JSON that shows it."""
        if text and self._started and not self.closed:
            before = "" if self._streamed else '{"code":"'
            self._streamed = True
            out.append(CallDelta(self.key, before + msgspec.json.encode(text).decode()[1:-1]))

    def finish(self, item: Item, out: Events) -> None:
        """Ends the call with its result."""
        self.start(item, out)
        self.closed = True
        if not self._started:
            return
        kind = KINDS[item.type]
        failed = item.status in ("failed", "incomplete") or item.error is not None
        out.append(CallEnd(self.key, kind.arguments(item), self.private(item)))
        if (image := image_notice(item)) is not None:
            out.append(image)
        out.append(CallResult(self.key, kind.result(item), failed))


class HeldState(ItemState):
    """A hosted MCP call that the provider asks about."""

    __slots__ = ("_asked", "_hosting", "tool_list")
    type = "mcp_approval_request"

    def __init__(self, key: str, position: int, hosting: Hosting) -> None:
        super().__init__(key, position)
        self._hosting = hosting
        self._asked = False
        self.tool_list: Private | None = None
        """The server's tools, as the same response listed them."""

    @property
    def answerable(self) -> bool:
        """Only what can be asked about gets an answer."""
        return self._asked

    def finish(self, item: Item, out: Events) -> None:
        """Ends the call as held, to be approved. An item without id or name can't be."""
        self.closed = True
        if not item.id or not item.name:
            return
        self._asked = True
        private: Private = {
            "index": self.position,
            "id": item.id,
            "name": item.name,
            "server_label": item.server_label or "",
            "server": self._hosting.servers.get(item.server_label or "", ""),
        }
        if self._hosting.keeps_lists and self.tool_list is not None:
            private["tool_list"] = self.tool_list
        question = f"Let {item.server_label} run {item.name}?"
        out.append(CallStart(self.key, item.id, name_of(item), hosted=True, asks=True))
        out.append(CallEnd(self.key, item.arguments_text or "{}", private))
        out.append(CallHeld(self.key, self._hosting.expires_after, question))


class ToolListState(ItemState):
    """The tools of an MCP server. For people it is a notice; with an approval it has to be sent again."""

    __slots__ = ("body", "label")
    type = "mcp_list_tools"

    def __init__(self, key: str, position: int) -> None:
        super().__init__(key, position)
        self.label = ""
        self.body: Private | None = None

    def finish(self, item: Item, out: Events) -> None:
        """Keeps the item as it may be sent again: without nulls (R13)."""
        self.closed = True
        self.label = item.server_label or ""
        tools = [{name: value for name, value in tool.items() if value is not None} for tool in item.tools or ()]
        if item.id and item.error is None:
            self.body = {"type": item.type, "id": item.id, "server_label": self.label, "tools": tools}
        names = [tool.get("name") for tool in tools]
        out.append(Notice("openai.mcp_tools", {"server": self.label, "tools": names, "failed": item.error is not None}))


class OtherState(ItemState):
    """Kinds that do not exist yet, or that this adapter never asked for: reported, never an error."""

    __slots__ = ("_type",)

    def start(self, item: Item, out: Events) -> None:
        """Remembers what it is."""
        self._type = item.type

    def is_for(self, item: Item) -> bool:
        """Whether an item is of this state's type: any is."""
        return item.type == self._type

    @property
    def answerable(self) -> bool:
        """Kinds that wait for an answer from the client can't be continued."""
        return self._type not in _CLIENT_EXECUTED

    def finish(self, item: Item, out: Events) -> None:
        """Mentions that it was there."""
        self.closed = True
        out.append(Notice("openai.item", {"type": item.type, "id": item.id, "status": item.status}))
