"""The order and the form of streamed events, and every way to cut the body into chunks."""

from typing import Any

import msgspec
import pytest

from agui_gate_adapters.testkit import Clock, Emulator
from agui_gate_adapters.testkit.delivery import deliver
from agui_gate_adapters.testkit.responses.exchange import Exchange
from tests.testkit.driving import call, post, say


def events_of(emulator: Emulator, **body: Any) -> list[dict[str, Any]]:
    exchange = post(emulator, stream=True, **body)
    assert isinstance(exchange, Exchange)
    return list(exchange.events())


def types_of(*output: dict[str, Any], **turn: Any) -> list[str]:
    events = events_of(Emulator([{"output": list(output), **turn}]))
    return [event["type"].removeprefix("response.") for event in events]


def test_order_of_a_message() -> None:
    assert types_of({"type": "message", "text": "Hello world"}) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_order_of_reasoning_with_two_parts() -> None:
    part = ["part.added", "text.delta", "text.done", "part.done"]
    assert types_of({"type": "reasoning", "summary": ["One.", "Two."]})[2:-1] == [
        "output_item.added",
        *[f"reasoning_summary_{name}" for name in part + part],
        "output_item.done",
    ]


def test_hidden_reasoning_has_no_text_events() -> None:
    assert types_of({"type": "reasoning"})[2:-1] == ["output_item.added", "output_item.done"]


def test_order_of_a_call() -> None:
    assert types_of(call(a=1))[2:-1] == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]


def test_a_refusal_and_a_hosted_search() -> None:
    assert types_of({"type": "refusal", "text": "No"})[4:7] == ["refusal.delta", "refusal.done", "content_part.done"]
    assert types_of({"type": "web_search_call"})[2:-1] == [
        "output_item.added",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done",
    ]


def test_injected_events_and_missing_deltas() -> None:
    unknown = {"type": "event", "event": {"type": "response.brand_new", "x": 1}}
    assert types_of(unknown)[2] == "brand_new"
    silent = {"type": "message", "text": "whole", "deltas": []}
    assert "output_text.delta" not in types_of(silent)


def test_numbers_padding_and_final_items() -> None:
    events = events_of(Emulator([say("Hello world")]))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    deltas = [event for event in events if event["type"].endswith(".delta")]
    assert all(event["obfuscation"] for event in deltas)
    assert events[-1]["response"]["output"] == [
        event["item"] for event in events if event["type"].endswith("item.done")
    ]
    bare = events_of(Emulator([say("Hello world")]), stream_options={"include_obfuscation": False})
    assert not any("obfuscation" in event for event in bare)


def test_incomplete_stops_the_last_item() -> None:
    turn = {"output": [{"type": "message", "text": "x"}, call(a=1)], "status": "incomplete"}
    final = events_of(Emulator([turn]))[-1]
    assert final["type"] == "response.incomplete"
    assert final["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [item["status"] for item in final["response"]["output"]] == ["completed", "incomplete"]


def test_failed_says_why() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Slow down."}
    final = events_of(Emulator([{"status": "failed", "error": error}]))[-1]
    assert (final["type"], final["response"]["error"]) == ("response.failed", error)


@pytest.mark.parametrize("chunk", [1, 7, 1000, "event", "whole", "random"])
def test_chunk_boundaries_do_not_change_the_body(chunk: Any) -> None:
    def body(how: Any) -> list[bytes]:
        clock = Clock(lambda: 1_800_000_000.0)  # both bodies are of one second
        emulator = Emulator({"turns": [say("Grüße, Wörld ✓ and more")], "chunk": how}, clock=clock)
        exchange = post(emulator, stream=True)
        assert isinstance(exchange, Exchange)
        return list(deliver(exchange, emulator.chunking(exchange), 0.0, emulator.rng))  # type: ignore[arg-type]  # no faults, so bytes only

    chunks = body(chunk)
    assert b"".join(chunks) == b"".join(body("event"))
    if isinstance(chunk, int):
        assert {len(piece) for piece in chunks[:-1]} <= {chunk}
    if chunk == "whole":
        assert len(chunks) == 1


def test_frames_are_named_and_there_is_no_done_marker() -> None:
    emulator = Emulator([say("hi")], chunk="whole")
    exchange = post(emulator, stream=True)
    assert isinstance(exchange, Exchange)
    (whole,) = deliver(exchange, "whole", 0.0, emulator.rng)
    assert isinstance(whole, bytes)
    frames = whole.decode().strip().split("\n\n")
    for frame in frames:
        name, data = frame.split("\n")
        assert msgspec.json.decode(data.removeprefix("data: "))["type"] == name.removeprefix("event: ")
    assert "[DONE]" not in whole.decode()
