"""The statements of the SQLite store about ending things: asking a run to stop, and what outlives a deleted thread.

None begins or ends a transaction.
"""

from collections.abc import Collection

import msgspec

from agui_gate.core.approvals import State
from agui_gate.core.transcript import Output
from agui_gate.stores.base import StopRequest
from agui_gate.stores.sqlite.database import Database
from agui_gate.stores.sqlite.ledger import approvals_where
from agui_gate.stores.tombstones import KEPT, LATE, Tombstone, digest, tombstone

_NAMES = Tombstone.__struct_fields__
_BURY = f"INSERT OR REPLACE INTO tombstones ({', '.join(_NAMES)}) VALUES (?{', ?' * (len(_NAMES) - 1)})"  # noqa: S608 ours
_FORGOTTEN = ", ".join(repr(str(state)) for state in sorted(frozenset(State) - KEPT))
_TO_BURY = f"SELECT seq FROM approvals WHERE thread = ? AND state NOT IN ({_FORGOTTEN})"  # noqa: S608 ours
_READ = f"SELECT {', '.join(_NAMES)} FROM tombstones WHERE principal = :principal"  # noqa: S608 our names
_AMEND = "UPDATE tombstones SET state = ?, output_digest = ? WHERE id = ? AND state = 'unknown'"
_ORDER = " ORDER BY deleted_at DESC, id LIMIT :limit"

_ASK = "UPDATE threads SET stop = ? WHERE key = ? AND run_status = 'running'"
_ASKED = "SELECT run_key, stop FROM threads WHERE run_status = 'running' AND stop IS NOT NULL"
_HEARD = "UPDATE threads SET stop = NULL WHERE run_key = ? AND run_status = 'running'"

_encode = msgspec.json.encode
_decode_request = msgspec.json.Decoder(StopRequest).decode


def bury(db: Database, key: int, now: int) -> None:
    """Keep a tombstone of each call of a thread that ran or was decided; one at a time, as results may be large."""
    for (seq,) in db.execute(_TO_BURY, (key,)).fetchall():
        (approval,) = approvals_where(db, "seq = :seq", {"seq": seq})
        kept = tombstone(approval, now)
        if kept is not None:
            db.execute(_BURY, msgspec.structs.astuple(kept))


def amend(db: Database, approval_id: str, to: State, output: Output | None) -> None:
    """What came of a call that was at work, in a process that slept, when its thread was deleted."""
    if to in LATE and output is not None:
        db.execute(_AMEND, (to.value, digest(output.content), approval_id))


def read_tombstones(
    db: Database, principal: str, thread_id: str | None, approval_id: str | None, limit: int
) -> list[Tombstone]:
    """Newest first, of this principal."""
    wanted = {"thread_id": thread_id, "id": approval_id}
    where = "".join(f" AND {name} = :{name}" for name, value in wanted.items() if value is not None)
    found = db.execute(_READ + where + _ORDER, {**wanted, "principal": principal, "limit": limit}).fetchall()
    rows = (dict(zip(_NAMES, row, strict=True)) for row in found)
    return msgspec.convert(list(rows), list[Tombstone], strict=False)  # SQLite's booleans are 0 and 1


def ask_to_stop(db: Database, key: int, request: StopRequest) -> None:
    """Note what is asked of the run that holds the lease. A later request takes an earlier one's place."""
    db.execute(_ASK, (_encode(request).decode(), key))


def take_stops(db: Database, run_keys: Collection[str]) -> dict[str, StopRequest]:
    """What was asked of these runs; each request is given out once."""
    asked = [(run_key, stop) for run_key, stop in db.execute(_ASKED).fetchall() if run_key in run_keys]
    db.connection.executemany(_HEARD, [(run_key,) for run_key, _ in asked])
    return {run_key: _decode_request(stop) for run_key, stop in asked}
