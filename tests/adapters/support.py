"""What the tests of all adapters share: transcripts, scripts, what a turn came to, and providers that are functions."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

import anyio
import httpx2

from agui_gate.adapter import (
    Adapter,
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
    TurnDone,
    TurnRequest,
    UserTurn,
)

Json = dict[str, Any]
Part = TextPart | ReasoningPart | SettledCall
Handler = Callable[[httpx2.Request], httpx2.Response]

STREAM = {"content-type": "text/event-stream; charset=utf-8"}
WEATHER = ToolSpec("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
CITIES = ['{"city":"Paris"}', '{"city":"Rome"}']
CALLS: Json = {
    "output": [
        {"type": "reasoning", "summary": ["I should look."]},
        {"type": "function_call", "name": "weather", "arguments": {"city": "Paris"}},
        {"type": "function_call", "name": "weather", "arguments": {"city": "Rome"}},
    ]
}
ANSWER: Json = {"output": [{"type": "reasoning"}, {"type": "message", "text": "Sunny in both."}]}


class Model(Adapter, Protocol):
    """An adapter, and what it waits with before it tries again."""

    _sleep: Callable[[float], Awaitable[None]]


# --- transcripts --------------------------------------------------------------------------------------------------


def user(text: str, turn_id: str = "u1", role: Any = "user") -> UserTurn:
    """A user's message."""
    return UserTurn(turn_id, (Text(text),), role)


def call(
    wire_id: str, arguments: str = "{}", *, ran: str | None = None, content: str = "ok", **more: Any
) -> SettledCall:
    """A settled call of the weather tool; ``ran`` is what ran if it was edited."""
    output = more.pop("output", Output(content))
    part = CallPart(more.pop("id", f"tc-{wire_id}"), wire_id, more.pop("name", "weather"), arguments, "m1", **more)
    return SettledCall(part, output, arguments if ran is None else ran)


def assistant(*parts: Part, turn_id: str = "t1", origin: str = "", ref: ConversationRef | None = None) -> AssistantTurn:
    """An assistant's turn."""
    return AssistantTurn(turn_id, parts, origin, ref)


# --- turns --------------------------------------------------------------------------------------------------------


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
    def arguments(self) -> list[str]:
        """The arguments of the calls that ended."""
        return [event.arguments for event in self.of(CallEnd)]

    @property
    def done(self) -> TurnDone:
        """The one terminal event, which is the last."""
        done: TurnDone
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


async def watch(model: Adapter, request: TurnRequest, shown: list[ModelEvent]) -> None:
    """Stream a turn that may fail, noting its events; bounded."""
    with anyio.fail_after(60):
        async with aclosing(model.stream(request)) as batches:
            async for batch in batches:
                assert batch, "an empty batch"
                shown += batch


async def run(model: Adapter, request: TurnRequest) -> Turn:
    """One turn, bounded."""
    events: list[ModelEvent] = []
    await watch(model, request, events)
    return Turn(events)


async def asked(model: Adapter) -> Turn:
    """What a first turn comes to."""
    return await run(model, TurnRequest((user("hi"),)))


def waits(model: Model) -> list[float]:
    """From now on the adapter notes here how long it would have slept."""
    slept: list[float] = []

    async def note(seconds: float) -> None:
        slept.append(seconds)

    model._sleep = note
    return slept


def provider(handler: Handler, **options: Any) -> httpx2.AsyncClient:
    """The HTTP client of an SDK's client, with a function as the provider."""
    return httpx2.AsyncClient(transport=httpx2.MockTransport(handler), **options)
