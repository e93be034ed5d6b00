"""Reads the frames of a body, and the event in each: of server-sent events, and of the protobuf binding."""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from agui_gate_adapters.testkit.spec.protobuf import Undecodable, decode
from agui_gate_adapters.testkit.spec.rules import Breach, Finding, Json, finding


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it stood in the stream. ``event`` is None where it can't be read."""

    text: str
    event: Json | None


def frames(body: str | bytes) -> tuple[list[Frame], list[Finding]]:
    """Splits a body into events, and finds where it departs from the framing that clients split by."""
    found: list[Finding] = []
    text = _text(body, found)
    if "\r" in text:
        found.append(
            finding(Breach("SSE-2", "the stream contains a carriage return; lines must end with a line feed only"))
        )
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    *whole, rest = text.split("\n\n")
    if _data(rest):
        found.append(finding(Breach("TR-1", "the last frame doesn't end with an empty line"), len(whole), rest))
        whole.append(rest)
    read: list[Frame] = []
    for frame in whole:
        data = _data(frame)
        if data:
            read.append(Frame("\n".join(data), _event(data, len(read), found)))
    return read, found


def _text(body: str | bytes, found: list[Finding]) -> str:
    if isinstance(body, str):
        return body
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        found.append(finding(Breach("SSE-1", f"byte {error.start} of the stream is not UTF-8")))
        return body.decode(errors="replace")


def _data(frame: str) -> list[str]:
    return [line[5:].removeprefix(" ") for line in frame.split("\n") if line.startswith("data:")]


def _event(data: list[str], number: int, found: list[Finding]) -> Json | None:
    text = "\n".join(data)
    try:
        event = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        found.append(finding(Breach("SSE-1", "the frame's data is not one JSON value"), number, text))
        return None
    if len(data) > 1:
        found.append(
            finding(
                Breach("SSE-1", "an event is split over several data lines, which few clients join", "note"),
                number,
                text,
            )
        )
    if isinstance(event, dict):
        return event
    found.append(finding(Breach("GEN-1", "the frame's data is not an object"), number, text))
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def framed(events: list[Any]) -> list[Frame]:
    """Makes frames of events that were read already."""
    return [Frame(json.dumps(event, ensure_ascii=False), event) for event in events]


BINARY = "application/vnd.ag-ui.event+proto"

_LENGTH = 4
_SHOWN = 100
"""Bytes of a frame that are shown where it can't be read."""


def binary_frames(body: bytes) -> tuple[list[Frame], list[Finding]]:
    """Splits a protobuf body into events, and finds broken rules. Events of a newer version are left out."""
    read: list[Frame] = []
    found: list[Finding] = []
    place = 0
    while place < len(body):
        size = int.from_bytes(body[place : place + _LENGTH], "big")
        raw = body[place + _LENGTH : place + _LENGTH + size]
        if len(body) < place + _LENGTH or len(raw) < size:
            found.append(finding(Breach("TR-1", f"the body ends within frame {len(read)}"), len(read)))
            break
        try:
            event = decode(raw)
        except Undecodable as error:
            sentence = f"frame {len(read)} holds no event: {error}"
            found.append(finding(Breach("PB-1", sentence), len(read), raw[:_SHOWN].hex()))
            break
        read.append(Frame("" if event is None else json.dumps(event, ensure_ascii=False), event))
        place += _LENGTH + size
    return read, found
