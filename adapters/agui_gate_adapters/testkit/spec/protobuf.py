"""Reads one event of the protobuf binding as the JSON that the SSE binding would carry (``wire.toml``).

It has no other use for protobuf, hence no package for it. What a reader can't know is as in the reference decoder
(`@ag-ui/proto` 1.0.0): unknown fields are skipped, and absent fields without presence have their defaults.
"""

import struct
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from agui_gate_adapters.testkit.spec.rules import Json

_TOLD = tomllib.loads(files(__package__).joinpath("wire.toml").read_text(encoding="utf-8"))
_ARMS: Mapping[int, str] = {arm: kind for kind, (arm, _, _) in _TOLD["events"].items()}

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
_DEFAULTS: Mapping[str, Any] = {"string": "", "integer": 0, "op": _OPERATIONS[0]}
_CONTENT_PARTS = ("user", "tool")
_NOT_JSON = ("nan", "inf", "-inf")


class Undecodable(ValueError):
    """The bytes are no event."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message."""

    name: str
    type: str
    has_presence: bool


def decode(frame: bytes) -> Json | None:
    """Decodes the event in a frame; None for one that a newer version added. Raises `Undecodable`."""
    try:
        arms = [(number, raw) for number, kind, raw in _fields(frame) if kind == BYTES and isinstance(raw, bytes)]
        known = [(number, raw) for number, raw in arms if number in _ARMS]
        if not known and arms:
            return None
        ((number, raw),) = known
        return _event(_ARMS[number], raw)
    except (ValueError, IndexError, RecursionError, struct.error) as error:
        raise Undecodable(str(error)) from error


def _event(kind: str, raw: bytes) -> Json:
    _, number, line = _TOLD["events"][kind]
    event = _message(raw, f"1:base?:Base {line}")
    base = event.pop("base", None)
    if base is None or base["type"] != number:
        raise Undecodable("the base event doesn't have the type that the envelope names")
    event = {**base, **event, "type": kind}
    match kind:
        case "RUN_FINISHED":
            _nest_outcome(event, "interrupts", "pendingToolCallIds")
        case "SUBAGENT_FINISHED":
            _nest_outcome(event, "interruptIds")
        case "TOOL_CALL_RESULT":
            _content(event, by_parts=True)
    if event.get("usage") == []:
        del event["usage"]
    return event


def _nest_outcome(event: Json, *members: str) -> None:
    """Nests the outcome, which is flat on the wire."""
    outcome = event.pop("outcome")
    told = {name: value for name in members if (value := event.pop(name))}
    if outcome == "interrupt":
        told.setdefault("interrupts", [])
    event |= {"outcome": {"type": outcome, **told}} if outcome else told


def _content(told: Json, *, by_parts: bool) -> None:
    """Joins content, which is text in one field and parts in another."""
    parts = told.pop("contentParts")
    if parts and ("content" in told or not by_parts):
        raise Undecodable("content in two forms, or in one that its role hasn't")
    if by_parts and "content" not in told:
        told["content"] = parts


def _as_message(told: Json) -> Json:
    _content(told, by_parts=told["role"] in _CONTENT_PARTS)
    if "activityContent" in told:
        if told["role"] != "activity" or "content" in told:
            raise Undecodable("content of an activity in another message")
        told["content"] = told.pop("activityContent")
    if not told["toolCalls"]:
        del told["toolCalls"]
    return told


def _as_one(told: Json) -> Json | None:
    """Decodes a part or a source, by its arm's name. None for one that a newer version added, or that holds one."""
    if len(told) > 1:
        raise Undecodable("more than one arm")
    holding = ((name, value) for name, value in told.items() if value.get("source", "") is not None)
    return next(({"type": name, **value} for name, value in holding), None)


# --- the encoding


@cache
def _shape(line: str) -> Mapping[int, Field]:
    fields = (field.split(":") for field in line.split())
    return {int(number): Field(name.rstrip("?"), kind, name.endswith("?")) for number, name, kind in fields}


def _message(raw: bytes, line: str) -> Json:
    shape = _shape(line)
    told: Json = {}
    for number, wire, value in _fields(raw):
        field = shape.get(number)
        if field is None or wire != _wire(field.type):
            continue  # a newer version's
        if not field.type.startswith("["):
            told[field.name] = _value(field.type, value)
        elif (item := _value(field.type[1:-1], value)) is not None:
            told.setdefault(field.name, []).append(item)
    for field in shape.values():
        if field.name not in told and not field.has_presence:
            told[field.name] = [] if field.type.startswith("[") else _DEFAULTS[field.type]
    return told


def _wire(kind: str) -> int:
    return VARINT if kind in ("integer", "boolean", "op") else BYTES


def _value(kind: str, raw: Any) -> Any:
    if kind in _SCALARS:
        return _SCALARS[kind](raw)
    told = _message(raw, _TOLD["messages"][kind])
    if kind in ("Part", "Source"):
        return _as_one(told)
    return _as_message(told) if kind == "Message" else told


def _any(raw: bytes) -> Any:
    """Decodes a `google.protobuf.Value`."""
    told: Any = None
    for number, wire, value in _fields(raw):
        match number, wire:
            case 1, 0:
                told = None
            case 2, 1:
                told = _number(value)
            case 3, 2:
                told = value.decode()
            case 4, 0:
                told = bool(value)
            case 5, 2:
                told = _struct(value)
            case 6, 2:
                told = [_any(item) for at, kind, item in _fields(value) if (at, kind) == (1, BYTES)]
    return told


def _struct(raw: bytes) -> Json:
    """Decodes a `google.protobuf.Struct`."""
    told: Json = {}
    for at, kind, entry in _fields(raw):
        if (at, kind) == (1, BYTES):
            pair = {number: value for number, wire, value in _fields(entry) if wire == BYTES}
            told[pair.get(1, b"").decode()] = _any(pair.get(2, b""))
    return told


def _number(raw: bytes) -> int | float:
    (value,) = struct.unpack("<d", raw)
    if str(value) in _NOT_JSON:
        raise Undecodable("a number that JSON hasn't")
    return int(value) if value.is_integer() and abs(value) < 2**63 else float(value)


_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "string": bytes.decode,
    "integer": lambda raw: raw - (1 << 64) if raw >> 63 else raw,
    "boolean": bool,
    "op": lambda raw: _OPERATIONS[raw] if raw < len(_OPERATIONS) else str(raw),
    "value": _any,
    "struct": _struct,
}


def _fields(raw: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yields number, wire type and value of each field, in order. Groups are retired, and refused."""
    place = 0
    while place < len(raw):
        tag, place = _varint(raw, place)
        number, wire = tag >> 3, tag & 7
        if not number:
            raise Undecodable("a field without a number")
        if wire == VARINT:
            value, place = _varint(raw, place)
            yield number, wire, value
            continue
        if wire not in (FIXED64, BYTES, FIXED32):
            raise Undecodable(f"wire type {wire}")
        size, place = _varint(raw, place) if wire == BYTES else ({FIXED64: 8, FIXED32: 4}[wire], place)
        if place + size > len(raw):
            raise Undecodable("a field is longer than what holds it")
        yield number, wire, raw[place : place + size]
        place += size


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    """Reads a number of variable length; returns it with the place after it."""
    value = shift = 0
    while shift < 70:
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value & (1 << 64) - 1, place
    raise Undecodable("a number without an end")
