"""The Chat Completions API of one host."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Final

from agui_gate_adapters.testkit.api import Create
from agui_gate_adapters.testkit.chat import violations as cv
from agui_gate_adapters.testkit.chat.answer import ChatAnswer
from agui_gate_adapters.testkit.chat.checks import check_chat_request
from agui_gate_adapters.testkit.chat.profiles import ChatProfile
from agui_gate_adapters.testkit.chat.violations import error_body
from agui_gate_adapters.testkit.faults import Fault, Reply, Violation, error_reply, status_violation
from agui_gate_adapters.testkit.host import Host, parse_object
from agui_gate_adapters.testkit.openai import violations as v
from agui_gate_adapters.testkit.script import Asked
from agui_gate_adapters.testkit.wire import Json

# A Chat request in the terms that scripts and the demo model read: messages, calls and outputs with unique ids.
#
# A call id belongs to one turn only, and may even repeat inside it. So a call is known by the turn, the id and how
# often it occurred. An answer goes to the oldest call of its id that has none.


def asked_of(body: Json) -> Asked:
    """Return what a turn can be matched against; the request is valid by now."""
    tools = [{"type": "function", **tool["function"]} for tool in body.get("tools") or () if "function" in tool]
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and "function" in choice:
        choice = {"type": "function", "name": choice["function"]["name"]}
    return Asked.neutral(body["model"], list(items_of(body["messages"])), tools, choice)


def items_of(messages: list[Json]) -> Iterator[Json]:
    """Yield the messages as items."""
    waiting: dict[str, deque[str]] = defaultdict(deque)
    for turn, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = waiting[message["tool_call_id"]].popleft()
            yield {"type": "function_call_output", "call_id": call_id, "output": message["content"]}
            continue
        if message.get("content"):
            yield {"type": "message", "role": message["role"], "content": message["content"]}
        calls = message.get("tool_calls") or ()
        if calls:
            waiting.clear()
        for number, call in enumerate(calls):
            unique = f"{turn}.{number}"
            waiting[call["id"]].append(unique)
            yield {"type": "function_call", "call_id": unique, **_function(call)}


def _function(call: Json) -> Json:
    told = call.get("function") or {}
    return {"name": told.get("name", ""), "arguments": told.get("arguments", "")}


_PATH: Final = "/v1/chat/completions"


class Chat:
    """See `testkit.api.Api`."""

    def __init__(self, host: Host, profile: ChatProfile) -> None:
        self.profile = profile
        self._host = host

    @property
    def paths(self) -> Mapping[str, Create]:
        """`POST /v1/chat/completions`."""
        return {_PATH: self.create}

    def authorize(self, headers: Mapping[str, str]) -> None:
        """Check the bearer key, or Azure's own header; raises `Refused`."""
        given = headers.get("authorization")
        if given is None and self.profile.key_header and headers.get("api-key"):
            given = f"Bearer {headers['api-key']}"
        self._host.check_bearer(given)

    def error_reply(self, violation: Violation, retry_after: float | None = None) -> Reply:
        """Return the error in the shape of the profile."""
        return error_reply(violation.status, error_body(self.profile, violation), retry_after)

    def fault_violation(self, fault: Fault) -> Violation:
        """Return OpenAI's words for a fault; most servers have borrowed them."""
        return v.conversation_locked() if fault.kind == "locked" else status_violation(fault)

    def create(self, raw: bytes, headers: Mapping[str, str] | None = None) -> ChatAnswer | Reply:
        """Handle `POST /chat/completions`: an answer to be delivered, or a whole reply (refusals, early faults)."""
        body = parse_object(raw)
        if body is None:
            return self._host.refuse(self, "POST", _PATH, v.bad_json())
        broken = check_chat_request(body, self.profile, models=self._host.models)
        if broken:
            return self._host.refuse(self, "POST", _PATH, broken[0], body)
        if self._host.is_flagged(raw):
            flagged = cv.flagged() if self.profile.prelude else v.flagged()
            return self._host.refuse(self, "POST", _PATH, flagged, body)
        play = self._host.play(self, _PATH, body, asked_of(body), streamed=bool(body.get("stream")))
        if isinstance(play, Reply):
            return play
        answer = ChatAnswer(self._host.memory, body, play, self.profile, size=len(raw))
        return self._host.accept(_PATH, body, answer)
