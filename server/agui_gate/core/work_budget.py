"""Limits how much work a peer may cause: one budget for a run, counted and not measured, so it is the same everywhere.

A few bytes may cause any amount of work: a patch of a long list changes little of it, and goes through all of it. So
limits of bytes don't bound it. Whatever goes through a value or a list that a peer made takes from the budget first.
"""

from collections.abc import Sized
from typing import Any

RUN = 4_000_000.0
"""Microseconds, about, that one run of a peer's may take besides what each of its bytes takes anyway."""

EVENT = 250_000.0
"""Microseconds, about, that one event of such a run may take."""

COPIED = 16 * 1024 * 1024
"""Bytes of JSON that copies within a value may add: forty of them could make as much of a small value as there is room
for.
"""

PER_VALUE, PER_BYTE, PER_COPIED, PER_MOVED, PER_LEVEL = 0.2, 0.002, 0.005, 0.001, 1.0
"""Microseconds, about, to look at a value; at a byte of a text; to copy an element of a list or an object with all the
others; to move it by one place; and to go down by one level.
"""


class TooMuchWork(ValueError):
    """The budget is used up."""


class TooMuchCopied(ValueError):
    """Copies add more than they may."""


class Work:
    """A budget. `begin` each event. Not for concurrent use."""

    __slots__ = ("_event", "_left_of_event", "copied", "left")

    def __init__(self, left: float = RUN, event: float = EVENT, copied: int = COPIED) -> None:
        self.left, self.copied = left, copied
        self._event = self._left_of_event = event

    def begin(self) -> None:
        """Begins the next event."""
        self._left_of_event = self._event

    def spend(self, microseconds: float) -> None:
        """Raises `TooMuchWork` where there isn't so much left."""
        self.left -= microseconds
        self._left_of_event -= microseconds
        if self.left < 0 or self._left_of_event < 0:
            raise TooMuchWork("it takes too much work")

    def copies(self, held: Sized) -> None:
        """Spends the work of copying all that a list or an object holds."""
        self.spend(len(held) * PER_COPIED)

    def moves(self, held: Sized) -> None:
        """Spends the work of moving what a list holds: it makes room for one more, or closes up."""
        self.spend(len(held) * PER_MOVED)

    def size_of(self, value: Any, most: float) -> float:
        """About how many bytes ``value`` is as JSON. Once that is more than ``most``, no more of it is looked at."""
        size, seen, left = 0.0, 0, [value]
        while left and size <= most:
            one = left.pop()
            seen += 1
            size += 2
            if isinstance(one, str):
                size += len(one)
            elif isinstance(one, dict):
                left += one.values()
                size += sum(map(len, one)) + 4 * len(one)
            elif isinstance(one, list):
                self.copies(one)
                left += one
        self.spend(seen * PER_VALUE + size * PER_BYTE)
        return size


def is_deeper(value: Any, levels: int, work: Work) -> bool:
    """Returns whether a JSON value nests deeper than ``levels``. Level by level: no recursion to run out of."""
    level = [value] if isinstance(value, dict | list) else []
    while level:
        if levels == 0:
            return True
        levels -= 1
        work.spend(PER_LEVEL + sum(map(len, level)) * PER_VALUE)
        children = (child for one in level for child in (one.values() if isinstance(one, dict) else one))
        level = [child for child in children if isinstance(child, dict | list)]
    return False


def same(one: Any, other: Any, work: Work) -> bool:
    """Returns whether two JSON values are equal. Numbers are by what they are worth, and booleans are no numbers."""
    left = [(one, other)]
    while left:
        a, b = left.pop()
        work.spend(PER_VALUE)
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            work.copies(a)
            left += [(value, b[name]) for name, value in a.items()]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            work.copies(a)
            left += zip(a, b, strict=True)
        elif isinstance(a, str) and isinstance(b, str):
            work.spend(min(len(a), len(b)) * PER_BYTE)
            if a != b:
                return False
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True


def copy_of(value: Any, work: Work) -> Any:
    """Returns a copy of a JSON value, within what copies may add. Raises `TooMuchCopied`."""
    work.spend(PER_VALUE)
    work.copied -= len(value) + 2 if isinstance(value, str) else 2
    if work.copied < 0:
        raise TooMuchCopied("it copies too much")
    if isinstance(value, dict):
        work.copied -= sum(map(len, value)) + 4 * len(value)
        return {name: copy_of(inner, work) for name, inner in value.items()}
    if isinstance(value, list):
        return [copy_of(inner, work) for inner in value]
    return value
