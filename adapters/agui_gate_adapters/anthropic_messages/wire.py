"""The provider's events as structs: decoded once, and only the members that something here reads.

Rare and large members (`content_block`, `message`, …) stay raw bytes until somebody asks. A shape that is wrong never
fails a run by itself: what can't be read is as if it were absent, since hosts that imitate this API differ in details.
"""

from typing import Any

import msgspec

from agui_gate.errors import ProviderUnavailable

_NOTHING = msgspec.Raw()

Body = dict[str, Any]
"""A JSON object, as the provider sent it or on its way there."""


class Delta(msgspec.Struct, frozen=True, gc=False):
    """What a `content_block_delta` or a `message_delta` adds. Which members mean something depends on the type."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None
    citation: msgspec.Raw = _NOTHING


class WireEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of the stream, whatever its type."""

    type: str = ""
    index: int | None = None
    delta: Delta | None = None
    content_block: msgspec.Raw = _NOTHING
    message: msgspec.Raw = _NOTHING
    usage: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING


class _OutputDetails(msgspec.Struct, frozen=True):
    thinking_tokens: int | None = None


class UsageBody(msgspec.Struct, frozen=True):
    """Token counts. The three kinds of input exclude each other; later events repeat or leave out earlier counts."""

    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None

    def updated(self, newer: "UsageBody") -> "UsageBody":
        """These counts with those that ``newer`` has in their place."""
        members = {name: value for name in self.__struct_fields__ if (value := getattr(newer, name)) is not None}
        return msgspec.structs.replace(self, **members)


class MessageBody(msgspec.Struct, frozen=True):
    """The message that `message_start` begins."""

    model: str | None = None
    usage: msgspec.Raw = _NOTHING


class ErrorBody(msgspec.Struct, frozen=True):
    """What an `error` event says."""

    type: str | None = None
    code: str | None = None
    message: str | None = None


_event = msgspec.json.Decoder(WireEvent)
_delta = msgspec.json.Decoder(Delta)
_usage = msgspec.json.Decoder(UsageBody)
_message = msgspec.json.Decoder(MessageBody)
_error = msgspec.json.Decoder(ErrorBody)
_object = msgspec.json.Decoder(dict[str, Any])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])

_RAWS = ("content_block", "message", "usage", "error")


def decode_event(payload: bytes) -> WireEvent:
    """One event; it has no type if it is JSON of no use. Raises `ProviderUnavailable` for what is no JSON at all."""
    try:
        try:
            return _event.decode(payload)
        except msgspec.ValidationError:  # of what was read so far: the rest may be no JSON
            return _tolerant(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderUnavailable("The provider's stream is not readable: an event is not JSON.") from error


def _tolerant(payload: bytes) -> WireEvent:
    """The members that have the right type, of an event that has others of a wrong one."""
    try:
        members = _members.decode(payload)
    except msgspec.ValidationError:
        return WireEvent()
    known: dict[str, Any] = {name: members[name] for name in _RAWS if name in members}
    for name, wanted in (("type", str), ("index", int)):
        value = _value(members[name]) if name in members else None
        if type(value) is wanted:
            known[name] = value
    delta = _read(_delta, members["delta"]) if "delta" in members else None
    return WireEvent(**known, delta=delta)


def _value(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:  # a number out of range
        return None


def decode_object(raw: msgspec.Raw) -> Body:
    """Any JSON object; an empty one when it is none."""
    return _read(_object, raw) or {}


def decode_message(raw: msgspec.Raw) -> MessageBody:
    """A message's head; an empty one when it can't be read."""
    return _read(_message, raw) or MessageBody()


def decode_usage(raw: msgspec.Raw) -> UsageBody:
    """Token counts; none of them when they can't be read."""
    return _read(_usage, raw) or UsageBody()


def decode_error(event: WireEvent) -> ErrorBody:
    """The error of an `error` event, which is nested under `error`; proxies are known to send it flat."""
    nested: ErrorBody | None = _read(_error, event.error)
    if nested is not None:
        return nested
    try:
        return ErrorBody(message=msgspec.json.decode(event.message, type=str))
    except msgspec.DecodeError:
        return ErrorBody()


def decode_any(raw: msgspec.Raw | str) -> Any:
    """Any JSON value; None when it can't be read."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _read(decoder: "msgspec.json.Decoder[Any]", raw: bytes | msgspec.Raw) -> Any:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError:
        return None
