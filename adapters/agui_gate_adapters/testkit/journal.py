"""The journal: every request that reached the emulator, as accepted or refused, for tests to assert on."""

from __future__ import annotations

from typing import Final

import msgspec

from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Entry", "Journal"]

_MAX_ENTRIES: Final = 10_000


class Entry(msgspec.Struct):
    """One request for an answer, in any API, and every refused one on another route."""

    number: int
    method: str
    path: str
    status: int
    rule: str | None = None
    """The broken rule, `R1` and so on; None for accepted requests."""
    error: Json | None = None
    body: Json | None = None
    """As it was sent."""
    response_id: str | None = None
    fault: str | None = None
    """The kind of fault that struck; the request itself was accepted."""
    items: list[Json] = msgspec.field(default_factory=list)
    """What the model was asked about, whatever the API: the whole conversation as Responses items, history first."""
    ended: str | None = None
    """How the answer ended: `completed`, `incomplete`, `failed`, `cancelled`, or `aborted` by cut or disconnect."""
    tools: list[str] = msgspec.field(default_factory=list)
    """The names of the tools that were offered, whatever the API."""

    @property
    def accepted(self) -> bool:
        """Whether validation found nothing."""
        return self.rule is None


class Journal:
    """Entries in order of arrival; the oldest are dropped beyond 10,000."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._count = 0

    def accept(self, path: str, body: Json, response_id: str | None, fault: str | None, status: int) -> Entry:
        """Record a request that passed validation."""
        return self._add(Entry(self._count, "POST", path, status, body=body, response_id=response_id, fault=fault))

    def refuse(self, method: str, path: str, body: Json | None, violation: Violation, error: Json) -> Entry:
        """Record a refused request with the rule it broke and the error as it was told."""
        return self._add(Entry(self._count, method, path, violation.status, violation.rule, error, body))

    def clear(self) -> None:
        """Start over; numbers go on."""
        self.entries.clear()

    def _add(self, entry: Entry) -> Entry:
        self._count += 1
        if len(self.entries) >= _MAX_ENTRIES:
            del self.entries[: _MAX_ENTRIES // 10]
        self.entries.append(entry)
        return entry
