"""The protobuf binding: the frames of a body, and what kind of event each of them holds. Nothing more is read."""

from collections.abc import Iterator

from agui_gate_adapters.testkit.spec.finding import Breach

BINARY = "application/vnd.ag-ui.event+proto"

STARTS = {12: "RUN_STARTED", 14: "RUN_ERROR"}
ENDS = {13: "RUN_FINISHED", 14: "RUN_ERROR"}
"""The places of these events in the envelope that each frame holds."""

_LENGTH = 4
_HOLDS_MESSAGE = 2


def judge(body: bytes) -> Iterator[Breach]:
    """What a whole body does against the rules on frames, and on how a stream begins and ends."""
    events: list[int] = []
    place = 0
    while place < len(body):
        size = int.from_bytes(body[place : place + _LENGTH], "big")
        frame = body[place + _LENGTH : place + _LENGTH + size]
        if len(body) < place + _LENGTH or len(frame) < size:
            yield Breach("TR-1", f"the body ends within frame {len(events)}")
            return
        event = _event(frame)
        if event is None:
            yield Breach("PB-1", f"frame {len(events)} is no message that holds one event")
            return
        events.append(event)
        place += _LENGTH + size
    if not events or events[0] not in STARTS:
        yield Breach("LIFE-1", "the binary stream doesn't begin with RUN_STARTED or RUN_ERROR")
    elif events[-1] not in ENDS:
        yield Breach("TR-1", "the binary stream ends without RUN_FINISHED or RUN_ERROR")


def _event(frame: bytes) -> int | None:
    """The place of the event in the envelope; None where the frame isn't one member of a message's kind."""
    tag, place = _number(frame, 0)
    size, place = _number(frame, place)
    whole = tag is not None and size is not None and place + size == len(frame)
    return tag >> 3 if whole and tag is not None and tag & 7 == _HOLDS_MESSAGE else None


def _number(frame: bytes, place: int) -> tuple[int | None, int]:
    """A number of variable length, and the place after it."""
    value = shift = 0
    while place < len(frame) and shift < 64:
        byte = frame[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
    return None, place
