"""An adapter in an afternoon: a Chat Completions server as a model, with an HTTP client and nothing else.

`adapters/README.md` reads it with you; the conformance suite holds it to what every adapter must do.

    agui-gate serve adapter_in_an_afternoon:agent
"""

import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
import msgspec

from agui_gate import Agent, errors
from agui_gate import adapter as port

Json = dict[str, Any]
Batches = AsyncGenerator[Sequence[port.ModelEvent], None]

PAUSE, PATIENCE = 0.3, 5.0
"""Seconds before the second try, and the most that a provider may ask for instead."""


class Again(Exception):
    """A failure that a second try, ``wait`` seconds later, may not meet."""

    def __init__(self, message: str, wait: float | None = None, kind: type = errors.ProviderUnavailable) -> None:
        self.error, self.wait = kind(message), PAUSE if wait is None else wait


class SmallChat:
    """A model behind a Chat Completions server, which remembers nothing: each turn sends the whole conversation."""

    def __init__(self, model: str, *, base_url: str = "https://api.openai.com/v1", api_key: str | None = None) -> None:
        key = api_key or os.environ.get("OPENAI_API_KEY", "")
        self.model, self.host = model, httpx2.URL(base_url).netloc.decode()
        self.http = httpx2.AsyncClient(base_url=base_url, headers={"authorization": f"Bearer {key}"}, timeout=60)

    @property
    def origin(self) -> str:
        """Whose private parts and refs may be used again; this adapter makes none."""
        return f"small-chat:{self.host}:{self.model}"

    async def stream(self, request: port.TurnRequest) -> Batches:
        """One turn. What may help is tried once more, as long as nothing was shown."""
        shown = retried = False
        while True:
            try:
                async with aclosing(self._attempt(request)) as batches:
                    async for batch in batches:
                        shown = True
                        yield batch
                return
            except Again as failure:
                if shown or retried or failure.wait > PATIENCE:
                    raise failure.error from failure
                retried = True
                await anyio.sleep(failure.wait)

    async def _attempt(self, request: port.TurnRequest) -> Batches:
        """One request. A batch is what one network read brought, wherever the network cut it."""
        answer, rest = Answer(self.model), b""
        try:
            async with self.http.stream("POST", "chat/completions", json=body(request, self.model)) as response:
                check_reply(response)
                async for chunk in response.aiter_bytes():
                    *lines, rest = (rest + chunk).split(b"\n")
                    if batch := [event for line in lines for event in answer.read(line)]:
                        yield batch
        except httpx2.HTTPError as error:
            raise Again("The provider can't be reached.") from error
        yield [*answer.read(rest), *answer.end()]

    async def check(self) -> Sequence[port.Finding]:
        """For `agui-gate doctor`: does it answer, and does it know the model?"""
        what, fix = f"model {self.model} at {self.host}", "Check base_url, OPENAI_API_KEY and the model's name."
        try:
            reply = await self.http.get(f"models/{quote(self.model)}", timeout=10)
        except httpx2.HTTPError:
            return [port.Finding(what, False, "can't be reached", fix)]
        well = reply.is_success and "json" in reply.headers.get("content-type", "")
        return [port.Finding(what, well, f"answers with {reply.status_code}", "" if well else fix)]

    async def aclose(self) -> None:
        """Close the connections."""
        await self.http.aclose()


# --- To the provider. In a settled transcript every call has its output, so there is nothing left to be paired.


def body(request: port.TurnRequest, model: str) -> Json:
    """The request for a turn."""
    made: Json = {"model": model, "messages": messages(request), "stream": True}
    if request.tools:
        made["tools"] = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in request.tools]
    return made | {"stream_options": {"include_usage": True}}


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
        self.model, self.finish, self.text = model, "", False
        self.usage: dict[str, int] = {}
        self.calls: dict[int, str] = {}

    def read(self, line: bytes) -> Iterator[port.ModelEvent]:
        """The events of one line of the body."""
        if not line.startswith(b"data:") or (payload := line[5:].strip()) == b"[DONE]":
            return
        try:
            chunk = msgspec.json.decode(payload, type=Json)
        except ValueError as error:
            raise Again("The provider's answer is not readable.") from error
        if "error" in chunk:
            raise Again("The provider failed while it answered.")
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

    def end(self) -> Iterator[port.ModelEvent]:
        """The last events. A call in an answer that a limit cut is never ended, so it never runs."""
        if not self.finish:
            raise Again("The provider's answer was cut off.")
        if self.text:
            yield port.TextEnd("text")
        whole = self.finish not in ("length", "content_filter")
        for index, arguments in self.calls.items() if whole else ():
            yield port.CallEnd(f"call-{index}", arguments or "{}")
        taken, given = self.usage.get("prompt_tokens", 0), self.usage.get("completion_tokens", 0)
        usage = port.Usage("small-chat", self.model, taken, given, taken + given)
        yield port.TurnDone("completed" if whole else "incomplete", None if whole else self.finish, usage)


def check_reply(response: httpx2.Response) -> None:
    """Raise what a refusal means, in our words: the provider's own may quote the conversation."""
    status, wait = response.status_code, response.headers.get("retry-after", "")
    seconds = float(wait) if wait.isdecimal() else None
    if status == 429:
        raise Again("The provider asks to slow down (429).", seconds, errors.RateLimited)
    if status in (408, 409) or status >= 500:
        raise Again(f"The provider is not available right now ({status}).", seconds)
    if status in (401, 403):
        raise errors.ProviderAuth(f"The provider does not accept the API key ({status}): check OPENAI_API_KEY.")
    if status != 200:
        raise errors.ProviderRejected(f"The provider refuses this ({status}): check base_url, model and tools.")
    if "event-stream" not in response.headers.get("content-type", ""):
        raise Again("The provider's answer is no event stream: check base_url.")


agent = Agent(name="assistant", model=SmallChat("gpt-5.4-mini"))
