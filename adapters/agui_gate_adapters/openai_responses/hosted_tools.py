"""The states of items that the provider works on itself, of those that it asks about, and of kinds nobody here knows.

A hosted tool's item becomes a call that is finished when the item is; `hosted_kinds.py` says what is shown of it. A
hosted MCP call that needs approval becomes one that is held: the engine asks, and the next request has the answer.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from agui_gate.adapter import CallDelta, CallEnd, CallHeld, CallResult, CallStart, Notice, Private

from .hosted_kinds import KINDS, image_notice, name_of
from .states import CallState, Events, ItemState, MessageState, ReasoningState
from .wire import Item

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
    """What is kept and asked for hosted tools. ``expires_after`` (seconds) is for approvals of hosted MCP calls.

    ``keeps_lists``: a server's tool list is kept with the call that it asks about, to be sent again with the answer.
    ``servers``: see `where_servers_are`.
    """

    expires_after: float | None = None
    keeps_lists: bool = False
    servers: Mapping[str, str] = {}


NOT_HOSTING = Hosting()


def new_state(item: Item, key: str, position: int, hosting: Hosting = NOT_HOSTING) -> ItemState:
    """The state for an item of this type."""
    if item.type == HeldState.type:
        return HeldState(key, position, hosting)
    return _STATES.get(item.type, OtherState)(key, position)


class HostedState(ItemState):
    """What hosted tools have in common. A call that does not end is for the engine to close."""

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
        """As for the others, but for any hosted type."""
        return item.type == self._type

    def delta(self, text: str | None, out: Events) -> None:
        """A piece of the JSON arguments (of hosted MCP calls)."""
        if text and self._started and not self.closed:
            out.append(CallDelta(self.key, text))

    def code(self, text: str | None, out: Events) -> None:
        """A piece of the code of a code interpreter, as a piece of the JSON that shows it."""
        if text and self._started and not self.closed:
            before = "" if self._streamed else '{"code":"'
            self._streamed = True
            out.append(CallDelta(self.key, before + msgspec.json.encode(text).decode()[1:-1]))

    def finish(self, item: Item, out: Events) -> None:
        """The call with its result."""
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
        """Asks. The item comes whole; without an id it could not be answered, nor without a name be asked about."""
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
        """As for the others, but for any type."""
        return item.type == self._type

    @property
    def answerable(self) -> bool:
        """Kinds that wait for an answer from the client can't be continued."""
        return self._type not in _CLIENT_EXECUTED

    def finish(self, item: Item, out: Events) -> None:
        """Mentions that it was there."""
        self.closed = True
        out.append(Notice("openai.item", {"type": item.type, "id": item.id, "status": item.status}))


_STATES: dict[str, type[ItemState]] = {
    **{state.type: state for state in (MessageState, ReasoningState, CallState, ToolListState)},
    **dict.fromkeys(KINDS, HostedState),
}
