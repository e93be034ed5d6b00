"""A client that behaves as AG-UI clients do: it pins its thread id and replays its full history with every run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from agui_gate_adapters.testkit.agui.stream import Json, Stream, apply, folded, held, parse

if TYPE_CHECKING:
    import httpx2

CARD_TOOL = {"name": "confirm_changes", "description": "Confirm.", "parameters": {"type": "object", "properties": {}}}
"""What a page advertises that draws confirm cards itself; without it gated calls come as interrupts."""
TIMEOUT = 60.0
"""Seconds for each read of a run."""

MEMBERS = frozenset(
    {
        "context",
        "forwardedProps",
        "messages",
        "parentRunId",
        "protocolVersion",
        "resume",
        "runId",
        "state",
        "threadId",
        "tools",
    }
)
"""What a request may have; its snake_case spellings count too."""

_ids = count(1)


def connecting() -> "httpx2.AsyncClient":
    """Makes an HTTP client for loopback only: without certificates, which take longer than most tests, or a proxy."""
    import httpx2

    from agui_gate_adapters.common.wire import Wire

    context = httpx2.create_ssl_context(verify=False)
    return httpx2.AsyncClient(timeout=TIMEOUT, transport=Wire(context, httpx2.Limits()), trust_env=False)


@dataclass
class AGUIClient:
    """One client on one thread. ``path`` is the agent's route, ``tools`` are the client's own.

    What its methods take as ``more`` are members of the request, as in `RunAgentInput`. Any other name is a TypeError:
    it would be sent, and nobody would read it. ``extra`` is for members that no protocol has; it goes with every run.
    """

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
        _check(more)
        self.messages.append({"id": f"u{next(_ids)}", "role": "user", "content": text})
        return await self.go(**more)

    async def resume(self, *answers: tuple[str, Any], **more: Any) -> Stream:
        """Answer interrupts by id."""
        entries = [{"interruptId": i, "status": "resolved", "payload": payload} for i, payload in answers]
        return await self.go(resume=entries, **more)

    async def answer(self, *answers: tuple[str, Any], **more: Any) -> Stream:
        """Answer cards (or real calls) with tool messages."""
        _check(more)
        fold = folded(self.messages)
        for call_id, payload in answers:
            content = payload if isinstance(payload, str) else json.dumps(payload)
            fold.add({"id": f"a{next(_ids)}", "role": "tool", "toolCallId": call_id, "content": content})
        self.messages[:] = held(fold)
        return await self.go(**more)

    async def decide(self, asked: Stream, *payloads: Any, approved: bool | None = None, **more: Any) -> Stream:
        """Answer what ``asked`` waits for, in order and in the style in which it was asked.

        One payload a question; or one for all: ``approved``. Fewer payloads leave the rest open. An edit is said in a
        payload: ``{"approved": True, "editedArgs": {…}}``, or ``edited_arguments`` for a card. Raises TypeError for
        both payloads and ``approved``, and for neither.
        """
        _check(more)
        if bool(payloads) is (approved is not None):
            raise TypeError("decide() takes payloads, one a question, or approved=True or False for all")
        ids = [ask["id"] for ask in asked.interrupts] or list(asked.cards)
        given = payloads or tuple({"approved": approved} for _ in ids)
        answers = list(zip(ids, given, strict=False))
        return await (self.resume(*answers, **more) if asked.interrupts else self.answer(*answers, **more))

    async def go(self, **more: Any) -> Stream:
        """Runs with the history as it is."""
        body = self.body(**more)
        stream = await self.post(body)
        if stream.status == 200:
            stream.input = body
            self.streams.append(stream)
            apply(self.messages, stream)
        return stream

    def body(self, **more: Any) -> Json:
        """Returns the body of a run's request."""
        _check(more)
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
        """Sends a request and reads its response to the end."""
        response = await self.http.post(self.url + self.path, json=body, headers=self.headers)
        if response.status_code != 200:
            stream = Stream([{"type": "HTTP", **response.json()}])
        else:
            stream = parse(response.text)
            stream.run_key = response.headers["agui-run-key"]
        stream.status = response.status_code
        return stream


def _check(more: Mapping[str, Any]) -> None:
    """Raise TypeError for what is no member of a request."""
    known = MEMBERS | {_snake(name) for name in MEMBERS}
    unknown = sorted(more.keys() - known)
    if unknown:
        hint = ' (an edit goes into a payload: {"approved": True, "editedArgs": {…}})' if "edited" in unknown else ""
        raise TypeError(f"a run has no member {', '.join(unknown)}; it has {', '.join(sorted(MEMBERS))}{hint}")


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
