"""Limits what a run, a thread and a principal may take. Every number is a setting of the same name."""

from typing import TYPE_CHECKING, Any, Self

import msgspec

from agui_gate.config import defaults
from agui_gate.errors import TooLarge

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings
    from agui_gate.stores.retention import Ages


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one engine.

    * ``turn_bytes``, ``turn_calls``, ``turn_seconds``: of one answer of the model: its text, reasoning and arguments;
      its calls; its time. Over one of them the answer is cut off: what was said is kept, none of its calls runs.
    * ``tools_at_once``: how many of a turn's calls run at the same time. ``tool_threads``: how many sync tools run at
      the same time in this process (each has an OS thread), shared fairly among principals.
    * ``thread_bytes``, ``thread_entries``: what is kept of one thread. A full thread takes nothing new.
    * ``open_bytes``: what is kept of all threads that are worked on at the same time; half of it for one principal.
    * ``kept_bytes``: what is kept in memory of threads between their runs (`threads/history.py`). 0: nothing.
    * ``state_bytes``: the shared state of a thread, as JSON.
    * ``principal_runs``: how many runs of one principal are in flight.
    * ``limits``: what owners and tenants may have at once (`extras/limits.py`).
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
    limits: tuple[str, ...] = defaults.LIMITS
    retention_threads_days: int = defaults.RETENTION_THREADS_DAYS
    retention_records_days: int = defaults.RETENTION_RECORDS_DAYS

    @classmethod
    def from_settings(cls, settings: "Settings") -> Self:
        """Returns the limits that settings say: each is a setting of the same name."""
        return cls(**{name: getattr(settings, name) for name in cls.__struct_fields__})

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
    if len(msgspec.json.encode(state)) > limits.state_bytes:
        raise TooLarge(f"The shared state may have at most {limits.state_bytes:,} bytes as JSON.")
