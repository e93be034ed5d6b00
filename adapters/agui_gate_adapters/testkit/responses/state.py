"""What the emulated provider remembers: responses, conversations and items.

Nothing here checks anything; `checks` reads this state and the engine writes it. Three facts shape it:

* a stored response carries its whole merged context (parent's context, its input, its output), so continuing from
  any response, old ones included, is one look-up;
* a conversation is one mutable list that grows only when a response is complete;
* every item that was ever issued is remembered with the neighbour it was issued with, stored or not. The reasoning
  rules (R4, R5) and the two wordings of R9 depend on it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agui_gate_adapters.testkit.memory import Clock, Memory
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Conversation", "IssuedItem", "ProviderState", "StoredResponse"]

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
    """Everything remembered."""

    def __init__(self, *, seed: int = 0, clock: Clock | None = None) -> None:
        super().__init__(seed=seed, clock=clock)
        self.responses: dict[str, StoredResponse] = {}
        self.conversations: dict[str, Conversation] = {}
        self.issued: dict[str, IssuedItem] = {}

    def forget(self) -> None:
        """Lose all responses, conversations and items, as an expiry, a failover or another region would."""
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
