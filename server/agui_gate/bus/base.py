"""The seam to live events: which runs there are and what they said."""

from typing import Protocol

import msgspec

from agui_gate.bus.log import EventLog


class Published(msgspec.Struct, frozen=True):
    """A run's log, and whose it is. ``run_id``: the client's name for the run."""

    run_key: str
    principal: str
    thread_id: str
    log: EventLog
    run_id: str = ""


class Bus(Protocol):
    """Keeps the logs of runs for as long as they run and a while after."""

    def open(self, run_key: str, principal: str, thread_id: str, run_id: str = "") -> Published:
        """A log for a new run."""
        ...

    def find(self, run_key: str) -> Published | None:
        """A run's log, if it is still kept."""
        ...

    def ended(self, run_key: str) -> None:
        """The run is over; its log goes after a while."""
        ...

    def expire(self) -> None:
        """Drop the logs that are over their time. Called every few seconds."""
        ...

    def forget(self, principal: str, thread_id: str) -> None:
        """Drop the logs of a deleted thread's runs, which are over. Who is reading one reads it to its end."""
        ...
