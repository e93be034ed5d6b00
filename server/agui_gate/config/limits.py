"""Limits: where each number comes from that bounds a request, a run, a thread, a principal.

Each limit is a setting of the same name, which says what it means (`agui_gate.config.settings`). Its default stands
here, alone, unless only a server has it (such as `header_bytes`): then it stands with the setting.

`Limits` has those that the engine works with. A server hands the others on where it is made (`http/app.py`,
`config/backends.py`). What an operator gives each owner and tenant is a quota (`extras/quotas.py`).
"""

from typing import TYPE_CHECKING, Any, Self

import msgspec

from agui_gate.errors import TooLarge

if TYPE_CHECKING:
    from agui_gate.config.settings import Settings
    from agui_gate.stores.retention import Ages

MAX_BODY_BYTES = 4 * 1024 * 1024
EVENTS_SECONDS = 300.0
EVENTS_BYTES = 1024 * 1024
DISCONNECT_GRACE = 0.5
SEND_TIMEOUT = 30.0
BODY_SECONDS = 60.0


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
    * ``limits``: what owners and tenants may have at once (`extras/quotas.py`).
    * ``retention_threads_days``, ``retention_records_days``, ``retention_trail_days``: after how long it forgets;
      0: never, None: see the setting.
    """

    turn_bytes: int = 4 * 1024 * 1024
    turn_calls: int = 256
    turn_seconds: float = 900.0
    tools_at_once: int = 16
    tool_threads: int = 64
    thread_bytes: int = 32 * 1024 * 1024
    thread_entries: int = 20_000
    open_bytes: int = 256 * 1024 * 1024
    kept_bytes: int = 64 * 1024 * 1024
    state_bytes: int = 512 * 1024
    principal_runs: int = 1000
    limits: tuple[str, ...] = ()
    retention_threads_days: int = 0
    retention_records_days: int = 0
    retention_trail_days: int | None = None

    @classmethod
    def from_settings(cls, settings: "Settings") -> Self:
        """Returns the limits that settings say: each is a setting of the same name."""
        return cls(**{name: getattr(settings, name) for name in cls.__struct_fields__})

    @property
    def ages(self) -> "Ages | None":
        """The ages from which on the store forgets threads and records. None: it forgets nothing."""
        if not (self.retention_threads_days or self.retention_records_days or self.retention_trail_days):
            return None
        from agui_gate.stores.retention import ages_of

        return ages_of(self.retention_threads_days, self.retention_records_days, self.retention_trail_days)

    @property
    def readable_bytes(self) -> int:
        """Bytes up to which a thread may be read as a whole: what this server itself can have made of one."""
        return 2 * self.thread_bytes + 8 * self.turn_bytes

    def check_state(self, state: Any) -> None:
        """Raises `TooLarge` for a shared state that is over its limit."""
        if len(msgspec.json.encode(state)) > self.state_bytes:
            raise TooLarge(f"The shared state may have at most {self.state_bytes:,} bytes as JSON.")


DEFAULTS = Limits()
