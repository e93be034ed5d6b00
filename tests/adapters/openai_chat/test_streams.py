"""Ten servers' streams, cut in two at every byte, and into single bytes: the same events each time."""

from itertools import count
from typing import Any

import pytest

from agui_gate.adapter import (
    CallDelta,
    CallEnd,
    CallStart,
    ModelEvent,
    ReasoningDelta,
    ReasoningEnd,
    TextDelta,
    TurnDone,
)
from agui_gate.core.sse import SSESplitter
from agui_gate_adapters.openai_chat.failures import api_of
from agui_gate_adapters.openai_chat.machine import ChatMachine

from .streams import STREAMS

SAID: dict[str, tuple[str, str, list[tuple[str, str]], tuple[Any, ...]]] = {
    # reasoning, text, (wire id, arguments) of the calls, (status, tokens read, tokens written)
    "openai": ("", "Señora, 15 °C 🌧.", [], ("completed", 20, 8)),
    "azure": ("", "", [("call_aZ1", '{"city":"Köln"}'), ("call_aZ2", '{"city":"Rom"}')], ("completed",)),
    "vllm": ("The user asks.", "", [("chatcmpl-tool-7d1", '{"city": "Oslo"}')], ("completed", 20, 8)),
    "ollama": ("Two cities.", "", [("call_o1", '{"city":"Bern"}'), ("call_o2", '{"city":"Wien"}')], ("completed",)),
    "deepseek": ("我想想", "你好", [], ("completed", 20, 8)),
    "kimi": ("Look.", "", [("functions.weather:0", '{"city":1}')], ("completed", 20, 8)),
    "mistral": ("Hmm", "One moment.", [("D681PevKs", '{"city": "Nice"}'), ("aB3dE6gH9", '{"city": "Lyon"}')],
                ("completed", 20, 8)),
    "llama.cpp": ("Ok", "Fine", [], ("incomplete", 20, 8)),
    "openrouter": ("So", "Hello", [], ("completed", 20, 8)),
    "gemini": ("", "", [("minted-0", '{"city":"Turin"}'), ("minted-1", "{}")], ("completed", 20, 8)),
}  # fmt: skip


def parsed(*chunks: bytes) -> list[ModelEvent]:
    """The events of a body that comes in these chunks."""
    ids = count()
    splitter, machine = SSESplitter(), ChatMachine("m", api_of("m"), lambda: f"minted-{next(ids)}")
    events: list[ModelEvent] = []
    for chunk in chunks:
        events += machine.feed(splitter.feed(chunk))
    assert machine.done
    assert machine.failure is None
    return events


def joined(events: list[ModelEvent], kind: type[TextDelta] | type[ReasoningDelta]) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


def test_there_is_a_verdict_on_every_stream() -> None:
    assert SAID.keys() == STREAMS.keys()


@pytest.mark.parametrize("server", STREAMS)
def test_what_it_said(server: str) -> None:
    events = parsed(STREAMS[server])
    reasoning, text, calls, ending = SAID[server]
    assert joined(events, ReasoningDelta) == reasoning
    assert joined(events, TextDelta) == text
    starts = {event.key: event.wire_id for event in events if isinstance(event, CallStart)}
    assert [(starts[event.key], event.arguments) for event in events if isinstance(event, CallEnd)] == calls
    assert "".join(event.text for event in events if isinstance(event, CallDelta)) == "".join(text for _, text in calls)
    done = events[-1]
    assert isinstance(done, TurnDone)
    usage = done.usage
    assert (done.status, *((usage.input_tokens, usage.output_tokens) if usage else ())) == ending


@pytest.mark.parametrize("server", STREAMS)
def test_where_it_is_cut_means_nothing(server: str) -> None:
    stream = STREAMS[server]
    whole = parsed(stream)
    assert parsed(*(bytes([byte]) for byte in stream)) == whole
    for cut in range(len(stream)):
        assert parsed(stream[:cut], stream[cut:]) == whole


def test_signed_blocks_are_kept() -> None:
    block = {"type": "reasoning.text", "text": "So", "index": 0, "signature": "c2ln"}
    ends = [event.private for event in parsed(STREAMS["openrouter"]) if isinstance(event, ReasoningEnd)]
    assert ends == [{"field": "reasoning"}, {"reasoning_details": [block]}]
