"""Frames: what clients split on, and what JSON may hold."""

import json

from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core import events as ev
from agui_gate.core.sse import PING, FrameEncoder
from tests.requirements import shows

ODD = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n\u2028\u2029\x00\x85"), max_size=20)


@shows("B14")
@given(st.lists(ODD, min_size=1, max_size=5))
def test_a_frame_is_one_id_line_one_data_line_and_an_empty_one(texts) -> None:
    encoder = FrameEncoder("run_1")
    for number, text in enumerate(texts):
        frame = encoder.frame(ev.TextMessageContent("m", text))
        head, data, *end = frame.split(b"\n")
        assert head == b"id: run_1:%d" % number
        assert end == [b"", b""]
        assert b"\r" not in frame
        assert json.loads(data.removeprefix(b"data: ")) == {
            "type": "TEXT_MESSAGE_CONTENT",
            "messageId": "m",
            "delta": text,
        }


@shows("B14")
def test_what_is_absent_is_absent() -> None:
    encoder = FrameEncoder("r")
    finished = encoder.frame(ev.RunFinished("t", "r"))
    assert finished == b'id: r:0\ndata: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n'
    asked = ev.RunFinished("t", "r", outcome=ev.InterruptOutcome((ev.Interrupt("i", "tool_call", "c"),)))
    body = json.loads(encoder.frame(asked).split(b"data: ")[1])
    assert body["outcome"] == {
        "type": "interrupt",
        "interrupts": [{"id": "i", "reason": "tool_call", "toolCallId": "c"}],
    }
    assert b"null" not in encoder.frame(ev.RunFinished("t", "r", outcome=ev.SuccessOutcome()))


def test_a_ping_is_a_comment() -> None:
    assert PING.startswith(b":")
    assert PING.endswith(b"\n\n")
