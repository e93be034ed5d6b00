"""The provider's chunks as structs: decoded once, and only the members that something here reads.

A shape that is wrong never fails a run by itself: what can't be read is as if it were absent, since the servers that
speak this API differ in details.
"""

from typing import Any, TypeVar, get_args, get_origin

import msgspec

from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.common.failures import Told

S = TypeVar("S", bound=msgspec.Struct)

NO_ERROR = msgspec.Raw()
"""The `error` of a chunk that has none."""


class Function(msgspec.Struct, frozen=True, gc=False):
    """What is called, or a piece of it. ``arguments`` is text; some servers send the object itself."""

    name: str | None = None
    arguments: Any = None

    @property
    def text(self) -> str:
        """The arguments, or the piece of them, as JSON text; "" when there are none."""
        if isinstance(self.arguments, str):
            return self.arguments
        return "" if self.arguments is None else msgspec.json.encode(self.arguments).decode()


class CallPiece(msgspec.Struct, frozen=True, gc=False):
    """A tool call, or a piece of one."""

    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct, frozen=True, gc=False):
    """What a chunk adds to the message. ``content`` is text, or (Mistral) a list of typed pieces."""

    content: str | list[Any] | None = None
    tool_calls: list[CallPiece] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None


class Choice(msgspec.Struct, frozen=True, gc=False):
    """One answer; only the first is ever asked for."""

    delta: Delta | None = None
    finish_reason: str | None = None
    index: int | None = None


class _ReadDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None


class _WrittenDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: int | None = None


class UsageBody(msgspec.Struct, frozen=True):
    """Token counts of a response."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _ReadDetails | None = None
    completion_tokens_details: _WrittenDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's name for the cached ones."""
    cached_tokens: int | None = None
    """Kimi's."""


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One payload of the stream."""

    choices: list[Choice] | None = None
    usage: UsageBody | None = None
    error: msgspec.Raw = NO_ERROR


class _LastChoice(msgspec.Struct, frozen=True):
    usage: UsageBody | None = None


class _Groq(msgspec.Struct, frozen=True):
    usage: UsageBody | None = None


class Tail(msgspec.Struct, frozen=True):
    """What is looked for in the last chunk alone: the model's full name, and counts in unusual places."""

    model: str | None = None
    choices: list[_LastChoice] | None = None
    x_groq: _Groq | None = None

    @property
    def usage(self) -> UsageBody | None:
        """Counts inside the choice (Kimi) or the vendor's own member (Groq)."""
        if self.x_groq is not None and self.x_groq.usage is not None:
            return self.x_groq.usage
        return next((choice.usage for choice in self.choices or () if choice.usage is not None), None)


_chunk = msgspec.json.Decoder(Chunk)
_tail = msgspec.json.Decoder(Tail)


def decode_chunk(payload: bytes) -> Chunk:
    """One chunk; an empty one if it is JSON of no use. Raises `ProviderUnavailable` for what is no JSON at all."""
    try:
        try:
            return _chunk.decode(payload)
        except msgspec.ValidationError:  # of what was read so far: the rest may be no JSON
            members = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderUnavailable("The provider's stream is not readable: a chunk is not JSON.") from error
    chunk = readable(members, Chunk)
    said = members.get("error") if isinstance(members, dict) else None
    return msgspec.structs.replace(chunk, error=msgspec.Raw(msgspec.json.encode(said))) if said else chunk


def decode_tail(payload: bytes) -> Tail:
    """What else the last chunk says; nothing where it can't be read."""
    try:
        return _tail.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Tail()


def readable(value: object, kind: type[S]) -> S:
    """The members that have the right type (a number in quotes too), of an object that has others of a wrong one."""
    members = value if isinstance(value, dict) else {}
    known = {}
    for field in msgspec.structs.fields(kind):
        if field.name in members:
            known[field.name] = _readable(members[field.name], field.type, field.default)
    return kind(**known)


def _readable(value: object, kind: Any, default: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        pass
    for option in get_args(kind):
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            return readable(value, option)
        (item,) = get_args(option) if get_origin(option) is list else (None,)
        if isinstance(value, list) and isinstance(item, type) and issubclass(item, msgspec.Struct):
            return [readable(one, item) for one in value]
    return default


def told_in(payload: bytes, error: msgspec.Raw) -> tuple[Told | None, int | None]:
    """The error that a payload is, None if it is none; and its HTTP status, if it names one.

    It comes nested under `error`, as a text there, or flat (`{"object": "error", "message": …}`, `{"detail": …}`).
    """
    nested = error is not NO_ERROR and bytes(error) != b"null"
    try:
        said: Any = msgspec.json.decode(error if nested else payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = None
    if not isinstance(said, dict):
        return (Told(message=_text(said)) if nested else None), None
    message = said.get("message", said.get("detail"))
    if not nested and message is None:
        return None, None
    code, kind = said.get("code"), _text(said.get("type")).replace("invalid_request_error", "")
    return Told(_text(code) or kind, _text(message), _text(said.get("param"))), _status(code)


def _status(code: object) -> int | None:
    """A code that is really an HTTP status, as some gateways send."""
    number = int(code) if isinstance(code, str) and code.isdecimal() else code
    return number if isinstance(number, int) and 400 <= number < 600 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
