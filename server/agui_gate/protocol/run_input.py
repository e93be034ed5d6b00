"""The input of a run: the parts of `RunAgentInput` that this server reads, and what none may exceed.

These structs are what clients from before versions may send, as far as it is understood. So they are lenient: a message
may lack its `id`, and null stands for absent. What clients of 1.x may send is narrower (`request_shapes.py`). Bytes
become these structs in `request_decoder.py`.

Extra members: what comes in with a message and is of no use to a model is kept beside it, and restated as it came
(VER-6, STATE-2; `snapshot.with_more`). It is a JSON object whose members are added to what is made of the rest; None
where there is nothing to add. Members of other types than AG-UI's are left out, and so is a type of a sealed value
without its value.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal

import msgspec

from agui_gate.core.json_text import is_deeper
from agui_gate.core.transcript import Content, Media, Text
from agui_gate.errors import InvalidRequest, TooLarge

MAX_DEPTH = 64
MAX_ID = 256
MAX_MESSAGES = 10_000
MAX_TOOLS = 1_000
MAX_CONTEXT = 10_000
MAX_ANSWERS = 1_000
"""Answers to approvals in one request. More calls than a turn may make can't be waiting."""

Role = Literal["user", "assistant", "tool", "system", "developer", "activity", "reasoning"]
_MEDIA = ("image", "audio", "video", "document")


_TYPES: Mapping[str, type] = {
    "name": str,
    "metadata": dict,
    "subagentRunId": str,
    "encryptedValue": str,
    "encryptedValueType": str,
    "content": str,
}

_PART = "{}"
"""Beside a text that came as a part, and not as a plain string: it has no other members."""


class FunctionCall(msgspec.Struct, frozen=True, gc=False):
    """Name and JSON arguments of a call in a client's history."""

    name: str
    arguments: str | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A call in a client's history."""

    id: str
    function: FunctionCall
    metadata: Any = None
    encrypted_value: Any = None
    encrypted_value_type: Any = None

    @property
    def more(self) -> str | None:
        """The members that are kept beside it: see the module."""
        if self.metadata is None and self.encrypted_value is None:
            return None
        return _more(
            metadata=self.metadata,
            encryptedValue=self.encrypted_value,
            encryptedValueType=self.encrypted_value_type,
        )


class Message(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A message of a client's history, of any role."""

    role: Role
    id: str | None = None
    content: Any = None
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None
    error: str | None = None
    encrypted_value: str | None = None
    encrypted_value_type: Any = None
    name: Any = None
    metadata: Any = None
    subagent_run_id: Any = None
    function_approvals: list[Any] | None = msgspec.field(default=None, name="function_approvals")

    @property
    def text(self) -> str:
        """The content as plain text."""
        if self.content is None or type(self.content) is str:
            return self.content or ""
        return "".join(part.text for part in parts(self.content) if isinstance(part, Text))

    def more(self, blank: bool = False) -> str | None:
        """Returns the members that are kept beside it: see the module. ``blank``: its content, too, without a
        text.
        """
        blank = blank and self.content is not None
        if not (self.name or self.metadata is not None or self.encrypted_value or self.subagent_run_id or blank):
            return None
        return _more(
            name=self.name,
            metadata=self.metadata,
            subagentRunId=self.subagent_run_id,
            encryptedValue=self.encrypted_value,
            encryptedValueType=self.encrypted_value_type,
            content=self.content if blank else None,
        )


class ClientTool(msgspec.Struct, frozen=True):
    """A tool that the client runs itself."""

    name: str
    description: str | None = None
    parameters: Any = None


class ContextItem(msgspec.Struct, frozen=True):
    """Ambient information for the run."""

    value: Any = None
    description: str | None = None


class ResumeEntry(msgspec.Struct, frozen=True, rename="camel"):
    """An answer, as an entry of `resume[]`."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class Unread(msgspec.Struct, frozen=True):
    """The unread part of a request, which this version doesn't know: ``number`` places, of which the first are
    named.
    """

    paths: tuple[str, ...]
    number: int


class RunInput(msgspec.Struct, frozen=True, rename="camel"):
    """A checked `RunAgentInput`. ``sent``: of a long one, what is kept of its messages (`sent_messages.py`)."""

    thread_id: str
    run_id: str
    messages: list[Message]
    protocol_version: str | None = None
    state: Any = None
    tools: list[ClientTool] | None = None
    context: list[ContextItem] | None = None
    forwarded_props: Any = None
    resume: list[ResumeEntry] | None = None
    unread: Unread | None = None
    sent: Any = None

    @property
    def client_tools(self) -> dict[str, ClientTool]:
        """The client's tools by name."""
        return {tool.name: tool for tool in self.tools} if self.tools else {}


def check_id(value: str, what: str) -> None:
    """Raises `InvalidRequest` unless ``value`` can be an id: 1 to `MAX_ID` characters, no control characters."""
    if not 0 < len(value) <= MAX_ID:
        raise InvalidRequest(f"{what} must have 1 to {MAX_ID} characters.", well_formed=True)
    if not value.isprintable():
        raise InvalidRequest(f"{what} must not contain control characters.", well_formed=True)


def check_depth(value: Any) -> None:
    """Raises `InvalidRequest` if ``value`` nests deeper than `MAX_DEPTH`."""
    if is_deeper(value, MAX_DEPTH):
        raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.", well_formed=True)


def parts(content: Any, path: str = "content") -> tuple[Content, ...]:
    """Returns a message's content as parts. Raises `InvalidRequest` (naming ``path``) for what is neither text nor a
    part.

    Only shapes are looked at. What a part holds never refuses a request, since clients send it again with every run:
    see `agui_gate.core.media`.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        raise InvalidRequest(f"{path}: message content must be text or a list of parts.", well_formed=True)
    found = []
    for place, part in enumerate(content):
        try:
            found.append(one_part(part))
        except InvalidRequest as error:
            raise InvalidRequest(f"{path}[{place}]: {error.message}", well_formed=True) from None
    if len(found) == 1 and isinstance(found[0], Text):
        return (Text(found[0].text, found[0].more or _PART),)
    return tuple(found)


def says_nothing(content: Sequence[Content]) -> bool:
    """Returns whether parts hold nothing but empty texts."""
    for part in content:  # noqa: SIM110  (it is asked of each message of a history)
        if isinstance(part, Media) or part.text:
            return False
    return True


def one_part(part: Any) -> Content:
    """Returns one part of a content. Raises `InvalidRequest` for what is none."""
    kind: Any = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"], _more_of_part(part))
    if kind == "binary":
        return _binary(part)
    source = part.get("source") if kind in _MEDIA else None
    if not isinstance(source, dict):
        raise InvalidRequest(f"A content part has an unknown or incomplete type: {str(kind)[:40]!r}", well_formed=True)
    where, value, mime = source.get("type"), source.get("value"), _mime_type(source)
    provider = source.get("provider") if where == "file" else None
    if where not in ("data", "url", "file") or not isinstance(value, str) or not isinstance(mime, str | None):
        raise InvalidRequest("A media part needs a source of type data, url or file with a value.", well_formed=True)
    return Media(kind, where, value, mime, provider if isinstance(provider, str) else None, _more_of_part(part))


def _binary(part: dict[str, Any]) -> Media:
    """Returns the legacy part of old clients, upgraded."""
    mime = _mime_type(part)
    family = mime.split("/")[0] if isinstance(mime, str) else ""
    kind: Any = family if family in ("image", "audio", "video") else "document"
    for key, source in (("data", "data"), ("url", "url"), ("id", "file")):
        if isinstance(part.get(key), str) and isinstance(mime, str):
            where: Any = source
            return Media(kind, where, part[key], mime)
    raise InvalidRequest("A binary part needs mimeType and one of data, url, id.", well_formed=True)


def _mime_type(item: dict[str, Any]) -> Any:
    from agui_gate.protocol.member_names import member  # which texts have no use for

    return member(item, "mimeType", "mime_type")


def _more(**members: Any) -> str | None:
    """Returns these members of a message or a call, as far as it has them."""
    found = {name: value for name, value in members.items() if isinstance(value, _TYPES[name])}
    if "encryptedValue" not in found:
        found.pop("encryptedValueType", None)
    return _json(found)


def _more_of_part(part: Mapping[str, Any]) -> str | None:
    """Returns the members of a part that say nothing to a model."""
    found = {}
    if isinstance(part.get("id"), str):
        found["id"] = part["id"]
    if part.get("metadata") is not None:
        found["metadata"] = part["metadata"]
    return _json(found)


def _json(members: Mapping[str, Any]) -> str | None:
    return msgspec.json.encode(members).decode() if members else None


def check_run(value: RunInput) -> None:
    """Checks what no shape says, but of messages: ids, numbers, depths. Raises `InvalidRequest` or `TooLarge`."""
    check_id(value.thread_id, "threadId")
    check_id(value.run_id, "runId")
    if len(value.messages) > MAX_MESSAGES:
        raise TooLarge(f"A run accepts at most {MAX_MESSAGES:,} messages; send fewer (the server keeps the thread).")
    _check_numbers(value)
    extras = [value.state, value.forwarded_props]
    extras += [entry.payload for entry in value.resume or ()]
    extras += [tool.parameters for tool in value.tools or ()]
    extras += [item.value for item in value.context or ()]
    for extra in filter(None, extras):
        check_depth(extra)


_approvals = attrgetter("function_approvals")


def _check_numbers(value: RunInput) -> None:
    answers = len(value.resume or ()) + sum(map(len, filter(None, map(_approvals, value.messages))))
    for what, number, most in (
        ("answers", answers, MAX_ANSWERS),
        ("tools", len(value.tools or ()), MAX_TOOLS),
        ("items of context", len(value.context or ()), MAX_CONTEXT),
    ):
        if number > most:
            raise TooLarge(f"A run accepts at most {most:,} {what}.")


def check_message(message: Message, path: str) -> None:
    """Checks what no shape says of one message. Raises `InvalidRequest`, naming ``path``."""
    content = message.content
    if content is not None and not isinstance(content, str) and message.role != "activity":
        check_depth(content)
        parts(content, f"{path}.content")
    if message.metadata is not None:
        check_depth(message.metadata)
    for call in message.tool_calls or ():
        if call.metadata is not None:
            check_depth(call.metadata)
    if message.function_approvals:
        check_depth(message.function_approvals)
