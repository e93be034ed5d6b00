"""A provider that nobody here has heard of, as its adapter's author would write it: lines of JSON, no SDK.

Call ids are numbers, results come in one batch, and reasoning goes back under its seal, or the request is refused.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agui_gate import adapter as port
from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.common import doctor
from agui_gate_adapters.common.failures import Api, ErrorReply, Failure, Kind, classify_code
from agui_gate_adapters.common.http import Http
from agui_gate_adapters.common.provider_turn import Batches, Opened, run_turn, sent
from agui_gate_adapters.common.retries import Once
from agui_gate_adapters.common.transport import host_of

Json = dict[str, Any]


class Brook:
    """A model of Brook's."""

    api = Api("Brook API", "BROOK_API_KEY")

    def __init__(self, model: str, *, base_url: str, api_key: str) -> None:
        self.model, self.host = model, host_of(base_url)
        self.http = Http(
            self.api,
            base_url=base_url,
            headers={"authorization": f"Bearer {api_key}"},
            said=lambda error: ErrorReply(error["problem"]["kind"], error["problem"]["text"]),
            model=model,
            describes=("models", model),
            media="application/x-ndjson",
        )

    @property
    def origin(self) -> str:
        return f"brook:{self.host}:{self.model}"

    def stream(self, request: port.TurnRequest) -> Batches:
        return run_turn(self._begin, request, Once())

    async def _begin(self, request: port.TurnRequest) -> Opened:
        response = await sent(self.http.at("brook"), request, lambda: body(request, self.model, self.origin))
        return Opened(response, Answer(self.model), Lines())

    async def check(self) -> Sequence[port.Finding]:
        return [await doctor.check(self.http, self.model, self.host)]

    async def aclose(self) -> None:
        await self.http.aclose()


def body(request: port.TurnRequest, model: str, origin: str) -> Json:
    """The request for a turn."""
    return {
        "model": model,
        "brief": request.instructions,
        "tools": msgspec.to_builtins(request.tools),
        "flow": [message for turn in request.transcript for message in _messages(turn, origin)],
    }


def _messages(turn: port.UserTurn | port.AssistantTurn, origin: str) -> Iterator[Json]:
    if isinstance(turn, port.UserTurn):
        texts = [part.text if isinstance(part, port.Text) else f"[{part.kind} left out]" for part in turn.content]
        yield {"who": "user" if turn.role == "user" else "app", "text": "\n\n".join(texts)}
        return
    numbers = {call.part.id: number for number, call in enumerate(turn.local_calls)}
    if drops := [drop for part in turn.parts if (drop := _drop(part, numbers, mine=turn.origin == origin))]:
        yield {"who": "model", "drops": drops}
    if numbers:
        yield {"who": "results", "batch": [[numbers[c.part.id], c.output.content] for c in turn.local_calls]}


def _drop(part: Any, numbers: dict[str, int], *, mine: bool) -> Json | None:
    match part:
        case port.TextPart(text=text) if text:
            return {"t": "text", "s": text}
        case port.ReasoningPart(private={"s": text, "seal": seal}) if mine:
            return {"t": "thought", "s": text, "seal": seal}
        case port.SettledCall() if part.part.id in numbers:
            return {"t": "call", "id": numbers[part.part.id], "name": part.part.name, "args": part.arguments}
        case port.SettledCall():
            return {"t": "text", "s": port.retold(part)}
    return None


class Lines:
    """A payload is a line."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *lines, self._held = (self._held + chunk).split(b"\n")
        return lines

    def flush(self) -> list[bytes]:
        return [self._held] if self._held else []


class Answer:
    """Lines to events."""

    def __init__(self, model: str) -> None:
        self.model, self.done = model, False
        self.failure: Failure | None = None
        self._text = False
        self._thought = ""
        self._calls: dict[int, str] = {}

    def feed(self, payloads: list[bytes]) -> list[port.ModelEvent]:
        return [event for line in payloads if not (self.done or self.failure) for event in self._read(self._told(line))]

    def end(self) -> list[port.ModelEvent]:
        return []

    def _told(self, line: bytes) -> Any:
        try:
            return msgspec.json.decode(line)
        except msgspec.DecodeError:
            self.failure = Failure(ProviderUnavailable("The provider's stream is not readable."), Kind.AMBIGUOUS)

    def _read(self, told: Any) -> Iterator[port.ModelEvent]:
        match told:
            case {"t": "text", "s": text}:
                if not self._text:
                    self._text = True
                    yield port.TextStart("text")
                yield port.TextDelta("text", text)
            case {"t": "thought", "s": text}:
                if not self._thought:
                    yield port.ReasoningStart("thought")
                self._thought += text
                yield port.ReasoningDelta("thought", text)
            case {"t": "seal", "seal": seal}:
                yield port.ReasoningEnd("thought", seal, {"s": self._thought, "seal": seal})
            case {"t": "call", "id": number, "name": name}:
                self._calls[number] = ""
                yield port.CallStart(f"call-{number}", str(number), name)
            case {"t": "args", "id": number}:
                text = told["s"] if "s" in told else msgspec.json.encode(told["o"]).decode()
                self._calls[number] += text
                yield port.CallDelta(f"call-{number}", text)
            case {"t": "problem", "kind": kind, "text": text}:
                self.failure = classify_code(ErrorReply(kind, text), Brook.api)
            case {"t": "end", "why": why, "spent": [taken, given]}:
                yield from self._end(why, port.Usage("brook", self.model, taken, given))

    def _end(self, why: str, usage: port.Usage) -> Iterator[port.ModelEvent]:
        self.done = True
        if self._text:
            yield port.TextEnd("text")
        if why != "end":
            yield port.TurnDone("incomplete", why, usage)
            return
        yield from (port.CallEnd(f"call-{number}", text or "{}") for number, text in self._calls.items())
        yield port.TurnDone("completed", None, usage)
