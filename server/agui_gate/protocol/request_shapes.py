"""The shapes of AG-UI 1.x that a request is made of, exactly as its schema has them.

These structs are narrower forms of those in `run_input.py`, so what is decoded into them needs no copy. They refuse
what the schema refuses: members that it doesn't know, members that are missing, null, or of another type (PROC-1). A
request that fits is clean, in this generation and in the one before. What to do with one that doesn't is in
`lenient_request.py`.

Three things are no part of the schema of 1.0, and are read from everybody. These are `function_approvals` of a message,
the retired part `binary` (VER-9), and the type of a sealed value, which is of 1.1 (REAS-5).
"""

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agui_gate.protocol.run_input import ClientTool, ContextItem, FunctionCall, Message, ResumeEntry, RunInput, ToolCall

ABSENT: Any = msgspec.field(default=None)
"""The default of a member that may be left out. Its type has no null, so none is taken where it is sent."""

Metadata = dict[str, Any]
NotNull = bool | int | float | str | list[Any] | dict[str, Any]

if TYPE_CHECKING:
    NoMember = Any
else:
    NoMember = msgspec.UnsetType  # nothing in JSON is of this type: who sends the member is refused


class FunctionShape(FunctionCall, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """`FunctionCall`."""

    arguments: str


class CallShape(ToolCall, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`ToolCall`."""

    type: Literal["function"]
    function: FunctionShape
    encrypted_value: str = ABSENT
    encrypted_value_type: str = ABSENT
    metadata: Metadata = ABSENT


Parts = list[dict[str, Any]]
"""Parts as they are decoded: they are kept as they came, and looked at one by one where there are any."""


_APPROVALS: Any = msgspec.field(default=None, name="function_approvals")


class MessageShape(
    Message, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="role"
):
    """The members that all messages have, and those that none has but where a role says so."""

    role: NoMember = msgspec.field(default=None, name=" role")
    """Made from the tag: its own name is none that is sent."""
    id: str
    subagent_run_id: str = ABSENT
    metadata: Metadata = ABSENT
    tool_calls: NoMember = ABSENT
    tool_call_id: NoMember = ABSENT
    error: NoMember = ABSENT
    name: NoMember = ABSENT
    encrypted_value: NoMember = ABSENT
    encrypted_value_type: NoMember = ABSENT
    function_approvals: NoMember = _APPROVALS


class _NamedShape(MessageShape, frozen=True, gc=False, kw_only=True, rename="camel"):
    name: str = ABSENT
    encrypted_value: str = ABSENT
    encrypted_value_type: str = ABSENT
    function_approvals: list[Any] = _APPROVALS


class SystemShape(_NamedShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="system"):
    """`SystemMessage`."""

    role: NoMember = msgspec.field(default="system", name=" role")
    content: str


class DeveloperShape(SystemShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="developer"):
    """`DeveloperMessage`."""

    role: NoMember = msgspec.field(default="developer", name=" role")


class UserShape(_NamedShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="user"):
    """`UserMessage`."""

    role: NoMember = msgspec.field(default="user", name=" role")
    content: str | Parts


class AssistantShape(MessageShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="assistant"):
    """`AssistantMessage`."""

    role: NoMember = msgspec.field(default="assistant", name=" role")
    content: str = ABSENT
    name: str = ABSENT
    encrypted_value: str = ABSENT
    encrypted_value_type: str = ABSENT
    tool_calls: tuple[CallShape, ...] = ABSENT


class ToolShape(MessageShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="tool"):
    """`ToolMessage`."""

    role: NoMember = msgspec.field(default="tool", name=" role")
    content: str | Parts
    tool_call_id: str
    error: str = ABSENT
    encrypted_value: str = ABSENT
    encrypted_value_type: str = ABSENT


class ActivityShape(MessageShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="activity"):
    """`ActivityMessage`."""

    role: NoMember = msgspec.field(default="activity", name=" role")
    activity_type: str
    content: dict[str, Any]


class ReasoningShape(MessageShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="reasoning"):
    """`ReasoningMessage`."""

    role: NoMember = msgspec.field(default="reasoning", name=" role")
    content: str
    encrypted_value: str = ABSENT
    encrypted_value_type: str = ABSENT


AnyMessage = (
    UserShape | AssistantShape | ToolShape | SystemShape | DeveloperShape | ActivityShape | ReasoningShape
)  # fmt: skip


# The messages that nearly all are: text and calls of nothing else. Of a request of these there is nothing to look into.


class PlainCallShape(CallShape, frozen=True, gc=False, kw_only=True, rename="camel"):
    """`ToolCall`."""

    encrypted_value: NoMember = ABSENT
    encrypted_value_type: NoMember = ABSENT
    metadata: NoMember = ABSENT


class PlainShape(MessageShape, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A message without anything that is seldom there."""

    subagent_run_id: NoMember = ABSENT
    metadata: NoMember = ABSENT


class PlainUserShape(PlainShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="user"):
    """`UserMessage`."""

    role: NoMember = msgspec.field(default="user", name=" role")
    content: str


class PlainAssistantShape(PlainShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="assistant"):
    """`AssistantMessage`."""

    role: NoMember = msgspec.field(default="assistant", name=" role")
    content: str = ABSENT
    tool_calls: tuple[PlainCallShape, ...] = ABSENT


class PlainToolShape(PlainShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="tool"):
    """`ToolMessage`."""

    role: NoMember = msgspec.field(default="tool", name=" role")
    content: str
    tool_call_id: str


class PlainSystemShape(PlainShape, frozen=True, gc=False, kw_only=True, rename="camel", tag="system"):
    """`SystemMessage`."""

    role: NoMember = msgspec.field(default="system", name=" role")
    content: str


PlainMessage = PlainUserShape | PlainAssistantShape | PlainToolShape | PlainSystemShape


class FrontendToolShape(ClientTool, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`Tool`."""

    description: str
    parameters: NotNull = ABSENT
    metadata: Metadata = ABSENT


class ContextShape(ContextItem, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`Context`."""

    description: str
    value: str


class ResumeShape(ResumeEntry, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`ResumeEntry`."""

    payload: NotNull = ABSENT
    metadata: Metadata = ABSENT


class InputShape(RunInput, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`RunAgentInput`."""

    messages: list[AnyMessage]  # type: ignore[assignment]  # lists that are only read
    protocol_version: str = ABSENT
    parent_run_id: str = ABSENT
    state: NotNull = ABSENT
    tools: list[FrontendToolShape] = ABSENT  # type: ignore[assignment]  # the same
    context: list[ContextShape] = ABSENT  # type: ignore[assignment]  # the same
    forwarded_props: NotNull = ABSENT
    unread: NoMember = msgspec.field(default=None, name=" unread")
    sent: NoMember = msgspec.field(default=None, name=" sent")
    resume: list[ResumeShape] = ABSENT  # type: ignore[assignment]  # the same


class PlainInputShape(InputShape, frozen=True, kw_only=True, rename="camel"):
    """`RunAgentInput` with plain messages."""

    messages: list[PlainMessage]  # type: ignore[assignment]  # lists that are only read
