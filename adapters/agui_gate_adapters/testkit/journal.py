"""The journal of an emulator: every request that reached it; a clock that tests can move, and new ids."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final

import msgspec

from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.wire import Json


class Clock:
    """Seconds since the epoch, plus whatever a test has added."""

    def __init__(self, base: Callable[[], float] = time.time) -> None:
        self._base = base
        self.offset = 0.0

    def now(self) -> float:
        """Return the time in seconds."""
        return self._base() + self.offset

    def advance(self, seconds: float) -> None:
        """Move the clock; negative values move it back."""
        self.offset += seconds


class Memory:
    """A clock, a repeatable source of chance, and ids. An API that remembers more extends it."""

    def __init__(self, *, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.random = random.Random(seed)

    def mint(self, prefix: str, digits: int = 48) -> str:
        """Return a new id such as `resp_0a1b…`; ids never repeat within one state, resets included."""
        return f"{prefix}{self.random.getrandbits(digits * 4):0{digits}x}"

    def forget(self) -> None:
        """Forgets everything; ids and the clock go on."""


# The journal: every request that reached the emulator, as accepted or refused, for tests to assert on.

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
