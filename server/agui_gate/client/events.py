"""The AG-UI events that a client reads: all that 1.0 has, and what servers of 0.x may send of them.

They are lenient where the protocol's own client is: an optional member may be null, and an unknown member goes unread.
A known member with a value that it can't have is no event at all: see `event_decoder.py`. ``metadata`` is the
producer's own; ``subagent_run_id`` names the subagent that an event belongs to, None the agent itself.
"""

from typing import Any, Literal, dataclass_transform

import msgspec

Json = dict[str, Any]
"""A JSON object as it came: a message, an interrupt, a patch's operation."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", tag_field="type"):
    """The members that all events have."""

    timestamp: int | float | None = None
    raw_event: Any = None
    metadata: Json | None = None
    subagent_run_id: str | None = None


class RunStarted(Event, tag="RUN_STARTED"):
    """A run begins. ``input`` may hold messages that this client doesn't have."""

    thread_id: str
    run_id: str
    parent_run_id: str | None = None
    protocol_version: str | None = None
    input: Json | None = None


class RunFinished(Event, tag="RUN_FINISHED"):
    """The run ended without failing; ``outcome`` is absent for a success."""

    thread_id: str
    run_id: str
    result: Any = None
    outcome: Json | None = None
    usage: list[Json] | None = None


class RunError(Event, tag="RUN_ERROR"):
    """The run failed. ``message`` is the server's own word."""

    message: str
    code: str | None = None
    usage: list[Json] | None = None


class StepStarted(Event, tag="STEP_STARTED"):
    """A named step begins."""

    step_name: str


class StepFinished(Event, tag="STEP_FINISHED"):
    """A named step ended."""

    step_name: str


class TextMessageStart(Event, tag="TEXT_MESSAGE_START"):
    """A message begins."""

    message_id: str
    role: Literal["developer", "system", "assistant", "user"] = "assistant"
    name: str | None = None


class TextMessageContent(Event, tag="TEXT_MESSAGE_CONTENT"):
    """A piece of its text."""

    message_id: str
    delta: str


class TextMessageEnd(Event, tag="TEXT_MESSAGE_END"):
    """The message is complete."""

    message_id: str


class TextMessageChunk(Event, tag="TEXT_MESSAGE_CHUNK"):
    """Start, piece and end in one; `chunks.py` takes it apart."""

    message_id: str | None = None
    role: Literal["developer", "system", "assistant", "user"] | None = None
    name: str | None = None
    delta: str | None = None


class ToolCallStart(Event, tag="TOOL_CALL_START"):
    """A call begins."""

    tool_call_id: str
    tool_call_name: str
    parent_message_id: str | None = None


class ToolCallArgs(Event, tag="TOOL_CALL_ARGS"):
    """A piece of its JSON arguments."""

    tool_call_id: str
    delta: str


class ToolCallEnd(Event, tag="TOOL_CALL_END"):
    """The call's arguments are complete."""

    tool_call_id: str


class ToolCallChunk(Event, tag="TOOL_CALL_CHUNK"):
    """Start, piece and end in one."""

    tool_call_id: str | None = None
    tool_call_name: str | None = None
    parent_message_id: str | None = None
    delta: str | None = None


class ToolCallResult(Event, tag="TOOL_CALL_RESULT"):
    """The result of a call: text, or parts."""

    message_id: str
    tool_call_id: str
    content: str | list[Json]
    role: Literal["tool"] | None = None


class StateSnapshot(Event, tag="STATE_SNAPSHOT"):
    """The whole shared state: any JSON."""

    snapshot: Any


class StateDelta(Event, tag="STATE_DELTA"):
    """A change of it, as a JSON Patch."""

    delta: list[Json]


class MessagesSnapshot(Event, tag="MESSAGES_SNAPSHOT"):
    """All messages that the server has."""

    messages: list[Json]


class ActivitySnapshot(Event, tag="ACTIVITY_SNAPSHOT"):
    """The state of an activity, for people."""

    message_id: str
    activity_type: str
    content: Json
    replace: bool | None = None


class ActivityDelta(Event, tag="ACTIVITY_DELTA"):
    """A change of it, as a JSON Patch."""

    message_id: str
    activity_type: str
    patch: list[Json]


class ReasoningStart(Event, tag="REASONING_START"):
    """A span of reasoning begins."""

    message_id: str


class ReasoningMessageStart(Event, tag="REASONING_MESSAGE_START"):
    """Visible reasoning begins."""

    message_id: str
    role: Literal["reasoning", "assistant"] | None = None


class ReasoningMessageContent(Event, tag="REASONING_MESSAGE_CONTENT"):
    """A piece of visible reasoning."""

    message_id: str
    delta: str


class ReasoningMessageEnd(Event, tag="REASONING_MESSAGE_END"):
    """The visible reasoning is complete."""

    message_id: str


class ReasoningMessageChunk(Event, tag="REASONING_MESSAGE_CHUNK"):
    """Start, piece and end in one."""

    message_id: str | None = None
    delta: str | None = None


class ReasoningEnd(Event, tag="REASONING_END"):
    """A span of reasoning ended."""

    message_id: str


class ReasoningEncryptedValue(Event, tag="REASONING_ENCRYPTED_VALUE"):
    """The sealed form of a message or a call."""

    subtype: Literal["message", "tool-call"]
    entity_id: str
    encrypted_value: str


class SubagentStarted(Event, tag="SUBAGENT_STARTED"):
    """A subagent begins its work."""

    subagent_run_id: str
    name: str
    description: str | None = None
    parent_subagent_run_id: str | None = None
    parent_tool_call_id: str | None = None
    parent_message_id: str | None = None


class SubagentFinished(Event, tag="SUBAGENT_FINISHED"):
    """A subagent ended, or waits for a person."""

    subagent_run_id: str
    result: Any = None
    outcome: Json | None = None


class SubagentError(Event, tag="SUBAGENT_ERROR"):
    """A subagent failed."""

    subagent_run_id: str
    message: str
    code: str | None = None


class Raw(Event, tag="RAW"):
    """An event of another system, passed on."""

    event: Any
    source: str | None = None


class Custom(Event, tag="CUSTOM"):
    """An event of any other kind, under a name."""

    name: str
    value: Any = None


AnyEvent = (
    RunStarted | RunFinished | RunError | StepStarted | StepFinished
    | TextMessageStart | TextMessageContent | TextMessageEnd | TextMessageChunk
    | ToolCallStart | ToolCallArgs | ToolCallEnd | ToolCallChunk | ToolCallResult
    | StateSnapshot | StateDelta | MessagesSnapshot | ActivitySnapshot | ActivityDelta
    | ReasoningStart | ReasoningMessageStart | ReasoningMessageContent | ReasoningMessageEnd
    | ReasoningMessageChunk | ReasoningEnd | ReasoningEncryptedValue
    | SubagentStarted | SubagentFinished | SubagentError | Raw | Custom
)  # fmt: skip
