"""The state of the emulated provider: responses, conversations and items.

Nothing here checks anything; `checks` reads this state and `exchange` writes it. Three facts shape it:

* a stored response carries its whole merged context (parent's context, its input, its output), so continuing from
  any response, old ones included, is one look-up;
* a conversation is one mutable list that grows only when a response is complete;
* every item that was ever issued is remembered with the neighbour it was issued with, stored or not. The reasoning
  rules (R4, R5) and the two wordings of R9 depend on it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.journal import Clock, Memory
from agui_gate_adapters.testkit.kinds import kind_of
from agui_gate_adapters.testkit.script import text_of
from agui_gate_adapters.testkit.wire import Json

RETENTION_SECONDS: Final = 30 * 86_400
"""A response can be continued for 30 days."""

MAX_RESPONSES: Final = 20_000
"""Responses that are kept. Beyond that the oldest are dropped."""


class IssuedItem(msgspec.Struct):
    """An item the provider has seen, with the neighbours that the reasoning rules bind it to."""

    item: Json
    stored: bool
    followed_by: str | None = None
    """For reasoning: the id of the item that it was issued with (R4)."""
    reasoning_id: str | None = None
    """For anything else: the id of the reasoning right before it (R5)."""


class StoredResponse(msgspec.Struct):
    """One response that can be retrieved, continued, or both."""

    response: Json
    input: list[Json]
    context: list[Json]
    """Everything that the next request in this chain is merged with."""
    created_at: float
    background: bool = False
    events: list[Json] = []
    """Kept for background responses, which can be streamed again."""

    @property
    def continuable(self) -> bool:
        """Only a finished answer can be a parent; failed and cancelled ones cannot."""
        return self.response["status"] in ("completed", "incomplete")


class Conversation(msgspec.Struct):
    """A mutable list of items; `locked_by` is the response that is being made on it."""

    id: str
    created_at: float
    metadata: Json
    items: list[Json]
    locked_by: str | None = None


class ProviderState(Memory):
    """The whole state."""

    def __init__(self, *, seed: int = 0, clock: Clock | None = None) -> None:
        super().__init__(seed=seed, clock=clock)
        self.responses: dict[str, StoredResponse] = {}
        self.conversations: dict[str, Conversation] = {}
        self.issued: dict[str, IssuedItem] = {}

    def forget(self) -> None:
        """Forgets all responses, conversations and items, as after an expiry or a failover."""
        self.responses.clear()
        self.conversations.clear()
        self.issued.clear()

    def parent(self, response_id: str) -> StoredResponse | None:
        """Return the response to continue from, or None when it is unknown, unfinished or expired."""
        found = self.responses.get(response_id)
        if found is None or not found.continuable:
            return None
        return None if self.clock.now() - found.created_at > RETENTION_SECONDS else found

    def keep(self, record: StoredResponse) -> None:
        """Store a response under its id and drop the oldest ones over the limit."""
        self.responses[str(record.response["id"])] = record
        while len(self.responses) > MAX_RESPONSES:
            del self.responses[next(iter(self.responses))]

    def remember_output(self, items: list[Json], *, stored: bool) -> None:
        """Record issued items together with the reasoning neighbourhood they were issued in."""
        before: str | None = None
        for item in items:
            item_id = str(item["id"])
            self.issued[item_id] = IssuedItem(item, stored, reasoning_id=before)
            if before is not None:
                self.issued[before].followed_by = item_id
            before = item_id if item["type"] == "reasoning" else None

    def remember_input(self, items: list[Json], *, stored: bool) -> None:
        """Record items that came in; an id that is already known keeps its neighbours."""
        for item in items:
            known = self.issued.get(str(item.get("id")))
            if known is not None:
                known.stored = known.stored or stored
            elif stored and item.get("id"):
                self.issued[str(item["id"])] = IssuedItem(item, stored)

    def drop_item(self, item_id: str) -> None:
        """Forget one item and untie its neighbours, so that deleting half of a group leaves a legal rest."""
        gone = self.issued.pop(item_id, None)
        if gone is None:
            return
        if gone.reasoning_id in self.issued:
            self.issued[gone.reasoning_id].followed_by = None
        if gone.followed_by in self.issued:
            self.issued[gone.followed_by].reasoning_id = None


# How stored things look from outside: response objects, item lists, conversations, pages.

_ECHOED: Final[dict[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
    "metadata": {},
    "max_tool_calls": None,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "service_tier": "default",
    "safety_identifier": None,
    "prompt_cache_key": None,
}
"""What a response repeats of its request, and what it says where the request says nothing."""

_FUNCTION: Final[Json] = {"description": None, "parameters": None, "strict": True}


def new_response(response_id: str, body: Json, created_at: int, *, store: bool) -> Json:
    """Return the response object at its beginning: the request echoed, no output yet."""
    response: Json = {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "status": "in_progress",
        "background": bool(body.get("background")),
        "error": None,
        "incomplete_details": None,
        "model": body["model"],
        "output": [],
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "store": store,
        "text": {"format": {"type": "text"}, "verbosity": "medium", **(body.get("text") or {})},
        "tools": [_FUNCTION | tool if tool["type"] == "function" else tool for tool in body.get("tools") or ()],
        "usage": None,
    }
    for name, default in _ECHOED.items():
        value = body.get(name)
        response[name] = default if value is None else value
    if body.get("conversation") is not None:
        named = body["conversation"]
        response["conversation"] = {"id": named["id"] if isinstance(named, dict) else named}
    return response


def usage_of(input_tokens: int, output: list[Json]) -> Json:
    """Estimate the usage: four characters a token, nothing cached."""
    letters = sum(len(text_of(item)) + len(str(item.get("arguments") or "")) for item in output)
    reasoning = 16 * sum(item["type"] == "reasoning" for item in output)
    output_tokens = letters // 4 + reasoning
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": input_tokens + output_tokens,
    }


def item_view(item: Json) -> Json:
    """Return a stored item as lists show it: typed, with a status, its content in parts."""
    if kind_of(item) != "message" or not isinstance(item.get("content"), str):
        return {"type": kind_of(item), **item}
    text = item["content"]
    if item["role"] == "assistant":
        part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    else:
        part = {"type": "input_text", "text": text}
    return {"status": "completed", **item, "type": "message", "content": [part]}


def conversation_view(conversation: Conversation) -> Json:
    """Return the conversation object."""
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": int(conversation.created_at),
        "metadata": conversation.metadata,
    }


def page(items: list[Json], *, after: str | None = None, limit: int = 20, order: str = "desc") -> Json:
    """Return one page of items; `after` is the id of the last item of the page before."""
    ordered = items if order == "asc" else items[::-1]
    ids = [item["id"] for item in ordered]
    start = ids.index(after) + 1 if after in ids else 0
    shown = [item_view(item) for item in ordered[start : start + limit]]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": start + limit < len(ordered),
    }
