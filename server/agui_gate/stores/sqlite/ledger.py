"""The statements of the SQLite store about approvals. None begins or ends a transaction."""

import sqlite3
from collections.abc import Mapping

from agui_gate.core.approvals import Approval, Decision, State, check_move
from agui_gate.core.stored import decode_approvals
from agui_gate.core.transcript import Output
from agui_gate.errors import IllegalMove
from agui_gate.stores.base import MAX_LISTED
from agui_gate.stores.sql.ledger import COLUMNS, EXPIRE, GROW, JSON_COLUMNS, MOVE, RECORD, moved_row, new_row
from agui_gate.stores.sqlite.database import Database

NONE: Mapping[str, object] = {}

_READ = {name: f"json({name})" for name in JSON_COLUMNS} | {"replaced": "json(iif(replaced, 'true', 'false'))"}
_BEGINNING = f"json_set(output, '$.content', substr(json_extract(output, '$.content'), 1, {MAX_LISTED + 1}))"
_SHORT = _READ | {"output": f"json(iif(length(output) > {MAX_LISTED}, {_BEGINNING}, output))"}


def _approvals(columns: Mapping[str, str]) -> str:
    """Decoded in one go by msgspec, and one step for the same reason as the journal."""
    pairs = ", ".join(f"'{name}', {columns.get(name, name)}" for name in COLUMNS)
    return (
        f"SELECT '[' || coalesce(group_concat(json_object({pairs})), '') || ']' "  # noqa: S608 our names
        "FROM (SELECT * FROM approvals WHERE {} ORDER BY seq)"
    )


_APPROVALS, _LISTED = _approvals(_READ), _approvals(_SHORT)


def approvals_where(
    db: Database, condition: str, values: Mapping[str, object], *, listed: bool = False
) -> list[Approval]:
    """Read approvals, oldest first. ``condition`` is a constant of ours, with ``values`` by their names.

    ``listed``: of long outputs the beginning.
    """
    (body,) = db.execute((_LISTED if listed else _APPROVALS).format(condition), values).fetchone()
    return decode_approvals(body)


def expire(db: Database, now: int, condition: str = "1 = 1", values: Mapping[str, object] = NONE) -> None:
    """Move overdue pending approvals to ``expired``: those of ``condition``, or all.

    Needs no durable commit: what the clock made overdue stays overdue.
    """
    db.execute(EXPIRE + condition, {**values, "now": now})


def record_approvals(db: Database, key: int, approvals: list[Approval], now: int) -> int:
    """Insert new records, their times made absolute. Raises `IllegalMove` if one exists. Returns their bytes."""
    try:
        db.connection.executemany(RECORD, [new_row(key, approval, now) for approval in approvals])
    except sqlite3.IntegrityError as error:
        raise IllegalMove("An approval with this id, or for this call, exists already.") from error
    return sum(len(approval.arguments.encode()) for approval in approvals)


def move_approval(
    db: Database, approval_id: str, to: State, decision: Decision | None, output: Output | None, now: int
) -> Approval | None:
    """Move one record and return it; None if there is none. Raises `IllegalMove`."""
    row = moved_row(approval_id, to, decision, output, now)
    moved = db.execute(MOVE[to], row).rowcount
    if moved and row["size"]:
        db.execute(GROW, row)
    found = approvals_where(db, "id = :id", {"id": approval_id})
    if not found:
        return None
    if not moved:
        check_move(found[0], to, now)
        raise IllegalMove(f"approval {approval_id} can't become {to}")
    return found[0]
