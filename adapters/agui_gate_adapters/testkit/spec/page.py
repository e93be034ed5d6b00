"""The state of a page that reads a stream: the messages and calls of its input, and what came since."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from agui_gate_adapters.testkit.spec.rules import Json, listed, word


@dataclass(slots=True)
class Call:
    """A tool call that the page knows."""

    name: str
    parent: str
    owner: str


@dataclass(slots=True)
class Page:
    """Changed after each event, so that who judges an event sees what was known before it."""

    input: Json
    roles: dict[str, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    """Message id of each result, by call id."""
    held_results: frozenset[str] = frozenset()
    held_calls: Mapping[str, str] = field(default_factory=dict)
    """The arguments of each call that the input had."""
    held_messages: frozenset[str] = frozenset()
    """What the input had."""
    replays: bool = False
    """The whole stream shows again what was, as after reconnecting."""
    replayed: bool = False
    """The run that is open is not the input's: it is shown again."""
    frontend: frozenset[str] = frozenset()
    """Names of the tools that the input advertises."""

    def __post_init__(self) -> None:
        self.hold(listed(self.input.get("messages")))
        messages = listed(self.input.get("messages"))
        self.held_results, self.held_messages = frozenset(self.results), frozenset(self.roles)
        self.held_calls = {
            word(call, "id"): _arguments(call) for message in messages for call in listed(message.get("toolCalls"))
        }
        self.frontend = frozenset(word(tool, "name") for tool in listed(self.input.get("tools")))

    def is_frontend(self, call_id: str) -> bool:
        """Whether a call is of a tool that the input advertises."""
        return call_id in self.calls and self.calls[call_id].name in self.frontend

    def hold(self, messages: list[Json]) -> None:
        """Take messages in, as an input or a snapshot has them."""
        for message in messages:
            role, message_id = word(message, "role"), word(message, "id")
            if message_id:
                self.roles[message_id] = role
                self.owners[message_id] = word(message, "subagentRunId")
            for call in listed(message.get("toolCalls")):
                function = call.get("function")
                name = word(function, "name") if isinstance(function, dict) else ""
                self.calls.setdefault(word(call, "id"), Call(name, message_id, word(message, "subagentRunId")))
            if role == "tool":
                self.results[word(message, "toolCallId")] = message_id

    def see(self, event: Json) -> None:
        """Take an event in that has been judged."""
        match event["type"]:
            case "RUN_STARTED":
                asked = word(self.input, "runId")
                self.replayed = self.replays or bool(asked and word(event, "runId") not in ("", asked))
            case "TEXT_MESSAGE_START":
                self._name(event, word(event, "role") or "assistant")
            case "REASONING_START" | "REASONING_MESSAGE_START":
                self._name(event, "reasoning")
            case "ACTIVITY_SNAPSHOT":
                self._name(event, "activity")
            case "TOOL_CALL_START":
                self._call(event)
            case "TOOL_CALL_RESULT":
                self._name(event, "tool")
                self.results[word(event, "toolCallId")] = word(event, "messageId")
            case "MESSAGES_SNAPSHOT":
                self.results.clear()
                self.hold(listed(event.get("messages")))
            case _:
                pass

    def _name(self, event: Json, role: str) -> None:
        self.roles[word(event, "messageId")] = role
        self.owners.setdefault(word(event, "messageId"), word(event, "subagentRunId"))

    def _call(self, event: Json) -> None:
        call_id = word(event, "toolCallId")
        parent, owner = word(event, "parentMessageId") or call_id, word(event, "subagentRunId")
        self.calls[call_id] = Call(word(event, "toolCallName"), parent, owner)
        self.roles.setdefault(parent, "assistant")
        self.owners.setdefault(parent, owner)


def _arguments(call: Json) -> str:
    function = call.get("function")
    return word(function, "arguments") if isinstance(function, dict) else ""
