"""The states of calls: those that we answer, and those that the provider runs itself."""

import msgspec

from agui_gate.adapter import CallDelta, CallEnd, CallResult, CallStart, Private
from agui_gate_adapters.common.json_decoder import decode_any

from .server_tools import shown, shown_name
from .states import BlockState, Events, OtherState, RedactedState, Take, TextState, ThinkingState
from .wire import Body, Delta


def new_state(body: Body, key: str, take: Take) -> "BlockState":
    """The state for a block of this type."""
    return _STATES.get(str(body.get("type")), OtherState)(body, key, take)


class CallState(BlockState):
    """A call that we answer. It ends with the message, not with its block: only then is it known whether it may run."""

    __slots__ = ("_pieces",)
    type = "tool_use"

    def __init__(self, body: Body, key: str, take: Take) -> None:
        super().__init__(body, key, take)
        self._pieces: list[str] = []

    def start(self, out: Events) -> None:
        """The provider's id and the tool's name come with the start."""
        super().start(out)
        out.append(self._started(str(self.body.get("id") or ""), str(self.body.get("name") or "")))

    def _started(self, wire_id: str, name: str) -> CallStart:
        return CallStart(self.key, wire_id, name)

    def delta(self, delta: Delta, out: Events) -> None:
        """A piece of the arguments."""
        if delta.partial_json and not self.closed:
            self._pieces.append(delta.partial_json)
            out.append(CallDelta(self.key, delta.partial_json))

    @property
    def arguments(self) -> str:
        """JSON text. Without any delta it is what the start said, which is an empty object."""
        given = self.body.get("input")
        return "".join(self._pieces) or msgspec.json.encode(given if isinstance(given, dict) else {}).decode()

    @property
    def whole(self) -> bool:
        """Whether the arguments are a JSON object."""
        return isinstance(decode_any(self.arguments), dict)

    def end(self, blocks: int, out: Events) -> None:
        """End a call that may run; ``blocks`` is how many the turn has. One that was cut, or is no JSON, never ends."""
        if self.closed and self.whole:
            self._finish({"index": self.position, "blocks": blocks}, out)

    def _finish(self, private: Private, out: Events) -> None:
        arguments = self.arguments
        if not self._pieces:
            out.append(CallDelta(self.key, arguments))
        out.append(CallEnd(self.key, arguments, private))

    def block(self) -> Body | None:
        """As it came, with its arguments."""
        return self.body | {"input": decode_any(self.arguments) if self.whole else {}}


class HostedState(CallState):
    """A server tool's call: the provider runs it, and its result is a block of its own, in this message or the next."""

    __slots__ = ()
    type = "server_tool_use"

    def _started(self, wire_id: str, name: str) -> CallStart:
        return CallStart(self.key, wire_id, shown_name(name), hosted=True)

    def stop(self, out: Events) -> None:
        """Nobody runs it here, so it ends with its block."""
        if not self.closed:
            whole = self.whole
            self._finish({"index": self.position, "block": self.block()} if whole else {}, out)
        self.closed = True

    def result(self, block: Body, position: int, out: Events) -> None:
        """What it came to."""
        self.stop(out)
        text, is_error = shown(block)
        out.append(CallResult(self.key, text, is_error, {"result": block, "result_index": position}))


class ResultState(BlockState):
    """A server tool's result; it comes whole."""

    __slots__ = ("_call",)

    def __init__(self, body: Body, key: str, take: Take, call: HostedState) -> None:
        super().__init__(body, key, take)
        self._call = call

    def start(self, out: Events) -> None:
        """Gives it to its call."""
        super().start(out)
        self._call.result(self.body, self.position, out)


class McpState(HostedState):
    """A call of the provider's own MCP client: a server tool's in all but name."""

    __slots__ = ()
    type = "mcp_tool_use"


_STATES: dict[str, type[BlockState]] = {
    state.type: state for state in (TextState, ThinkingState, RedactedState, CallState, HostedState, McpState)
}
