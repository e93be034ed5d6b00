"""What these tests share: streams as bytes, and a thread that is kept by the engine's own recorder."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import count
from typing import Any

import msgspec

from agui_gate.adapter import ModelEvent, Output, Text, TextPart, ToolSpec, Transcript, TurnRequest
from agui_gate.core.journal import Journal
from agui_gate.core.sanitizer import Outcome, sanitize
from agui_gate.core.sequencer import Sequencer
from agui_gate.core.transcript import Entry, ResultEntry, TurnEntry, UserEntry
from agui_gate.protocol.dialects.v0 import V0Shapes
from agui_gate.turns.turn_recorder import TurnRecorder
from agui_gate_adapters.anthropic_messages import AnthropicMessages
from agui_gate_adapters.testkit import Emulator
from tests.adapters.support import WEATHER, Json, Turn, run
from tests.adapters.threads import talking_to

SEARCH: Json = {"type": "web_search_20250305", "name": "web_search"}
ENABLED: Json = {"type": "enabled", "budget_tokens": 2048}
ADAPTIVE: Json = {"type": "adaptive"}
ANSWER: Json = {"output": [{"type": "reasoning", "summary": ["Easy."]}, {"type": "message", "text": "Sunny in both."}]}


# --- streams ------------------------------------------------------------------------------------------------------


def frame(event: Json) -> bytes:
    """One event as the provider frames it."""
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event))


def started(model: str = "claude-x", **usage: int) -> Json:
    """The first event."""
    counts = {"input_tokens": 10, "output_tokens": 1, **usage}
    return {"type": "message_start", "message": {"id": "msg_1", "model": model, "content": [], "usage": counts}}


def block(index: int, body: Json, *deltas: Json, stop: bool = True) -> list[Json]:
    """One content block's events."""
    events: list[Json] = [{"type": "content_block_start", "index": index, "content_block": body}]
    events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", "index": index}] if stop else events


def text(index: int, *pieces: str, **how: Any) -> list[Json]:
    """A text block."""
    return block(
        index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces), **how
    )


def thinking(index: int, *pieces: str, signature: str = "sig", **how: Any) -> list[Json]:
    """A thinking block."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    body = {"type": "thinking", "thinking": "", "signature": ""}
    return block(index, body, *deltas, {"type": "signature_delta", "signature": signature}, **how)


def tool_use(index: int, *pieces: str, call_id: str = "toolu_1", kind: str = "tool_use", **more: Any) -> list[Json]:
    """A call's block."""
    body = {"type": kind, "id": call_id, "name": more.pop("name", "weather"), "input": more.pop("given", {})}
    return block(index, body, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces), **more)


FOUND: Json = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "x"}
RESULT: Json = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [FOUND]}


def searched(*pieces: str, result: Json = RESULT) -> list[Json]:
    """A server tool's call and its result."""
    use = tool_use(0, *pieces, call_id="srvtoolu_1", kind="server_tool_use", name="web_search")
    return [*use, *block(1, result)]


def ended(reason: str | None = "end_turn", **usage: int) -> list[Json]:
    """The last two events."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5, **usage}},
        {"type": "message_stop"},
    ]


# --- turns and threads --------------------------------------------------------------------------------------------


class Thread:
    """A thread as the engine keeps it: entries, settled before each request."""

    def __init__(self, model: AnthropicMessages) -> None:
        self.model = model
        self.entries: list[Entry] = []
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self.instructions = "Be brief."
        self.tools: tuple[ToolSpec, ...] = (WEATHER,)
        self.edits: dict[str, str] = {}
        self._ids = count()
        self._ids_of_calls = Journal()

    @property
    def transcript(self) -> Transcript:
        """What was said, settled."""
        return sanitize(self.entries, self.outcomes)

    def request(self) -> TurnRequest:
        """What the next turn is asked with."""
        return TurnRequest(self.transcript, self.instructions, self.tools)

    def say(self, text: str, role: Any = "user") -> None:
        """The user says something."""
        self.entries.append(UserEntry(self._id(), (Text(text),), role))

    async def turn(self) -> Turn:
        """The model's next turn, recorded with outputs for its calls."""
        turn = await run(self.model, self.request())
        self.record(turn.events)
        return turn

    def keep_cut(self, text: str) -> None:
        """Keep a turn that showed this text and then failed."""
        self.entries.append(TurnEntry("cut", (TextPart("m", text),), self.model.origin, cut=True))

    def record(self, events: Sequence[ModelEvent]) -> None:
        """Record what the model said."""
        recorder = TurnRecorder(
            Sequencer("t", "r", lambda _: None, V0Shapes()), self._id, self._ids_of_calls.reserve_id, self.model.origin
        )
        recorder.feed(events)
        recorder.close_calls()
        entry = recorder.entry()
        self.entries += [entry, *recorder.results.values()]
        for made in entry.calls:
            if made.name in self.edits:
                self.outcomes[entry.id, made.id] = Outcome(Output("done"), self.edits[made.name])
            elif made.local and not made.malformed:
                self.entries.append(ResultEntry(made.id, self._id(), Output("sunny")))

    def _id(self) -> str:
        return f"id-{next(self._ids)}"


make = partial(AnthropicMessages, "claude-test")


def talking(
    script: Any, *, emulator: Json | None = None, **options: Any
) -> AbstractAsyncContextManager[tuple[Emulator, Thread]]:
    """An emulator with this script, and a thread that talks to it."""
    return talking_to(make, Thread, script, emulator or {}, options)
