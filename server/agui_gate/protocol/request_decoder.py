"""Decodes the bytes of a request to what it brings (`run_input.py`).

Decoded with msgspec rather than with the protocol package's pydantic models: a history of 1,000 messages costs under a
millisecond instead of nine. A clean request of either generation is one call of a decoder, by the exact shapes of the
specification (`request_shapes.py`). Only what doesn't fit them is read member by member (`lenient_request.py`).
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import msgspec

from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.errors import InvalidRequest
from agui_gate.protocol.dialects.base import is_newer
from agui_gate.protocol.request_shapes import InputShape, PlainInputShape
from agui_gate.protocol.run_input import MAX_DEPTH, Message, RunInput, check_depth, check_message, check_run

_exactly, _plainly = msgspec.json.Decoder(InputShape), msgspec.json.Decoder(PlainInputShape)
_members = attrgetter(*RunInput.__struct_fields__)

SHOWN = 40
"""Characters of a declared version that are told."""


def decode(body: bytes) -> RunInput:
    """Decodes and checks a request body. Raises `InvalidRequest` or `TooLarge`, naming the path and never the content.

    `RunInput.unread` says what went unread because this version doesn't know it.
    """
    try:
        run = clean(body) or _read(_json(body))
    except RecursionError:
        raise _too_deep() from None
    check_run(run)
    return run


def oddities(run: RunInput) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what is odd in a request and no reason to refuse it, for the log.

    That is a version that is newer than ours (VER-3, VER-4), and what went unread (PROC-4).
    """
    version = None if run.protocol_version is None else run.protocol_version[:SHOWN]
    if is_newer(run.protocol_version):
        yield "newer_version", {"thread": run.thread_id, "asked": version, "ours": PROTOCOL_VERSION}
    if run.unread is not None:
        paths, number = " ".join(run.unread.paths), run.unread.number
        said = {"thread": run.thread_id, "run": run.run_id, "version": version, "paths": paths, "number": number}
        yield "input_not_all_read", said


def decode_json(body: bytes) -> Any:
    """Decodes any other JSON body. Raises `InvalidRequest`."""
    try:
        value = _json(body)
    except RecursionError:
        raise _too_deep() from None
    check_depth(value)
    return value


def clean(body: bytes) -> RunInput | None:
    """Returns the request, if it is exactly as the specification has it. Raises `InvalidRequest` for a message that
    has what no shape says, and `RecursionError`. Its other members are not checked: see `check_run`.
    """
    try:
        try:
            sent: RunInput = _plainly.decode(body)
        except msgspec.ValidationError:
            sent = _exactly.decode(body)
            for place, message in enumerate(sent.messages):
                _look_into(message, place)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return RunInput(*_members(sent))


def _read(sent: Any) -> RunInput:
    """Returns a request that is not exactly as the specification has it: few clients send one."""
    from agui_gate.protocol.lenient_request import read

    return read(sent)


def _look_into(message: Message, place: int) -> None:
    """Checks what the decoder has left as it came. Raises `msgspec.ValidationError` or `InvalidRequest`."""
    for call in message.tool_calls or ():
        if call.metadata is not None:
            check_depth(call.metadata)
    content = message.content
    if isinstance(content, list):
        from agui_gate.protocol.part_shapes import PartShape

        msgspec.convert(content, list[PartShape])
    if isinstance(content, list | dict) or message.function_approvals or message.metadata is not None:
        check_message(message, f"messages[{place}]")


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.ValidationError:
        raise InvalidRequest("The body has a number that is out of range.", well_formed=True) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}") from None


def _too_deep() -> InvalidRequest:
    return InvalidRequest(f"The body is nested deeper than {MAX_DEPTH} levels.")
