"""An adapter for a provider that stores conversations, whose ids are in its paths: rooms that are sent what is new.

`adapters/README.md` describes the kit that it uses, and `tests/conformance/test_rooms.py` runs the conformance suite
with it.

    agui-gate serve adapter_with_rooms:agent
"""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from agui_gate import Agent
from agui_gate import adapter as port
from agui_gate_adapters.common import doctor
from agui_gate_adapters.common.decisions import output_text
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure, Kind, classify_code
from agui_gate_adapters.common.http import Http
from agui_gate_adapters.common.json_decoder import event_decoder
from agui_gate_adapters.common.names import stream_named
from agui_gate_adapters.common.provider_turn import Batches, Opened, run_turn, sent
from agui_gate_adapters.common.retries import Step, retry_wait
from agui_gate_adapters.common.transport import host_of

Json = dict[str, Any]
API = Api("Rooms API", "ROOMS_API_KEY")


class Rooms:
    """A model in rooms. A room stores its conversation, so a turn sends only what the room hasn't seen."""

    def __init__(self, model: str, *, base_url: str, api_key: str) -> None:
        self.model, self.host = model, host_of(base_url)
        self.http = Http(
            API,
            base_url=base_url,
            headers={"x-room-key": api_key},
            said=lambda error: ErrorReply(error["code"], error["text"]),
            model=model,
            describes=("about", model),
        )

    @property
    def origin(self) -> str:
        """Which adapter, host and model may use a room again."""
        return f"rooms:{self.host}:{self.model}"

    def stream(self, request: port.TurnRequest) -> Batches:
        """Run one turn."""
        return stream_named(request, lambda named: run_turn(self._begin, named, Afresh()))

    async def _begin(self, request: port.TurnRequest) -> Opened:
        seen = turns_seen(request)
        if request.ref is not None and request.ref.conversation_id and seen:
            room = request.ref.conversation_id
        else:
            room, seen = uuid4().hex, 0
            await self.http.ask("PUT", "rooms", room)
        response = await sent(self.http.at("rooms", room, "turns"), request, lambda: body(request, self.model, seen))
        return Opened(response, Answer(self.model, port.ConversationRef("", self.origin, conversation_id=room)))

    async def check(self) -> Sequence[port.Finding]:
        """For `agui-gate doctor`."""
        return [await doctor.check(self.http, self.model, self.host)]

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()


class Afresh:
    """Sends everything to a new room, once. The old one is gone, or may have stored a request that failed."""

    def __init__(self) -> None:
        self._tried = False

    def next(self, failure: Failure, plan: port.TurnRequest) -> Step[port.TurnRequest] | None:
        """A step after the first failure that a new room may help with."""
        gone = plan.ref is not None and failure.status == 404
        wait = 0.0 if gone else retry_wait(failure) if failure.kind in (Kind.TRANSIENT, Kind.AMBIGUOUS) else None
        if self._tried or wait is None:
            return None
        self._tried = True
        return Step(wait, msgspec.structs.replace(plan, ref=None))


# --- To the provider.


def turns_seen(request: port.TurnRequest) -> int:
    """How many turns of the transcript the room has. 0 where the turn of the ref is not in the transcript."""
    known = "" if request.ref is None else request.ref.turn_id
    return next((number for number, turn in enumerate(request.transcript, 1) if turn.id == known), 0)


def body(request: port.TurnRequest, model: str, seen: int) -> Json:
    """The request for a turn, to a room that has ``seen`` turns."""
    news = [message for turn in request.transcript[seen:] for message in messages(turn)]
    if seen:  # the room has that turn, but not the outputs of its calls
        news = [*results(request.transcript[seen - 1]), *news]
    return {"model": model, "brief": request.instructions, "tools": msgspec.to_builtins(request.tools), "say": news}


def messages(turn: port.UserTurn | port.AssistantTurn) -> Iterator[Json]:
    """A turn as the room stores it."""
    if isinstance(turn, port.UserTurn):
        yield {"from": "user" if turn.role == "user" else "app", "text": text(turn.content)}
        return
    calls = [{"name": call.part.name, "arguments": call.part.arguments} for call in turn.local_calls]
    if calls or text(turn.parts):
        yield {"from": "model", "text": text(turn.parts), "calls": calls}
    yield from results(turn)


def results(turn: port.UserTurn | port.AssistantTurn) -> Iterator[Json]:
    """The outputs of a turn's calls, in their order. They include what a person edited: the room has the old call."""
    if isinstance(turn, port.AssistantTurn) and turn.local_calls:
        yield {"from": "tools", "results": [output_text(call) for call in turn.local_calls]}


def text(parts: Sequence[port.Content | port.TextPart | port.ReasoningPart | port.SettledCall]) -> str:
    """What can be sent as text."""
    return "\n\n".join(filter(None, map(_text, parts)))


def _text(part: port.Content | port.TextPart | port.ReasoningPart | port.SettledCall) -> str:
    match part:
        case port.Text() | port.TextPart():
            return part.text
        case port.Media():
            return f"[{part.kind} left out: this adapter sends text alone]"
        case port.SettledCall() if not part.part.local:
            return port.retold(part)  # another provider ran it
    return ""


# --- From the provider.


class Event(msgspec.Struct):
    """An event of the stream. A member of a wrong type is read as its default."""

    kind: str = ""
    text: str = ""
    name: str = ""
    code: str = ""
    why: str = ""
    tokens: tuple[int, int] | None = None


read = event_decoder(Event)


class Answer:
    """Events to model events. Calls end with the answer, so none runs if it is cut off."""

    def __init__(self, model: str, ref: port.ConversationRef) -> None:
        self.model, self.ref, self.done, self.text = model, ref, False, False
        self.failure: Failure | None = None
        self.calls: list[str] = []

    def feed(self, payloads: list[bytes]) -> list[port.ModelEvent]:
        """The events of these payloads."""
        return [event for payload in payloads if not (self.done or self.failure) for event in self._told(read(payload))]

    def end(self) -> list[port.ModelEvent]:
        """A body that ends without its last event was cut off."""
        return []

    def _told(self, event: Event) -> Iterator[port.ModelEvent]:
        match event.kind:
            case "text":
                if not self.text:
                    self.text = True
                    yield port.TextStart("text")
                yield port.TextDelta("text", event.text)
            case "call":
                key = f"call-{len(self.calls)}"
                self.calls.append("")
                yield port.CallStart(key, key, event.name)
            case "arguments" if self.calls:
                self.calls[-1] += event.text
                yield port.CallDelta(f"call-{len(self.calls) - 1}", event.text)
            case "error":
                self.failure = classify_code(ErrorReply(event.code, event.text), API)
            case "end":
                yield from self._end(event)

    def _end(self, event: Event) -> Iterator[port.ModelEvent]:
        self.done, cut = True, event.why != "done"
        if self.text:
            yield port.TextEnd("text")
        for number, arguments in enumerate([] if cut else self.calls):
            yield port.CallEnd(f"call-{number}", arguments or "{}")
        usage = port.Usage("rooms", self.model, *(event.tokens or (None, None)))
        if cut:
            yield port.TurnDone("incomplete", event.why, usage)
        else:
            yield port.TurnDone("completed", None, usage, self.ref)


agent = Agent(name="helper", model=Rooms("host", base_url="http://127.0.0.1:8080/v1", api_key="…"))
