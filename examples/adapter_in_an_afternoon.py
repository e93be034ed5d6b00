"""An adapter in an afternoon: a server that keeps to OpenAI's form of Chat Completions, as a model.

`adapters/README.md` reads it with you; the conformance suite holds it to what every adapter must do.

    agui-gate serve adapter_in_an_afternoon:agent
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agui_gate import Agent
from agui_gate import adapter as port
from agui_gate.errors import ProviderUnavailable
from agui_gate_adapters.common import doctor
from agui_gate_adapters.common.failures import Api, Failure, Kind
from agui_gate_adapters.common.names import stream_named
from agui_gate_adapters.common.openai_transport import OpenAITransport
from agui_gate_adapters.common.provider_turn import Batches, Opened, run_turn, sent
from agui_gate_adapters.common.retries import Once
from agui_gate_adapters.common.transport import host_of

Json = dict[str, Any]
API = Api("Chat Completions API", "OPENAI_API_KEY")


class SmallChat:
    """A model behind a Chat Completions server, which remembers nothing: each turn sends the whole conversation."""

    def __init__(self, model: str, *, base_url: str = "https://api.openai.com/v1", api_key: str | None = None) -> None:
        self.model, self.host = model, host_of(base_url)
        options: Json = {"base_url": base_url, "api_key": api_key, "client": None, "timeout": 60.0}
        self.transport = OpenAITransport(API, model=model, path="/chat/completions", **options)

    @property
    def origin(self) -> str:
        """Whose private parts and refs may be used again; this adapter makes none."""
        return f"small-chat:{self.host}:{self.model}"

    def stream(self, request: port.TurnRequest) -> Batches:
        """One turn. What may help is tried once more, as long as nothing was shown."""
        return stream_named(request, lambda named: run_turn(self._begin, named, Once()))

    async def _begin(self, request: port.TurnRequest) -> Opened:
        return Opened(await sent(self.transport, request, lambda: body(request, self.model)), Answer(self.model))

    async def check(self) -> Sequence[port.Finding]:
        """For `agui-gate doctor`: does it answer, and does it know the model?"""
        return [await doctor.check(self.transport, self.model, self.host)]

    async def aclose(self) -> None:
        """Close the connections."""
        await self.transport.aclose()


# --- To the provider. In a settled transcript every call has its output, so there is nothing left to be paired.


def body(request: port.TurnRequest, model: str) -> Json:
    """The request for a turn."""
    tools = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in request.tools]
    made: Json = {"model": model, "messages": messages(request), "stream": True}
    return made | {"stream_options": {"include_usage": True}} | ({"tools": tools} if tools else {})


def messages(request: port.TurnRequest) -> list[Json]:
    """The conversation. Call ids are made anew: those of a transcript may repeat, or be another provider's."""
    made: list[Json] = [{"role": "system", "content": request.instructions}] if request.instructions else []
    for turn in request.transcript:
        if isinstance(turn, port.UserTurn):
            role = "user" if turn.role == "user" else "system"
            made.append({"role": role, "content": "\n\n".join(map(told, turn.content))})
            continue
        said = "\n\n".join(filter(None, map(told, turn.parts)))
        calls = [(f"call_{len(made)}_{number}", call) for number, call in enumerate(turn.local_calls)]
        if said or calls:
            asked = {"tool_calls": [called(*call) for call in calls]} if calls else {}
            made.append({"role": "assistant", "content": said or None, **asked})
        made += [{"role": "tool", "tool_call_id": i, "content": call.output.content} for i, call in calls]
    return made


def called(call_id: str, call: port.SettledCall) -> Json:
    """A call, with the arguments that really ran."""
    return {"id": call_id, "type": "function", "function": {"name": call.part.name, "arguments": call.arguments}}


def told(part: port.Content | port.TextPart | port.ReasoningPart | port.SettledCall) -> str:
    """A part as text, "" if it isn't one: calls have a place of their own, and another model's thoughts none."""
    match part:
        case port.Text() | port.TextPart():
            return part.text
        case port.Media():
            return f"[{part.kind} left out: this adapter sends text alone]"
        case port.SettledCall() if not part.part.local:
            return port.retold(part)  # a provider ran it itself
    return ""


# --- From the provider.


class Answer:
    """Chunks to events. Nothing ends before the whole answer was read: what was cut off must not look complete."""

    def __init__(self, model: str) -> None:
        self.model, self.finish, self.text, self.done = model, "", False, False
        self.failure: Failure | None = None
        self.usage: dict[str, int] = {}
        self.calls: dict[int, str] = {}

    def feed(self, payloads: list[bytes]) -> list[port.ModelEvent]:
        """The events of what one network read completed."""
        return [event for payload in payloads if not self.failure for event in self._read(payload)]

    def _read(self, payload: bytes) -> Iterator[port.ModelEvent]:
        if payload == b"[DONE]":
            yield from self.end()
            return
        try:
            chunk = msgspec.json.decode(payload, type=Json)
        except ValueError:
            chunk = {"error": "not readable"}
        if "error" in chunk:
            self.failure = Failure(ProviderUnavailable("The provider failed while it answered."), Kind.AMBIGUOUS)
        self.usage = chunk.get("usage") or self.usage
        for choice in chunk.get("choices") or ():
            self.finish = choice.get("finish_reason") or self.finish
            yield from self._add(choice.get("delta") or {})

    def _add(self, delta: Json) -> Iterator[port.ModelEvent]:
        if text := delta.get("content"):
            if not self.text:
                self.text = True
                yield port.TextStart("text")
            yield port.TextDelta("text", text)
        for piece in delta.get("tool_calls") or ():
            index, function = piece["index"], piece["function"]
            if index not in self.calls:
                self.calls[index] = ""
                yield port.CallStart(f"call-{index}", piece["id"], function["name"])
            if text := function.get("arguments"):
                self.calls[index] += text
                yield port.CallDelta(f"call-{index}", text)

    def end(self) -> list[port.ModelEvent]:
        """The last events, if it was not cut off. Calls in an answer that a limit cut are never ended, so never run."""
        if self.done or not self.finish:
            return []
        self.done, whole = True, self.finish not in ("length", "content_filter")
        ends = [port.CallEnd(f"call-{i}", text or "{}") for i, text in self.calls.items()] if whole else []
        taken, given = self.usage.get("prompt_tokens"), self.usage.get("completion_tokens")
        usage = port.Usage("small-chat", self.model, taken, given)
        done = port.TurnDone("completed" if whole else "incomplete", None if whole else self.finish, usage)
        return [*([port.TextEnd("text")] if self.text else []), *ends, done]


agent = Agent(name="assistant", model=SmallChat("gpt-5.4-mini"))
