"""The statements of the SQLite store about threads and their journals, as functions over an open `Database`.

None begins or ends a transaction.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from agui_gate.core.stored import decode_entries, encode_entries, first_entries
from agui_gate.core.transcript import Entry
from agui_gate.errors import LeaseLost, ThreadBusy
from agui_gate.off_loop import collector_paused
from agui_gate.stores.base import AtWork, Change, Thread, new_key, provider_id
from agui_gate.stores.clock import Moment
from agui_gate.stores.lease import LEASE_MS, lapsed
from agui_gate.stores.sql.rows import ThreadRow
from agui_gate.stores.sqlite.database import Database
from agui_gate.stores.sqlite.ledger import approvals_where

_encode = msgspec.json.encode

# --- threads ------------------------------------------------------------------------------------------------------

_THREAD = f"SELECT {', '.join(ThreadRow.__struct_fields__)} FROM threads WHERE principal = ? AND "  # noqa: S608 our names
_BY_ID = _THREAD + "id = ?"
_BY_ALIAS = _THREAD + "alias = ? ORDER BY updated_at DESC LIMIT 1"
_CREATE = (
    "INSERT INTO threads "
    "(key, principal, id, agent, created_at, updated_at, run_key, run_status, lease_owner, lease_until) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)"
)
_TAKE = (
    "UPDATE threads SET run_key = ?, run_status = 'running', lease_owner = ?, lease_until = ?, stop = NULL "
    "WHERE key = ?"
)
_UNDER_LEASE = "SELECT entries FROM threads WHERE key = ? AND run_key = ? AND run_status = 'running'"


def find_thread(db: Database, principal: str, thread_id: str) -> ThreadRow | None:
    """Find by the client's id, else by the provider's current id (S2)."""
    values = db.execute(_BY_ID, (principal, thread_id)).fetchone()
    if values is None:
        values = db.execute(_BY_ALIAS, (principal, thread_id)).fetchone()
    return None if values is None else ThreadRow(*values)


def create_thread(
    db: Database, principal: str, thread_id: str, agent: str, run_key: str, owner: str, at: Moment
) -> Thread:
    """Insert a thread whose lease ``run_key`` holds."""
    key, now = new_key(), at.now
    db.execute(_CREATE, (key, principal, thread_id, agent, now, now, run_key, owner, at.ticks + LEASE_MS))
    return Thread(key=str(key), principal=principal, id=thread_id, agent=agent, created_at=now, updated_at=now, now=now)


def take_lease(db: Database, row: ThreadRow, run_key: str, owner: str, ticks: int) -> None:
    """Give the lease to ``run_key``. Raises `ThreadBusy` if another run holds it."""
    if row.run_status == "running" and row.run_key != run_key and not row.lapsed(ticks):
        raise ThreadBusy("Another run is active on this thread.")
    db.execute(_TAKE, (run_key, owner, ticks + LEASE_MS, row.key))


def read_thread(db: Database, row: ThreadRow, at: Moment) -> Thread:
    """Read the rest of a thread: its state, journal and approvals."""
    thread = row.head(at)
    with collector_paused():
        thread.state = None if row.state is None else msgspec.json.decode(row.state)
        thread.entries = _read_journal(db, row.key) if row.entries else []
        thread.approvals = approvals_where(db, "thread = :thread", {"thread": row.key})
    return thread


def renew_leases(db: Database, run_keys: Collection[str], ticks: int) -> set[str]:
    """Prolong what these runs still hold. Returns those that hold nothing."""
    statement = "UPDATE threads SET lease_until = ? WHERE run_key = ? AND run_status = 'running'"
    db.connection.executemany(statement, [(ticks + LEASE_MS, run_key) for run_key in run_keys])
    running = {run_key for (run_key,) in db.execute("SELECT run_key FROM threads WHERE run_status = 'running'")}
    return set(run_keys) - running


def at_work(db: Database, threads: Collection[tuple[str, str]], ticks: int) -> dict[tuple[str, str], AtWork]:
    """What works on these threads. The index of what runs is read as a whole: it is small."""
    running = db.execute(
        "SELECT principal, id, run_key, updated_at, lease_owner, lease_until FROM threads WHERE run_status = 'running'"
    ).fetchall()
    return {
        (principal, thread_id): AtWork(run_key, updated_at)
        for principal, thread_id, run_key, updated_at, owner, until in running
        if (principal, thread_id) in threads and not lapsed("running", owner, until, ticks)
    }


def void_leases(db: Database, owner: str) -> None:
    """End all leases of one owner; their runs count as interrupted."""
    db.execute("UPDATE threads SET lease_until = 0 WHERE run_status = 'running' AND lease_owner = ?", (owner,))


def void_lease(db: Database, run_key: str) -> None:
    """End the lease of one run."""
    db.execute("UPDATE threads SET lease_until = 0 WHERE run_status = 'running' AND run_key = ?", (run_key,))


def length_under_lease(db: Database, key: int, run_key: str) -> int:
    """Return the journal's length. Raises `LeaseLost` unless ``run_key`` holds the lease."""
    row: tuple[int] | None = db.execute(_UNDER_LEASE, (key, run_key)).fetchone()
    if row is None:
        raise LeaseLost
    return row[0]


def check_holder(db: Database, approval_id: str, run_key: str) -> None:
    """Raise `LeaseLost` if another run than this one holds the lease of the record's thread."""
    row = db.execute("SELECT thread FROM approvals WHERE id = ?", (approval_id,)).fetchone()
    if row is not None:
        length_under_lease(db, row[0], run_key)


def change_thread(db: Database, key: int, change: Change, entries: int, grown: int, now: int) -> None:
    """Set the fields that ``change`` sets, and give the lease back if it ends the run. ``grown``: bytes, but state."""
    columns: dict[str, Any] = {"updated_at = ?": now, "entries = ?": entries}
    if change.state is not msgspec.UNSET:
        state = _encode(change.state)
        columns["state = ?"] = state.decode()
        columns["bytes = bytes - coalesce(length(CAST(state AS BLOB)), 0) + ?"] = len(state) + grown
    elif grown:
        columns["bytes = bytes + ?"] = grown
    if change.ref is not msgspec.UNSET:
        columns["ref = ?"] = change.ref and _encode(change.ref).decode()
        columns["alias = ?"] = provider_id(change.ref)
    if change.default_title is not None:
        columns["title = coalesce(title, ?)"] = change.default_title
    if change.status is not None:
        columns |= {"run_status = ?": change.status, "lease_owner = ?": None, "lease_until = ?": 0}
    db.execute(f"UPDATE threads SET {', '.join(columns)} WHERE key = ?", (*columns.values(), key))  # noqa: S608 our names


def delete_thread(db: Database, key: int) -> None:
    """Delete a thread; its journal and its approvals go with it (ON DELETE CASCADE)."""
    db.execute("DELETE FROM threads WHERE key = ?", (key,))


# --- journal ------------------------------------------------------------------------------------------------------

# One row out, however many there are: every step of a cursor releases the GIL, and taking it back from a busy event
# loop costs up to 5 ms each time.
_JOURNAL = (
    "SELECT CAST(group_concat(substr(body, 2, length(body) - 2)) AS BLOB) "  # without the brackets of each array
    "FROM (SELECT body FROM journal WHERE thread = ? ORDER BY seq)"
)
_STRADDLING = "SELECT seq, body FROM journal WHERE thread = ? AND seq < ? ORDER BY seq DESC LIMIT 1"


def append_journal(db: Database, key: int, seq: int, entries: list[Entry]) -> int:
    """Append one batch at place ``seq``. Returns its bytes."""
    body = encode_entries(entries)
    db.execute("INSERT INTO journal (thread, seq, count, body) VALUES (?, ?, ?, ?)", (key, seq, len(entries), body))
    return len(body)


def drop_end(db: Database, key: int, keep: int) -> int:
    """Delete what comes after the first ``keep`` entries; a batch that is partly kept is rewritten.

    Returns by how many bytes it has grown, which is negative.
    """
    before = _journal_bytes(db, key)
    _drop_end(db, key, keep)
    return _journal_bytes(db, key) - before


def _drop_end(db: Database, key: int, keep: int) -> None:
    db.execute("DELETE FROM journal WHERE thread = ? AND seq >= ?", (key, keep))
    row = db.execute(_STRADDLING, (key, keep)).fetchone()
    if row is None:
        return
    seq, body = row
    kept = first_entries(body, keep - seq)
    if kept is not None:
        db.execute("UPDATE journal SET count = ?, body = ? WHERE thread = ? AND seq = ?", (keep - seq, kept, key, seq))


def _journal_bytes(db: Database, key: int) -> int:
    """Bytes of all batches; SQLite knows their lengths without reading them."""
    size: int
    (size,) = db.execute("SELECT coalesce(sum(length(body)), 0) FROM journal WHERE thread = ?", (key,)).fetchone()
    return size


def _read_journal(db: Database, key: int) -> list[Entry]:
    (bodies,) = db.execute(_JOURNAL, (key,)).fetchone()
    return decode_entries(b"[%b]" % bodies)
