"""The frames of an SSE body: what stands between the lines, and the event in each."""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from agui_gate_adapters.testkit.spec.finding import Breach, Finding, Json, finding


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it stood in the stream. ``event`` is None where it can't be read."""

    text: str
    event: Json | None


def frames(body: str | bytes) -> tuple[list[Frame], list[Finding]]:
    """The events of a body, and how it departs from the framing that clients split by."""
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
    """Events that were read already."""
    return [Frame(json.dumps(event, ensure_ascii=False), event) for event in events]
