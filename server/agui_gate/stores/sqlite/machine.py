"""The statements of the SQLite store about the machine: its clock, and the processes that use the file.

None begins or ends a transaction.
"""

import os

from agui_gate.stores.clock import StoreClock
from agui_gate.stores.lease import boot_id, is_gone, is_neighbour
from agui_gate.stores.sqlite.database import Database

FORGET_MS = 30 * 24 * 3_600_000
"""Milliseconds after which a process whose end nobody saw is forgotten."""

_CLOCK = "SELECT boot, ahead, seen FROM clock"
_KEEP = "INSERT OR REPLACE INTO clock (one, boot, ahead, seen) VALUES (1, ?, ?, ?)"


def set_clock(db: Database, clock: StoreClock) -> int | None:
    """Goes on with the file's clock. After a new start of the machine it returns the time until which things have
    expired by the clock before: that has to be done first.
    """
    boot, ahead, seen = db.execute(_CLOCK).fetchone() or (boot_id(), clock.offset, 0)
    if boot != boot_id():
        return int(seen)
    clock.go_on(ahead)
    return None


def keep_clock(db: Database, clock: StoreClock) -> None:
    """Writes down how the clock goes, for processes that start later."""
    db.execute(_KEEP, (boot_id(), clock.offset, clock()))


def enter(db: Database, owner: str, now: int) -> list[int]:
    """Notes that ``owner`` uses the file, and returns the ids of the other living processes that do.

    Those whose life can't be seen from here, as in another container, are left out: most have long ended.
    """
    others = db.execute("SELECT owner, started_at FROM processes").fetchall()
    gone = [(name,) for name, started in others if is_gone(name) or started < now - FORGET_MS]
    db.connection.executemany("DELETE FROM processes WHERE owner = ?", gone)
    db.execute("INSERT INTO processes (owner, started_at) VALUES (?, ?)", (owner, now))
    here = {int(name.split("|")[1]) for name, _ in others if (name,) not in gone and is_neighbour(name, owner)}
    return sorted(here - {os.getpid()})


def leave(db: Database, owner: str) -> None:
    """Notes that it uses the file no more."""
    db.execute("DELETE FROM processes WHERE owner = ?", (owner,))
