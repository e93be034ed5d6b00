"""A provider's JSON as structs: decoded once, and only the members that something here reads.

A shape that is wrong never fails a run by itself, since servers that imitate an API differ in details. What can't be
read is as if it were absent. Only what is no JSON at all is an error.
"""

from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from agui_gate.errors import ProviderUnavailable

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")
D = TypeVar("D")

ABSENT = msgspec.Raw()
"""What a raw member is that wasn't sent. (One that was is never empty.)"""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])
_WRONG = (msgspec.DecodeError, UnicodeError)
_UNREADABLE = (*_WRONG, RecursionError)


def event_decoder(kind: type[S]) -> Callable[[bytes], S]:
    """Returns a decoder of a stream's payloads. It raises `ProviderUnavailable` for invalid JSON.

    JSON of no use gives a struct with nothing but defaults; of one with members of a wrong type the others are read.
    """
    decode = msgspec.json.Decoder(kind).decode

    def decode_event(payload: bytes) -> S:
        try:
            try:
                return decode(payload)
            except msgspec.ValidationError:  # of what was read so far: the rest may be no JSON, or no text
                return _tolerant(payload.decode(), kind)
        except _UNREADABLE as error:
            raise ProviderUnavailable("The provider's stream is not readable: an event is not JSON.") from error

    return decode_event


def decode_or(default: D, decoder: "msgspec.json.Decoder[T]", raw: bytes | msgspec.Raw | str) -> T | D:
    """Decodes a value, or returns ``default``. Raises `RecursionError` for one that is nested too deeply."""
    try:
        return decoder.decode(raw)
    except _WRONG:
        return default


def decode_any(raw: bytes | msgspec.Raw | str) -> Any:
    """Decodes any JSON value; None when it can't be read."""
    try:
        return msgspec.json.decode(raw)
    except _UNREADABLE:
        return None


def inside(value: Any, *path: str) -> Any:
    """Returns what a decoded JSON value has at this path of names; None where there is nothing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _tolerant(raw: str | msgspec.Raw, kind: type[S]) -> S:
    """Decodes the members of the right type (also a number in quotes) of an object that has some of a wrong one."""
    try:
        members = _members.decode(raw)
    except msgspec.ValidationError:
        return kind()
    known = [field for field in msgspec.structs.fields(kind) if field.name in members]
    return kind(**{field.name: _member(members[field.name], field.type, field.default) for field in known})


def _member(raw: msgspec.Raw, wanted: Any, default: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=wanted, strict=False)
    except msgspec.ValidationError:
        pass
    for option in get_args(wanted):  # the members inside it, if it is made of structs
        (item,) = get_args(option) if get_origin(option) is list else (None,)
        if bytes(raw).startswith(b"{") and _is_struct(option):
            return _tolerant(raw, option)
        if bytes(raw).startswith(b"[") and _is_struct(item):
            return [_tolerant(one, item) for one in _items.decode(raw)]
    return default


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
