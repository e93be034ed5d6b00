"""Limits what a run, a thread and a principal may take. Every number is a setting of the same name.

`Capacity` counts the room that is left in a thread: exactly when it is opened, closely while a run adds to it. What a
person decides always finds room: a thread that is full must not keep a call open that waits for an answer. So do
the ends of calls that a run began; what the tools said is cut then.

`Budget` is the limit of all threads in memory at the same time that are run, decided, shown and connected to. A thread
that is worked on takes several times its size. One principal may take half of the budget, so that others find room. How
large a thread is, is known once it was read. Of large ones it is remembered, so that the next time nothing is read that
finds no room. Reading is work too, and the store does one thing after the other.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agui_gate.concurrency import LARGE, LARGE_BYTES
from agui_gate.config import defaults
from agui_gate.core.transcript import CardClosedEntry, Entry, Output, TurnEntry
from agui_gate.errors import LimitReached, RateLimited, TooLarge, Unavailable

if TYPE_CHECKING:
    from agui_gate.stores.retention import Ages


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one engine.

    * ``turn_bytes``, ``turn_calls``, ``turn_seconds``: of one answer of the model: its text, reasoning and arguments;
      its calls; its time. Over one of them the answer is cut off: what was said is kept, none of its calls runs.
    * ``tools_at_once``: how many of a turn's calls run at the same time. ``tool_threads``: how many sync tools run at
      the same time in this process (each has an OS thread), shared fairly among principals.
    * ``thread_bytes``, ``thread_entries``: what is kept of one thread. A full thread takes nothing new.
    * ``open_bytes``: what is kept of all threads that are worked on at the same time; half of it for one principal.
    * ``kept_bytes``: what is kept in memory of threads between their runs (`threads/history_cache.py`). 0: nothing.
    * ``state_bytes``: the shared state of a thread, as JSON.
    * ``principal_runs``: how many runs of one principal are in flight.
    * ``retention_threads_days``, ``retention_records_days``: after how long the store forgets; 0: never.
    """

    turn_bytes: int = defaults.TURN_BYTES
    turn_calls: int = defaults.TURN_CALLS
    turn_seconds: float = defaults.TURN_SECONDS
    tools_at_once: int = defaults.TOOLS_AT_ONCE
    tool_threads: int = defaults.TOOL_THREADS
    thread_bytes: int = defaults.THREAD_BYTES
    thread_entries: int = defaults.THREAD_ENTRIES
    open_bytes: int = defaults.OPEN_BYTES
    kept_bytes: int = defaults.KEPT_BYTES
    state_bytes: int = defaults.STATE_BYTES
    principal_runs: int = defaults.PRINCIPAL_RUNS
    retention_threads_days: int = defaults.RETENTION_THREADS_DAYS
    retention_records_days: int = defaults.RETENTION_RECORDS_DAYS

    @property
    def ages(self) -> "Ages | None":
        """The ages from which on the store forgets threads and records. None: it forgets nothing."""
        if not (self.retention_threads_days or self.retention_records_days):
            return None
        from agui_gate.stores.retention import DAY_MS, Ages

        return Ages(
            threads=self.retention_threads_days * DAY_MS or None, records=self.retention_records_days * DAY_MS or None
        )

    @property
    def readable_bytes(self) -> int:
        """Bytes up to which a thread may be read as a whole: what this server itself can have made of one."""
        return 2 * self.thread_bytes + 8 * self.turn_bytes


DEFAULTS = Limits()


def check_state(state: Any, limits: Limits) -> None:
    """Raises `TooLarge` for a shared state that is over its limit."""
    if state and len(msgspec.json.encode(state)) > limits.state_bytes:
        raise TooLarge(f"The shared state may have at most {limits.state_bytes:,} bytes as JSON.")


ALWAYS = 2_000
"""Characters of a result that are kept however full a thread is."""

ANSWER = 64 * 1024
"""Bytes that answers to cards may have over the limit."""

_encode = msgspec.json.encode


class Capacity:
    """The room in one open thread. ``size`` and ``entries`` are what is there."""

    __slots__ = ("_limits", "entries", "size")

    def __init__(self, limits: Limits, size: int, entries: int) -> None:
        self._limits = limits
        self.size, self.entries = size, entries

    @property
    def is_large(self) -> bool:
        """True if going through the thread takes so long that it is not for the event loop."""
        return self.size > LARGE_BYTES or self.entries > LARGE

    def added(self, entries: Sequence[Entry]) -> None:
        """Counts entries that are in the journal now."""
        self.entries += len(entries)
        self.size += len(_encode(entries))

    def has_room(self, entry: Entry) -> bool:
        """Returns whether there is room for one more entry, for which none has to be made."""
        size = self.size + len(_encode(entry))
        return size <= self._limits.thread_bytes and self.entries < self._limits.thread_entries

    def add_output(self, output: Output) -> None:
        """Counts an output that is in the record of a gated call now."""
        self.size += len(output.content)

    def dropped(self, entries: Sequence[Entry]) -> None:
        """Subtracts entries that are not there any more."""
        self.entries -= len(entries)
        self.size -= len(_encode(entries))

    def check_new(self, entries: Sequence[Entry], dropped: Sequence[Entry] = ()) -> None:
        """Raises `LimitReached` unless a request's entries find room, once ``dropped`` are gone."""
        said = [entry for entry in entries if not isinstance(entry, CardClosedEntry)]
        answers = len(_encode(entries)) if entries and not said else 0
        size = self.size + (len(_encode(said)) if said else 0) - (len(_encode(dropped)) if dropped else 0)
        number = self.entries - len(dropped) + _number(said)
        full = size > self._limits.thread_bytes or number > self._limits.thread_entries
        if (said and full) or (answers and size + answers > self._limits.thread_bytes + ANSWER):
            raise self._full()

    def check_turn(self) -> None:
        """Raises `LimitReached` if there is no room for one more answer of the model."""
        if self.size >= self._limits.thread_bytes or self.entries >= self._limits.thread_entries:
            raise self._full()

    def fitted(self, output: Output) -> Output:
        """Returns ``output``, cut where there is no room for the whole of it. Record it before anything is awaited."""
        room = max(ALWAYS, self._limits.thread_bytes - self.size)
        content = output.content
        if len(content) > ALWAYS and (size := len(_encode(content))) > room:
            content = f"{content[: max(ALWAYS, room * len(content) // size)]}… (cut: this conversation is full)"
            return msgspec.structs.replace(output, content=content)
        return output

    def _full(self) -> LimitReached:
        return LimitReached(
            f"This conversation is full (the limits are {self._limits.thread_bytes:,} bytes and "
            f"{self._limits.thread_entries:,} entries). Start a new one. This one can still be read and deleted."
        )


def _number(entries: Iterable[Entry]) -> int:
    """Returns how many entries these are in the end: each call gets a result."""
    return sum(1 + len(entry.calls) if isinstance(entry, TurnEntry) else 1 for entry in entries)


LARGE_THREAD = 1024 * 1024
"""Bytes from which on a thread's size is remembered."""

REMEMBERED = 10_000
"""Threads whose size is remembered."""


class Budget:
    """``limit`` bytes for everybody."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reserved: Counter[str] = Counter()
        self._large: dict[tuple[str, str], int] = {}

    @property
    def reserved(self) -> int:
        """Bytes that are reserved now."""
        return self._reserved.total()

    def reserve(self, principal: str, size: int) -> "Reservation":
        """Takes ``size`` bytes, until that is given back or gone. One thread finds room if nothing else is reserved.

        Raises `RateLimited` if this principal has too much already, `Unavailable` if all together have.
        """
        mine = self._reserved[principal]
        if mine and mine + size > self.limit // 2:
            raise RateLimited("You have too many large threads open. Try again in a moment.")
        if self.reserved and self.reserved + size > self.limit:
            raise Unavailable("The server has too many large threads open. Try again in a moment.")
        self._reserved[principal] += size
        return Reservation(self, principal, size)

    def expect(self, principal: str, thread_id: str) -> "Reservation":
        """`reserve` for a thread that is about to be read; `Reservation.found` says how large it turned out to be."""
        return self.reserve(principal, self._large.get((principal, thread_id), 0))

    def remember(self, principal: str, thread_id: str, size: int) -> None:
        """Remembers the size that a thread has now."""
        self._large.pop((principal, thread_id), None)
        if size > LARGE_THREAD:
            self._large[principal, thread_id] = size
            if len(self._large) > REMEMBERED:
                del self._large[next(iter(self._large))]

    def give_back(self, principal: str, size: int) -> None:
        """Frees the bytes that `reserve` took."""
        self._reserved[principal] -= size
        if not self._reserved[principal]:
            del self._reserved[principal]


class Reservation:
    """A part of the budget. Given back by `release`, or when nobody has it any more."""

    __slots__ = ("_budget", "_principal", "_size")

    def __init__(self, budget: Budget, principal: str, size: int) -> None:
        self._budget: Budget | None = budget
        self._principal, self._size = principal, size

    def found(self, thread_id: str, size: int) -> "Reservation":
        """Reserves for the thread of this id, which is so large, and returns that. Raises what `Budget.reserve` raises;
        then nothing is reserved any more.
        """
        budget = self._budget
        assert budget is not None
        budget.remember(self._principal, thread_id, size)
        self.release()
        return budget.reserve(self._principal, size)

    def release(self) -> None:
        """Gives it back; safe to call twice."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.give_back(self._principal, self._size)

    __del__ = release
