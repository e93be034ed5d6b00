"""The AG-UI events this server sends, as small frozen structs that encode straight to the wire's JSON.

Only shapes that 0.0.59 and 1.0 clients both accept (docs/clients.md#shapes),
except where a docstring says "1.0 only". Absent means absent: nothing here ever encodes to null.

``subagent_run_id`` says which sub-agent an event belongs to: the id of the call that delegated its task. None is the
agent that clients post to. What is of the run alone has no such member (EVT-6).
"""

from typing import Any, Literal, dataclass_transform

import msgspec

PROTOCOL_VERSION = "1.0"
"""The version that RUN_STARTED tells everybody (VER-1)."""
METADATA = "agui-gate"
"""Our key in AG-UI's ``metadata`` (META-1)."""


# Tells type checkers what msgspec does at run time: subclasses of a frozen struct are frozen.
@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel", tag_field="type"):
    """The base of all events."""


class RunStarted(Event, tag="RUN_STARTED"):
    """Opens the stream, with the ids of the request."""

    thread_id: str
    run_id: str
    protocol_version: str


class TextMessageStart(Event, tag="TEXT_MESSAGE_START"):
    """An assistant message begins. ``name`` is the agent that says it, where that is not the entry agent."""

    message_id: str
    role: str
    subagent_run_id: str | None = None
    name: str | None = None


class TextMessageContent(Event, tag="TEXT_MESSAGE_CONTENT"):
    """A piece of text, never empty."""

    message_id: str
    delta: str
    subagent_run_id: str | None = None


class TextMessageEnd(Event, tag="TEXT_MESSAGE_END"):
    """The message is complete."""

    message_id: str
    subagent_run_id: str | None = None


class ToolCallStart(Event, tag="TOOL_CALL_START"):
    """A call begins, shown on the assistant message ``parent_message_id``."""

    tool_call_id: str
    tool_call_name: str
    parent_message_id: str
    subagent_run_id: str | None = None


class ToolCallArgs(Event, tag="TOOL_CALL_ARGS"):
    """A piece of the call's JSON arguments."""

    tool_call_id: str
    delta: str
    subagent_run_id: str | None = None


class ToolCallEnd(Event, tag="TOOL_CALL_END"):
    """The arguments are complete. The chip still runs until its result."""

    tool_call_id: str
    subagent_run_id: str | None = None


class ToolCallResult(Event, tag="TOOL_CALL_RESULT"):
    """The result of a call. This is what ends a chip."""

    message_id: str
    tool_call_id: str
    content: str
    role: str
    metadata: dict[str, Any] | None = None
    subagent_run_id: str | None = None


class ReasoningStart(Event, tag="REASONING_START"):
    """A reasoning span begins."""

    message_id: str
    subagent_run_id: str | None = None


class ReasoningMessageStart(Event, tag="REASONING_MESSAGE_START"):
    """Visible reasoning begins."""

    message_id: str
    role: str
    subagent_run_id: str | None = None


class ReasoningMessageContent(Event, tag="REASONING_MESSAGE_CONTENT"):
    """A piece of visible reasoning."""

    message_id: str
    delta: str
    subagent_run_id: str | None = None


class ReasoningMessageEnd(Event, tag="REASONING_MESSAGE_END"):
    """Visible reasoning is complete."""

    message_id: str
    subagent_run_id: str | None = None


class ReasoningEnd(Event, tag="REASONING_END"):
    """The reasoning span is complete."""

    message_id: str
    subagent_run_id: str | None = None


class ReasoningEncryptedValue(Event, tag="REASONING_ENCRYPTED_VALUE"):
    """The sealed form of a reasoning message, to survive in client histories (B16)."""

    subtype: Literal["message", "tool-call"]
    entity_id: str
    encrypted_value: str
    subagent_run_id: str | None = None


class StateSnapshot(Event, tag="STATE_SNAPSHOT"):
    """The whole shared state, as it is now."""

    snapshot: Any
    subagent_run_id: str | None = None


class StateDelta(Event, tag="STATE_DELTA"):
    """A change of the shared state, as a JSON Patch."""

    delta: list[dict[str, Any]]
    subagent_run_id: str | None = None


class MessagesSnapshot(Event, tag="MESSAGES_SNAPSHOT"):
    """The whole conversation as the client should show it."""

    messages: list[dict[str, Any]] | msgspec.Raw


class ActivitySnapshot(Event, tag="ACTIVITY_SNAPSHOT"):
    """The state of an activity of a tool. The same message id again replaces what was shown."""

    message_id: str
    activity_type: str
    content: dict[str, Any]
    replace: bool | None = None
    subagent_run_id: str | None = None


class ActivityDelta(Event, tag="ACTIVITY_DELTA"):
    """A change of what an activity shows, as a JSON Patch."""

    message_id: str
    activity_type: str
    patch: list[dict[str, Any]]
    subagent_run_id: str | None = None


class Custom(Event, tag="CUSTOM"):
    """An event of any other kind, under a namespaced name."""

    name: str
    value: Any
    subagent_run_id: str | None = None


class SubagentStarted(Event, tag="SUBAGENT_STARTED"):
    """A sub-agent begins, or goes on in this run. Before its first event; its parent was announced before."""

    subagent_run_id: str
    name: str
    description: str | None = None
    parent_subagent_run_id: str | None = None
    parent_tool_call_id: str | None = None


class SubagentSuccess(Event, tag="success"):
    """The outcome of a sub-agent that has done its task."""


class SubagentSuspended(Event, tag="suspended"):
    """Something inside waits; a later run goes on with it."""

    interrupt_ids: tuple[str, ...] = ()


class SubagentFinished(Event, tag="SUBAGENT_FINISHED"):
    """A sub-agent has ended, in this run at least."""

    subagent_run_id: str
    outcome: SubagentSuccess | SubagentSuspended


class SubagentError(Event, tag="SUBAGENT_ERROR"):
    """A sub-agent has failed. The run goes on."""

    subagent_run_id: str
    message: str
    code: str


class Interrupt(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """Something that waits for a person."""

    id: str
    reason: str
    tool_call_id: str
    message: str | None = None
    response_schema: dict[str, Any] | None = None
    expires_at: str | None = None
    metadata: dict[str, Any] | None = None
    subagent_run_id: str | None = None


class InterruptOutcome(Event, tag="interrupt"):
    """The run waits for answers to these."""

    interrupts: tuple[Interrupt, ...]


class SuccessOutcome(Event, tag="success"):
    """The run is over. ``pending_tool_call_ids`` is 1.0 only."""

    pending_tool_call_ids: tuple[str, ...] = ()


class CancelledOutcome(Event, tag="cancelled"):
    """The run was stopped. 1.0 only: a 0.0.59 client can't parse it."""


Finished = InterruptOutcome | SuccessOutcome
"""The outcome of a run that comes to its own end."""

Outcome = Finished | CancelledOutcome


class RunFinished(Event, tag="RUN_FINISHED"):
    """The run ended without failing. ``metadata`` says why a cancelled one was stopped."""

    thread_id: str
    run_id: str
    result: Any = None
    outcome: Outcome | None = None
    usage: tuple[Any, ...] = ()
    metadata: dict[str, Any] | None = None


class RunError(Event, tag="RUN_ERROR"):
    """The run failed, with one of the codes of docs/errors.md."""

    message: str
    code: str
    usage: tuple[Any, ...] = ()
