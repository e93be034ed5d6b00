"""What all emulated APIs have of a memory: a clock that tests can move, and the mint for new ids."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

__all__ = ["Clock", "Memory"]


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
        """Lose everything that was remembered; ids and the clock go on."""
