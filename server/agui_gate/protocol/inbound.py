"""`RunAgentInput` → ours.

Decoded with msgspec rather than with the protocol package's pydantic models: a history of 1,000 messages costs under a
millisecond instead of nine, and unknown fields are left out instead of carried along. Members may be spelled in
snake_case as well: see `spelling.py` for the fields named ``snake_…``.

Divergences from the 1.0 models, all towards leniency: a message may lack its `id`; legacy `binary` parts are read as
media parts; nulls stand for absent. Unknown roles, wrong types, nesting beyond `MAX_DEPTH` and over-long ids are
refused with `InvalidRequest`.
"""

from typing import Any, Literal

import msgspec

from agui_gate.core.transcript import Content, Media, Text
from agui_gate.errors import InvalidRequest, TooLarge
from agui_gate.protocol.spelling import member, one_spelling

MAX_DEPTH = 64
MAX_ID = 256
MAX_MESSAGES = 10_000
MAX_TOOLS = 1_000
MAX_CONTEXT = 10_000
MAX_ANSWERS = 1_000
"""Answers to approvals in one request. More calls than a turn may make can't be waiting."""

Role = Literal["user", "assistant", "tool", "system", "developer", "activity", "reasoning"]
_MEDIA = ("image", "audio", "video", "document")


class FunctionCall(msgspec.Struct, frozen=True, gc=False):
    """Name and JSON arguments of a call in a client's history."""

    name: str
    arguments: str | None = None


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A call in a client's history."""

    id: str
    function: FunctionCall


class Message(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A message of a client's history, of any role."""

    role: Role
    id: str | None = None
    content: Any = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    error: str | None = None
    encrypted_value: str | None = None
    function_approvals: list[Any] | None = msgspec.field(default=None, name="function_approvals")
    snake_tool_calls: list[ToolCall] | None = msgspec.field(default=None, name="tool_calls")
    snake_tool_call_id: str | None = msgspec.field(default=None, name="tool_call_id")
    snake_encrypted_value: str | None = msgspec.field(default=None, name="encrypted_value")

    @property
    def text(self) -> str:
        """The content as plain text."""
        return "".join(part.text for part in parts(self.content) if isinstance(part, Text))


class ClientTool(msgspec.Struct, frozen=True):
    """A tool that the client runs itself."""

    name: str
    description: str | None = None
    parameters: Any = None


class ContextItem(msgspec.Struct, frozen=True):
    """Ambient information for the run."""

    value: Any = None
    description: str | None = None


class ResumeEntry(msgspec.Struct, frozen=True):
    """One answer of `resume[]`."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunInput(msgspec.Struct, frozen=True):
    """A checked `RunAgentInput`."""

    thread_id: str
    run_id: str
    messages: list[Message]
    protocol_version: str | None = None
    state: Any = None
    tools: list[ClientTool] | None = None
    context: list[ContextItem] | None = None
    forwarded_props: Any = None
    resume: list[ResumeEntry] | None = None

    @property
    def client_tools(self) -> dict[str, ClientTool]:
        """The client's tools by name."""
        return {tool.name: tool for tool in self.tools or ()}


class _SentAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A `ResumeEntry` as it is sent."""

    status: Literal["resolved", "cancelled"]
    interrupt_id: str | None = None
    payload: Any = None
    snake_interrupt_id: str | None = msgspec.field(default=None, name="interrupt_id")


class _Sent(msgspec.Struct, frozen=True, rename="camel"):
    """A `RunInput` as it is sent."""

    messages: list[Message]
    thread_id: str | None = None
    run_id: str | None = None
    protocol_version: str | None = None
    state: Any = None
    tools: list[ClientTool] | None = None
    context: list[ContextItem] | None = None
    forwarded_props: Any = None
    resume: list[_SentAnswer] | None = None
    snake_thread_id: str | None = msgspec.field(default=None, name="thread_id")
    snake_run_id: str | None = msgspec.field(default=None, name="run_id")
    snake_protocol_version: str | None = msgspec.field(default=None, name="protocol_version")
    snake_forwarded_props: Any = msgspec.field(default=None, name="forwarded_props")


_decoder = msgspec.json.Decoder(_Sent)


def decode(body: bytes) -> RunInput:
    """Decode and check a request body. Raises `InvalidRequest` or `TooLarge`, naming the path and never the content."""
    try:
        value = _read(_decoder.decode(body))
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"Not a RunAgentInput: {error}", well_formed=True) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}") from None
    except RecursionError:
        raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.") from None
    _check(value)
    return value


def decode_json(body: bytes) -> Any:
    """Decode any other JSON body. Raises `InvalidRequest`."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}") from None
    except RecursionError:
        raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.") from None
    check_depth(value)
    return value


def check_id(value: str, what: str) -> None:
    """Raise `InvalidRequest` unless ``value`` can be an id: 1 to `MAX_ID` characters, no control characters."""
    if not 0 < len(value) <= MAX_ID:
        raise InvalidRequest(f"{what} must have 1 to {MAX_ID} characters.", well_formed=True)
    if not value.isprintable():
        raise InvalidRequest(f"{what} must not contain control characters.", well_formed=True)


def check_depth(value: Any) -> None:
    """Raise `InvalidRequest` if ``value`` nests deeper than `MAX_DEPTH`. Level by level: no recursion to run out of."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.", well_formed=True)


def parts(content: Any, path: str = "content") -> tuple[Content, ...]:
    """A message's content as parts. Raises `InvalidRequest` (naming ``path``) for what is neither text nor a part.

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
            found.append(_part(part))
        except InvalidRequest as error:
            raise InvalidRequest(f"{path}[{place}]: {error.message}", well_formed=True) from None
    return tuple(part for part in found if part != Text(""))


def _part(part: Any) -> Content:
    kind: Any = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind == "binary":
        return _binary(part)
    source = part.get("source") if kind in _MEDIA else None
    if not isinstance(source, dict):
        raise InvalidRequest(f"A content part has an unknown or incomplete type: {str(kind)[:40]!r}", well_formed=True)
    where, value, mime = source.get("type"), source.get("value"), member(source, "mimeType", "mime_type")
    if where not in ("data", "url", "file") or not isinstance(value, str) or not isinstance(mime, str | None):
        raise InvalidRequest("A media part needs a source of type data, url or file with a value.", well_formed=True)
    return Media(kind, where, value, mime)


def _binary(part: dict[str, Any]) -> Media:
    """The legacy part of old clients, upgraded."""
    mime = member(part, "mimeType", "mime_type")
    family = mime.split("/")[0] if isinstance(mime, str) else ""
    kind: Any = family if family in ("image", "audio", "video") else "document"
    for key, source in (("data", "data"), ("url", "url"), ("id", "file")):
        if isinstance(part.get(key), str) and isinstance(mime, str):
            where: Any = source
            return Media(kind, where, part[key], mime)
    raise InvalidRequest("A binary part needs mimeType and one of data, url, id.", well_formed=True)


def _read(sent: _Sent) -> RunInput:
    """What was sent, with each member under its one name."""
    sent = one_spelling(sent)
    messages = sent.messages
    for index, m in enumerate(messages):  # of all that a run may bring, this alone can be many: so looked at by hand
        if m.snake_tool_call_id is not None or m.snake_tool_calls is not None or m.snake_encrypted_value is not None:
            messages[index] = one_spelling(m)
    resume = None if sent.resume is None else [_read_answer(entry) for entry in sent.resume]
    return RunInput(
        _required(sent.thread_id, "threadId"),
        _required(sent.run_id, "runId"),
        messages,
        protocol_version=sent.protocol_version,
        state=sent.state,
        tools=sent.tools,
        context=sent.context,
        forwarded_props=sent.forwarded_props,
        resume=resume,
    )


def _read_answer(sent: _SentAnswer) -> ResumeEntry:
    sent = one_spelling(sent)
    return ResumeEntry(_required(sent.interrupt_id, "interruptId"), sent.status, sent.payload)


def _required(value: str | None, name: str) -> str:
    if value is None:
        raise InvalidRequest(f"Not a RunAgentInput: Object missing required field `{name}`", well_formed=True)
    return value


def _check(value: RunInput) -> None:
    check_id(value.thread_id, "threadId")
    check_id(value.run_id, "runId")
    if len(value.messages) > MAX_MESSAGES:
        raise TooLarge(f"A run takes at most {MAX_MESSAGES:,} messages; send fewer (the server keeps the thread).")
    _check_numbers(value)
    for place, message in enumerate(value.messages):
        _check_message(message, f"messages[{place}].content")
    extras = [value.state, value.forwarded_props]
    extras += [entry.payload for entry in value.resume or ()]
    extras += [tool.parameters for tool in value.tools or ()]
    extras += [item.value for item in value.context or ()]
    for extra in extras:
        check_depth(extra)


def _check_numbers(value: RunInput) -> None:
    answers = len(value.resume or ()) + sum(len(m.function_approvals) for m in value.messages if m.function_approvals)
    for what, number, most in (
        ("answers", answers, MAX_ANSWERS),
        ("tools", len(value.tools or ()), MAX_TOOLS),
        ("items of context", len(value.context or ()), MAX_CONTEXT),
    ):
        if number > most:
            raise TooLarge(f"A run takes at most {most:,} {what}.")


def _check_message(message: Message, path: str) -> None:
    content = message.content
    if content is not None and not isinstance(content, str) and message.role != "activity":
        check_depth(content)
        parts(content, path)
    if message.function_approvals:
        check_depth(message.function_approvals)
