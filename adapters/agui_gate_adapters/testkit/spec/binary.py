"""The protobuf binding: the frames of a body, and the event in each of them."""

import json

from agui_gate_adapters.testkit.spec.finding import Breach, Finding, finding
from agui_gate_adapters.testkit.spec.frames import Frame
from agui_gate_adapters.testkit.spec.protobuf import Undecodable, decode

BINARY = "application/vnd.ag-ui.event+proto"

_LENGTH = 4
_SHOWN = 100
"""Bytes of a frame that are shown where it can't be read."""


def frames(body: bytes) -> tuple[list[Frame], list[Finding]]:
    """The events of a body, and what it does against the rules on frames. An event of a newer version is left out."""
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
