"""Streams as bytes: any cut of them means the same; and any nonsense, as long as it is JSON, is read."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.adapter import CallEnd, CallResult, ModelEvent, ReasoningEnd, TextEnd, TurnDone
from agui_gate.core.sse import SSESplitter
from agui_gate_adapters.anthropic_messages.machine import MessageMachine
from tests.adapters.support import Json

from .support import block, ended, frame, searched, started, text, thinking, tool_use

NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error", "x"]
)
BLOCKS = st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "y_tool_result"])
BODIES = st.fixed_dictionaries(
    {}, optional={"type": BLOCKS, "id": st.just("a") | NONSENSE, "tool_use_id": st.just("a") | NONSENSE,
                  "input": NONSENSE, "text": NONSENSE, "content": NONSENSE, "name": NONSENSE, "data": NONSENSE}
)  # fmt: skip
DELTAS = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["text_delta", "thinking_delta", "citations_delta", "z"]), "text": NONSENSE,
                  "partial_json": NONSENSE, "thinking": NONSENSE, "signature": NONSENSE, "citation": NONSENSE,
                  "stop_reason": st.sampled_from(["tool_use", "refusal", "pause_turn", 3])}
)  # fmt: skip
EVENTS = st.fixed_dictionaries(
    {"type": KINDS | NONSENSE},
    optional={"index": st.integers(0, 3) | NONSENSE, "delta": DELTAS | NONSENSE, "content_block": BODIES | NONSENSE,
              "message": NONSENSE, "usage": NONSENSE},
)  # fmt: skip


@given(st.lists(EVENTS | NONSENSE, max_size=12))
def test_nothing_readable_fails_but_an_error(events: list[Any]) -> None:
    """Every start is ended at most once, nothing comes after its end, and there is one `TurnDone` or a pause."""
    machine = MessageMachine("m", may_pause=True)
    payloads = [msgspec.json.encode(event) for event in events]
    out = machine.feed([*payloads, b'{"type":"message_stop"}'])
    if machine.failure is not None:
        return
    assert machine.done
    assert (machine.paused is None) == (TurnDone in map(type, out))
    over: set[str] = set()
    for event in out:
        key = getattr(event, "key", None)
        if isinstance(event, TextEnd | ReasoningEnd | CallEnd):
            assert key not in over
            over.add(event.key)
        elif key is not None and not isinstance(event, CallResult):
            assert key not in over


# --- bytes --------------------------------------------------------------------------------------------------------

STREAMS: dict[str, list[Json]] = {
    "text": [started(), *text(0, "naïve ", "🙂"), *ended()],
    "thinking": [started(), *thinking(0, "Hm\n", "m"), *text(1, "Hi"), *ended()],
    "redacted": [started(), *block(0, {"type": "redacted_thinking", "data": "x"}), *text(1, "Hi"), *ended()],
    "call": [started(), {"type": "ping"}, *tool_use(0, '{"city"', ':"Paris"}'), *ended("tool_use")],
    "two calls": [started(), *tool_use(0, "{}"), *tool_use(1, call_id="toolu_2"), *ended("tool_use")],
    "search": [started(), *searched('{"query":"x"}'), *text(2, "Found."), *ended()],
    "limit": [started(), *text(0, "a"), *tool_use(1, '{"ci'), *ended("max_tokens")],
    "refusal": [started(), *text(0, "a"), *ended("refusal")],
    "error": [started(), *text(0, "a"), {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}],
    "news": [started(), {"type": "brand_new"}, *block(0, {"type": "brand_new"}), *ended("brand_new")],
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_any_cut_gives_the_same_events(name: str, newline: bytes) -> None:
    body = b"".join(map(frame, STREAMS[name])).replace(b"\n", newline)
    whole = of_bytes(body)
    for cut in range(1, len(body)):
        assert of_bytes(body[:cut], body[cut:]) == whole
    assert of_bytes(*(body[at : at + 1] for at in range(len(body)))) == whole


def of_bytes(*chunks: bytes) -> tuple[list[ModelEvent], bool]:
    splitter, machine = SSESplitter(), MessageMachine("m")
    events = [event for chunk in chunks for event in machine.feed(splitter.feed(chunk))]
    return events, machine.failure is not None
