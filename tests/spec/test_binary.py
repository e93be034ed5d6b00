"""The protobuf binding is read as SSE is, and judged by the same rules.

`encoded_events.json` has events as the protocol's own encoder wrote them (`tests/interop/test_encoded_events.py`).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agui_gate_adapters.testkit.spec import judge
from agui_gate_adapters.testkit.spec.frames import BINARY, binary_frames
from agui_gate_adapters.testkit.spec.protobuf import Undecodable, decode
from agui_gate_adapters.testkit.spec.shapes import EVENTS
from tests.spec.wire import RUN_FINISHED, RUN_STARTED, TEXT_CONTENT, TEXT_END, TEXT_START, field, framed

ENCODED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "encoded_events.json").read_text(encoding="utf-8"))
ASKED = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
WHOLE = [RUN_STARTED("t", "r", "", "", "1.0"), TEXT_START("m"), TEXT_CONTENT("m", "Hi"), TEXT_END("m")]


@pytest.mark.parametrize("number", range(len(ENCODED)))
def test_an_event_is_read_as_it_was_before_it_was_encoded(number: int) -> None:
    one = ENCODED[number]
    assert decode(bytes.fromhex(one["bytes"])) == one["event"]


def test_every_type_of_event_is_among_them() -> None:
    assert {one["event"]["type"] for one in ENCODED} == set(EVENTS)


def test_bytes_that_are_cut_or_changed_are_an_event_or_undecodable() -> None:
    whole = [bytes.fromhex(one["bytes"]) for one in ENCODED]
    changed = [raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :] for raw in whole for at in range(len(raw))]
    cut = [raw[:at] for raw in whole for at in range(len(raw))]
    refused = 0
    for told in (*changed, *cut):
        try:
            assert (decode(told) or {"type": EVENTS[0]})["type"] in EVENTS
        except Undecodable:
            refused += 1
    assert refused > len(whole)


def test_nesting_without_end_is_undecodable() -> None:
    value = b""
    for _ in range(20_000):
        value = field(6, field(1, value))
    with pytest.raises(Undecodable):
        decode(field(7, field(1, bytes([8, 6])) + field(2, value)))


def test_what_a_newer_version_added_is_left_out() -> None:
    """An unknown event is dropped, an unknown field is skipped: neither breaks a rule."""
    newer = [WHOLE[0], field(99, field(1, b"")), TEXT_START("m"), *WHOLE[2:], RUN_FINISHED("t", "r")]
    read, found = binary_frames(framed(newer))
    assert ([frame.event and frame.event["type"] for frame in read][:2], found) == (["RUN_STARTED", None], [])
    assert decode(field(1, field(1, bytes([8, 0])) + field(2, b"m") + field(60, b"x"))) == {
        "type": "TEXT_MESSAGE_START",
        "messageId": "m",
    }
    assert judge(framed(newer), input=ASKED, media=BINARY) == []


def test_a_whole_stream_breaks_nothing() -> None:
    assert judge(framed([*WHOLE, RUN_FINISHED("t", "r")]), input=ASKED, media=BINARY) == []


BROKEN = {
    "another thread": ([*WHOLE, RUN_FINISHED("x", "r")], "IN-1"),
    "another run": ([*WHOLE, RUN_FINISHED("t", "x")], "IN-1"),
    "no version": ([RUN_STARTED("t", "r"), RUN_FINISHED("t", "r")], "VER-1"),
    "an open message": ([*WHOLE[:3], RUN_FINISHED("t", "r")], "LIFE-3"),
    "content of nothing": ([WHOLE[0], TEXT_CONTENT("m", "Hi"), RUN_FINISHED("t", "r")], "STR-1"),
    "no start": ([TEXT_START("m"), TEXT_END("m"), RUN_FINISHED("t", "r")], "LIFE-1"),
    "no end": (WHOLE, "TR-1"),
    "two types": ([*WHOLE, field(13, field(1, bytes([8, 11])))], "PB-1"),
    "no base": ([*WHOLE, field(13, field(2, b"t"))], "PB-1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_planted_bug_is_named_by_its_rule(name: str) -> None:
    events, rule = BROKEN[name]
    assert rule in {found.rule for found in judge(framed(events), input=ASKED, media=BINARY)}
