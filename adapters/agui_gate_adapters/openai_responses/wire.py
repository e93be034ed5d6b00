"""The provider's events as structs. Rare and large members (`item`, `response`, …) stay raw until asked for."""

from typing import Any

import msgspec

from agui_gate_adapters.common.json_decoder import ABSENT, decode_or, event_decoder

Body = dict[str, Any]
"""A JSON object on its way to the provider. Never holds None: null members are refused (R13)."""


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
    annotation: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT
    item: msgspec.Raw = ABSENT
    response: msgspec.Raw = ABSENT


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


class _Incomplete(msgspec.Struct, frozen=True):
    reason: str | None = None


class ResponseBody(msgspec.Struct, frozen=True):
    """A response object, as terminal events carry it."""

    id: str | None = None
    model: str | None = None
    status: str | None = None
    previous_response_id: str | None = None
    parallel_tool_calls: bool | None = None
    error: ErrorBody | None = None
    incomplete_details: _Incomplete | None = None
    usage: msgspec.Raw = ABSENT
    output: msgspec.Raw = ABSENT

    @property
    def continues_nothing(self) -> bool:
        """Whether it tells what was asked for, and a continuation is not among it."""
        return self.parallel_tool_calls is not None and not self.previous_response_id


_item = msgspec.json.Decoder(Item)
_item_head = msgspec.json.Decoder(_ItemHead)
_error = msgspec.json.Decoder(ErrorBody)
_response = msgspec.json.Decoder(ResponseBody)
_raw_list = msgspec.json.Decoder(list[msgspec.Raw])

decode_event = event_decoder(WireEvent)


def decode_item(raw: msgspec.Raw) -> Item:
    """Decodes an output item; of one with unexpected members only type, id and status; else an empty one."""
    item = decode_or(None, _item, raw)
    if item is not None:
        return item
    head = decode_or(_ItemHead(), _item_head, raw)
    return Item(type=head.type, id=head.id, status=head.status)


def decode_response(raw: msgspec.Raw) -> ResponseBody:
    """Decodes a response object; an empty one when it can't be read."""
    return decode_or(ResponseBody(), _response, raw)


def decode_output(raw: msgspec.Raw) -> list[Item]:
    """Decodes the items of a response object."""
    return [decode_item(item) for item in decode_or([], _raw_list, raw)]


def decode_error(event: WireEvent) -> ErrorBody:
    """Decodes the error of an `error` event, nested under `error` or flat (both exist)."""
    return decode_or(ErrorBody(code=event.code, message=event.message), _error, event.error)
