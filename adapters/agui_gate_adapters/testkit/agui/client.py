"""A client that behaves as AG-UI clients do: it pins its thread id and replays its full history with every run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from agui_gate_adapters.testkit.agui.reducer import apply
from agui_gate_adapters.testkit.agui.stream import Json, Stream, parse

if TYPE_CHECKING:
    import httpx2

CARD_TOOL = {"name": "confirm_changes", "description": "Confirm.", "parameters": {"type": "object", "properties": {}}}
"""What a page advertises that draws confirm cards itself; without it gated calls come as interrupts."""
TIMEOUT = 20.0
"""Seconds for each read of a run."""

_ids = count(1)


def connecting() -> "httpx2.AsyncClient":
    """An HTTP client for loopback alone: without TLS, whose set-up takes longer than most tests."""
    import httpx2

    return httpx2.AsyncClient(timeout=TIMEOUT, verify=False)


@dataclass
class AGUIClient:
    """One client on one thread. ``path`` is the agent's route, ``tools`` are the client's own."""

    http: "httpx2.AsyncClient"
    url: str
    thread_id: str = field(default_factory=lambda: f"thread-{next(_ids)}")
    tools: list[Json] = field(default_factory=list)
    messages: list[Json] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    path: str = "/"
    state: Json = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
    streams: list[Stream] = field(default_factory=list)

    async def say(self, text: str, **more: Any) -> Stream:
        """Send a new user message."""
        self.messages.append({"id": f"u{next(_ids)}", "role": "user", "content": text})
        return await self.go(**more)

    async def resume(self, *answers: tuple[str, Any], **more: Any) -> Stream:
        """Answer interrupts by id."""
        entries = [{"interruptId": i, "status": "resolved", "payload": payload} for i, payload in answers]
        return await self.go(resume=entries, **more)

    async def answer(self, *answers: tuple[str, Any], **more: Any) -> Stream:
        """Answer cards (or real calls) with tool messages."""
        for call_id, payload in answers:
            content = payload if isinstance(payload, str) else json.dumps(payload)
            self.messages.append({"id": f"a{next(_ids)}", "role": "tool", "toolCallId": call_id, "content": content})
        return await self.go(**more)

    async def decide(self, asked: Stream, *payloads: Any, approved: bool | None = None, **more: Any) -> Stream:
        """Answer what ``asked`` waits for, in order and in the style in which it was asked.

        One payload a question; or one for all: ``approved``. Fewer payloads leave the rest open.
        """
        ids = [ask["id"] for ask in asked.interrupts] or list(asked.cards)
        given = payloads or tuple({"approved": approved} for _ in ids)
        answers = list(zip(ids, given, strict=False))
        return await (self.resume(*answers, **more) if asked.interrupts else self.answer(*answers, **more))

    async def go(self, **more: Any) -> Stream:
        """One run with the history as it is."""
        body = self.body(**more)
        stream = await self.post(body)
        if stream.status == 200:
            stream.input = body
            self.streams.append(stream)
            apply(self.messages, stream)
        return stream

    def body(self, **more: Any) -> Json:
        """The request's body."""
        return {
            "threadId": self.thread_id,
            "runId": f"run-{next(_ids)}",
            "messages": json.loads(json.dumps(self.messages)),
            "tools": self.tools,
            "context": [],
            "state": self.state,
            "forwardedProps": {},
            **self.extra,
            **more,
        }

    async def post(self, body: Mapping[str, Any]) -> Stream:
        """One request, read to its end."""
        response = await self.http.post(self.url + self.path, json=body, headers=self.headers)
        if response.status_code != 200:
            stream = Stream([{"type": "HTTP", **response.json()}])
        else:
            stream = parse(response.text)
            stream.run_key = response.headers["agui-run-key"]
        stream.status = response.status_code
        return stream
