"""The provider's events as structs: decoded once, and only the members that something here reads.

Rare and large members (`item`, `response`, …) stay raw bytes until somebody asks. A shape that is wrong never fails a
run by itself: what can't be read is as if it were absent, since servers that imitate this API differ in details.
"""

from typing import Any

import msgspec

from agui_gate.errors import ProviderUnavailable

_NOTHING = msgspec.Raw()


class WireEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of the stream, whatever its type."""

    type: str = ""
    delta: str | None = None
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | None = None
    code: str | None = None
    message: str | None = None
    annotation: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING
    item: msgspec.Raw = _NOTHING
    response: msgspec.Raw = _NOTHING


class Piece(msgspec.Struct, frozen=True):
    """A content or summary part of an item."""

    type: str = ""
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct, frozen=True):
    """An output item. Which members mean something depends on its type."""

    type: str = ""
    id: str | None = None
    status: str | None = None
    phase: str | None = None
    content: list[Piece] | None = None
    summary: list[Piece] | None = None
    encrypted_content: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    server_label: str | None = None
    approval_request_id: str | None = None
    output: Any = None
    error: Any = None
    action: Any = None
    queries: Any = None
    results: Any = None
    code: str | None = None
    outputs: Any = None
    result: str | None = None
    revised_prompt: str | None = None
    output_format: str | None = None
    tools: list[dict[str, Any]] | None = None

    @property
    def arguments_text(self) -> str:
        """The arguments as JSON text; "" when there are none. (Some servers send the object itself.)"""
        if isinstance(self.arguments, dict):
            return msgspec.json.encode(self.arguments).decode()
        return self.arguments or ""


class _ItemHead(msgspec.Struct, frozen=True):
    type: str = ""
    id: str | None = None
    status: str | None = None


class ErrorBody(msgspec.Struct, frozen=True):
    """An error as it comes in `error` events and failed responses."""

    code: str | int | None = None
    message: str | None = None
    type: str | None = None
    param: str | None = None


class _InputDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None


class _OutputDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: int | None = None


class UsageBody(msgspec.Struct, frozen=True):
    """Token counts of a response."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Incomplete(msgspec.Struct, frozen=True):
    reason: str | None = None


class ResponseBody(msgspec.Struct, frozen=True):
    """A response object, as terminal events carry it."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    error: ErrorBody | None = None
    incomplete_details: _Incomplete | None = None
    usage: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING


_event = msgspec.json.Decoder(WireEvent)
_item = msgspec.json.Decoder(Item)
_item_head = msgspec.json.Decoder(_ItemHead)
_error = msgspec.json.Decoder(ErrorBody)
_response = msgspec.json.Decoder(ResponseBody)
_usage = msgspec.json.Decoder(UsageBody)
_raw_list = msgspec.json.Decoder(list[msgspec.Raw])

_TEXTS = ("type", "delta", "item_id", "text", "refusal", "arguments", "code", "message")
_NUMBERS = ("output_index", "content_index", "summary_index")
_RAWS = ("annotation", "error", "item", "response")


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
        members = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return WireEvent()
    known: dict[str, Any] = {name: members[name] for name in _RAWS if name in members}
    for names, wanted in ((_TEXTS, str), (_NUMBERS, int)):
        for name in names:
            value = _value(members[name]) if name in members else None
            if type(value) is wanted:
                known[name] = value
    return WireEvent(**known)


def _value(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:  # a number out of range
        return None


def decode_item(raw: msgspec.Raw) -> Item:
    """An output item; of one with unexpected members only type, id and status; nothing at all becomes an empty one."""
    try:
        return _item.decode(raw)
    except msgspec.DecodeError:
        pass
    try:
        head = _item_head.decode(raw)
    except msgspec.DecodeError:
        return Item()
    return Item(type=head.type, id=head.id, status=head.status)


def decode_response(raw: msgspec.Raw) -> ResponseBody:
    """A response object; an empty one when it can't be read."""
    try:
        return _response.decode(raw)
    except msgspec.DecodeError:
        return ResponseBody()


def decode_usage(raw: msgspec.Raw) -> UsageBody | None:
    """Token counts; None when there are none, or none that can be read."""
    try:
        return _usage.decode(raw)
    except msgspec.DecodeError:
        return None


def decode_output(raw: msgspec.Raw) -> list[Item]:
    """The items of a response object."""
    try:
        return [decode_item(item) for item in _raw_list.decode(raw)]
    except msgspec.DecodeError:
        return []


def decode_error(event: WireEvent) -> ErrorBody:
    """The error of an `error` event, which is nested under `error` or flat (both exist)."""
    try:
        return _error.decode(event.error)
    except msgspec.DecodeError:
        return ErrorBody(code=event.code, message=event.message)


def decode_any(raw: msgspec.Raw) -> Any:
    """Any JSON value; None when it can't be read."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return None
