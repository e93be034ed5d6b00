"""The provider's events as structs. Rare and large members (`content_block`, `message`, …) stay raw until asked for."""

from typing import Any

import msgspec

from agui_gate.adapter import token_count
from agui_gate_adapters.common.json_decoder import ABSENT, decode_any, decode_or, event_decoder, inside

Body = dict[str, Any]
"""A JSON object, as the provider sent it or on its way there."""


class Delta(msgspec.Struct, frozen=True, gc=False):
    """The delta of a `content_block_delta` or a `message_delta`. Its type says which members are set."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None
    citation: msgspec.Raw = ABSENT


class WireEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of the stream, whatever its type."""

    type: str = ""
    index: int | None = None
    delta: Delta | None = None
    content_block: msgspec.Raw = ABSENT
    message: msgspec.Raw = ABSENT
    usage: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


class UsageBody(msgspec.Struct, frozen=True):
    """Token counts. The three kinds of input exclude each other; later events repeat or leave out earlier counts."""

    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None

    def updated(self, newer: "UsageBody") -> "UsageBody":
        """Returns these counts, replaced by those that ``newer`` has."""
        members = {name: value for name in self.__struct_fields__ if (value := getattr(newer, name)) is not None}
        return msgspec.structs.replace(self, **members)


class MessageBody(msgspec.Struct, frozen=True):
    """The message that `message_start` begins."""

    model: str | None = None
    usage: msgspec.Raw = ABSENT


class ErrorBody(msgspec.Struct, frozen=True):
    """The error in an `error` event."""

    type: str | None = None
    code: str | None = None
    message: str | None = None


_PATHS = {"thinking_tokens": ("output_tokens_details", "thinking_tokens")}
"""Where counts are that are not at the top."""

_message = msgspec.json.Decoder(MessageBody)
_error = msgspec.json.Decoder(ErrorBody)
_object = msgspec.json.Decoder(dict[str, Any])

decode_event = event_decoder(WireEvent)


def decode_object(raw: msgspec.Raw) -> Body:
    """Decodes any JSON object; an empty one when it is none."""
    return decode_or({}, _object, raw)


def decode_message(raw: msgspec.Raw) -> MessageBody:
    """Decodes a message's head; an empty one when it can't be read."""
    return decode_or(MessageBody(), _message, raw)


def decode_usage(raw: msgspec.Raw) -> UsageBody:
    """Decodes token counts that are valid."""
    said = decode_any(raw)
    counts = {name: token_count(inside(said, *_PATHS.get(name, (name,)))) for name in UsageBody.__struct_fields__}
    return UsageBody(**counts)


def decode_error(event: WireEvent) -> ErrorBody:
    """Decodes the error of an `error` event, nested under `error`; some proxies send it flat."""
    nested = decode_or(None, _error, event.error)
    if nested is not None:
        return nested
    try:
        return ErrorBody(message=msgspec.json.decode(event.message, type=str))
    except msgspec.DecodeError:
        return ErrorBody()
