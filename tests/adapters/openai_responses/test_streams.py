"""Ten recorded streams, cut in two at every byte, and into single bytes: the same events each time."""

from typing import Any

import httpx2
import pytest

from agui_gate.adapter import CallEnd, ModelEvent, TextDelta, TurnDone
from agui_gate.core.sse import SSESplitter
from agui_gate_adapters.openai_responses.machine import ResponseMachine
from agui_gate_adapters.testkit import Emulator, serve
from tests.adapters.support import WEATHER
from tests.support.chance import some

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
THOUGHT: Json = {"type": "reasoning", "summary": ["Hm.", "Ja 🌧."]}
PARIS: Json = {"type": "function_call", "name": "weather", "arguments": {"city": "Paris"}}
KOELN: Json = {"type": "function_call", "name": "weather", "arguments": {"city": 'Köln "am Rhein"'}}
STREAMS: dict[str, tuple[Json, str, int, str]] = {
    # the turn; its text, the number of whole calls, and its status
    "text": ({"output": [{"type": "message", "deltas": ["Sun", "ny."]}]}, "Sunny.", 0, "completed"),
    "characters": (
        {"output": [{"type": "message", "deltas": ["Señora 🙂", " 15 °C"]}]},
        "Señora 🙂 15 °C",
        0,
        "completed",
    ),
    "two messages": (
        {"output": [{"type": "message", "text": "One."}, {"type": "message", "text": "Two."}]},
        "One.Two.",
        0,
        "completed",
    ),
    "reasoning": ({"output": [THOUGHT, {"type": "message", "text": "Ok"}]}, "Ok", 0, "completed"),
    "hidden reasoning": ({"output": [{"type": "reasoning"}, {"type": "message", "text": "Ok"}]}, "Ok", 0, "completed"),
    "a call": ({"output": [PARIS]}, "", 1, "completed"),
    "two calls": ({"output": [THOUGHT, PARIS, KOELN]}, "", 2, "completed"),
    "text and a call": ({"output": [{"type": "message", "text": "Let me see."}, KOELN]}, "Let me see.", 1, "completed"),
    "no arguments": ({"output": [{**PARIS, "arguments": {}}]}, "", 1, "completed"),
    "cut by a limit": (
        {"output": [{"type": "message", "text": "So"}], "status": "incomplete"},
        "So",
        0,
        "incomplete",
    ),
}


async def recorded(turn: Json) -> bytes:
    """The body of the reply to a request, as it is on the wire."""
    tool = {"type": "function", "name": WEATHER.name, "parameters": WEATHER.parameters}
    body = {"model": "gpt-test", "input": "hi", "stream": True, "tools": [tool]}
    async with serve(Emulator(script=[turn])) as url, httpx2.AsyncClient(timeout=60) as client:
        reply = await client.post(f"{url}/responses", json=body, headers={"authorization": "Bearer k"})
    assert reply.status_code == 200
    return reply.content


def parsed(*chunks: bytes) -> list[ModelEvent]:
    """The events of a body that comes in these chunks."""
    splitter, machine = SSESplitter(), ResponseMachine("gpt-test", lambda _: None)
    events: list[ModelEvent] = []
    for chunk in chunks:
        events += machine.feed(splitter.feed(chunk))
    assert machine.done
    assert machine.failure is None
    return events


@pytest.mark.parametrize("name", STREAMS)
async def test_where_it_is_cut_means_nothing(name: str) -> None:
    turn, text, calls, status = STREAMS[name]
    body = await recorded(turn)
    whole = parsed(body)
    assert "".join(event.text for event in whole if isinstance(event, TextDelta)) == text
    assert [type(event) for event in whole].count(CallEnd) == calls
    assert isinstance(whole[-1], TurnDone)
    assert whole[-1].status == status
    assert parsed(*(bytes([byte]) for byte in body)) == whole
    for cut in range(0, len(body), some(3, 1)):
        assert parsed(body[:cut], body[cut:]) == whole
