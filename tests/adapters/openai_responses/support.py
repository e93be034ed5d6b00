"""What these tests share: building transcripts, running turns, and a thread that is kept like the engine keeps it."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import msgspec

from agui_gate.adapter import (
    AssistantTurn,
    CallDelta,
    CallEnd,
    CallPart,
    CallStart,
    ConversationRef,
    ModelEvent,
    Output,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningPart,
    ReasoningStart,
    SettledCall,
    Text,
    TextDelta,
    TextEnd,
    TextPart,
    TextStart,
    ToolSpec,
    Transcript,
    TurnDone,
    TurnRequest,
    UserTurn,
)
from agui_gate_adapters.openai_responses import OpenAIResponses
from agui_gate_adapters.testkit import Emulator, serve

WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
MODES = ("chain", "conversation", "stateless")
CALLS = {
    "output": [
        {"type": "reasoning", "summary": ["I should look."]},
        {"type": "function_call", "name": "weather", "arguments": {"city": "Paris"}},
        {"type": "function_call", "name": "weather", "arguments": {"city": "Rome"}},
    ]
}
ANSWER = {"output": [{"type": "reasoning"}, {"type": "message", "text": "Sunny in both."}]}
Part = TextPart | ReasoningPart | SettledCall


def user(text: str, turn_id: str = "u1") -> UserTurn:
    """A user's message."""
    return UserTurn(turn_id, (Text(text),))


def call(
    wire_id: str, arguments: str = "{}", *, ran: str | None = None, content: str = "ok", **more: Any
) -> SettledCall:
    """A settled call of the weather tool; ``ran`` is what ran if it was edited."""
    part = CallPart(more.pop("id", f"tc-{wire_id}"), wire_id, "weather", arguments, "m1", **more)
    return SettledCall(part, Output(content), arguments if ran is None else ran)


def assistant(*parts: Part, turn_id: str = "t1", origin: str = "", ref: ConversationRef | None = None) -> AssistantTurn:
    """An assistant's turn."""
    return AssistantTurn(turn_id, parts, origin, ref)


class Turn:
    """What one streamed turn came to."""

    def __init__(self, events: Sequence[ModelEvent]) -> None:
        self.events = list(events)

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def text(self) -> str:
        """All text, in order."""
        return "".join(event.text for event in self.of(TextDelta))

    @property
    def done(self) -> TurnDone:
        """The one terminal event, which is the last."""
        (done,) = self.of(TurnDone)
        assert self.events[-1] is done
        return done

    def parts(self, outputs: dict[str, Output], edits: dict[str, str] | None = None) -> tuple[Part, ...]:
        """The items as parts, in the order of their starts; calls that never ended are dropped."""
        starts = [event for event in self.events if isinstance(event, TextStart | ReasoningStart | CallStart)]
        parts = [self._part(start, outputs, edits or {}) for start in starts]
        return tuple(part for part in parts if part is not None)

    def _part(self, start: Any, outputs: dict[str, Output], edits: dict[str, str]) -> Part | None:
        mine = [event for event in self.events if getattr(event, "key", None) == start.key]
        end = next((event for event in mine if isinstance(event, TextEnd | ReasoningEnd | CallEnd)), None)
        private = end.private if end else None
        if isinstance(start, TextStart):
            text = "".join(event.text for event in mine if isinstance(event, TextDelta))
            return TextPart(start.key, text, private) if text else None
        if isinstance(start, ReasoningStart):
            paragraphs: dict[int, str] = {}
            for event in mine:
                if isinstance(event, ReasoningDelta):
                    paragraphs[event.paragraph] = paragraphs.get(event.paragraph, "") + event.text
            encrypted = end.encrypted if isinstance(end, ReasoningEnd) else None
            return ReasoningPart(start.key, tuple(paragraphs.values()), encrypted, private)
        if not isinstance(end, CallEnd):
            return None
        assert "".join(event.text for event in mine if isinstance(event, CallDelta)) == end.arguments
        part = CallPart(start.key, start.wire_id, start.name, end.arguments, "m", private=private)
        return SettledCall(part, outputs.get(start.name, Output("done")), edits.get(start.name, end.arguments))


async def run(model: OpenAIResponses, request: TurnRequest) -> Turn:
    """One turn, bounded."""
    events: list[ModelEvent] = []
    with anyio.fail_after(10):
        async with aclosing(model.stream(request)) as batches:
            async for batch in batches:
                assert batch, "an empty batch"
                events += batch
    return Turn(events)


class Thread:
    """A thread as the engine keeps it: the whole transcript and the last committed ref."""

    def __init__(self, model: OpenAIResponses) -> None:
        self.model = model
        self.transcript: list[UserTurn | AssistantTurn] = []
        self.ref: ConversationRef | None = None
        self.outputs: dict[str, Output] = {}
        self.edits: dict[str, str] = {}

    def request(self) -> TurnRequest:
        """What the next turn is asked with."""
        transcript: Transcript = tuple(self.transcript)
        return TurnRequest(transcript, "Be brief.", (WEATHER,), self.ref)

    def say(self, text: str) -> None:
        """The user says something."""
        self.transcript.append(user(text, f"u{len(self.transcript)}"))

    async def turn(self) -> Turn:
        """The model's next turn, added to the transcript with outputs for its calls."""
        turn = await run(self.model, self.request())
        turn_id = f"t{len(self.transcript)}"
        ref = turn.done.ref
        if ref is not None:
            ref = msgspec.structs.replace(ref, turn_id=turn_id, committed_at=time.time_ns() // 1_000_000)
            self.ref = ref
        parts = turn.parts(self.outputs, self.edits)
        self.transcript.append(AssistantTurn(turn_id, parts, self.model.origin, ref))
        return turn


@asynccontextmanager
async def talking(script: Any, mode: str = "chain", **options: Any) -> AsyncIterator[tuple[Emulator, Thread]]:
    """An emulator with this script, and a thread that talks to it."""
    emulator = Emulator(script=script, **options)
    async with serve(emulator) as base_url:
        model = OpenAIResponses("gpt-test", mode=mode, base_url=base_url, api_key="sk-test")  # type: ignore[arg-type]
        # What an Azure host name would have switched on.
        azure = emulator.profile.single_sealed_turn
        model._settings = msgspec.structs.replace(model._settings, newest_sealed_only=azure)
        try:
            yield emulator, Thread(model)
        finally:
            await model.aclose()
