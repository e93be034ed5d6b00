"""The provider's chunks as structs."""

from typing import Any

import msgspec

from agui_gate_adapters.common.failures import ErrorReply
from agui_gate_adapters.common.json_decoder import ABSENT, decode_any, decode_or, event_decoder

Body = dict[str, Any]
"""A JSON object on its way to the provider."""


class Function(msgspec.Struct, frozen=True, gc=False):
    """A called function, or a piece of it. ``arguments`` is text; some servers send the object itself."""

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
    """The delta of a chunk. ``content`` is text, or (Mistral) a list of typed pieces."""

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


Counts = dict[str, Any]
"""Token counts of a response, under the server's own names."""


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """One payload of the stream."""

    choices: list[Choice] | None = None
    usage: Counts | None = None
    error: msgspec.Raw = ABSENT


class _LastChoice(msgspec.Struct, frozen=True):
    usage: Counts | None = None


class _Groq(msgspec.Struct, frozen=True):
    usage: Counts | None = None


class Tail(msgspec.Struct, frozen=True):
    """The members of the last chunk: the model's full name, and counts in unusual places."""

    model: str | None = None
    choices: list[_LastChoice] | None = None
    x_groq: _Groq | None = None

    @property
    def usage(self) -> Counts | None:
        """Counts inside the choice (Kimi) or the vendor's own member (Groq)."""
        if self.x_groq is not None and self.x_groq.usage is not None:
            return self.x_groq.usage
        return next((choice.usage for choice in self.choices or () if choice.usage is not None), None)


_tail = msgspec.json.Decoder(Tail)

decode_chunk = event_decoder(Chunk)


def decode_tail(payload: bytes) -> Tail:
    """Decodes the rest of the last chunk; empty where it can't be read."""
    return decode_or(Tail(), _tail, payload)


def error_in(payload: bytes, error: msgspec.Raw) -> tuple[ErrorReply | None, int | None]:
    """Returns the error in a payload, or None; and its HTTP status, if it names one.

    It comes nested under `error`, as a text there, or flat (`{"object": "error", "message": …}`, `{"detail": …}`).
    """
    nested = error is not ABSENT and bytes(error) != b"null"
    said = decode_any(error if nested else payload)
    if not isinstance(said, dict):
        return (ErrorReply(message=_text(said)) if nested else None), None
    message = said.get("message", said.get("detail"))
    if not nested and message is None:
        return None, None
    code, kind = said.get("code"), _text(said.get("type")).replace("invalid_request_error", "")
    return ErrorReply(_text(code) or kind, _text(message), _text(said.get("param"))), _status(code)


def _status(code: object) -> int | None:
    """Returns a code that is an HTTP status, as some gateways send."""
    number = int(code) if isinstance(code, str) and code.isdecimal() else code
    return number if isinstance(number, int) and 400 <= number < 600 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
