"""The statements of the SQLite store about approvals as a list shows them. None begins or ends a transaction."""

import msgspec

from agui_gate.stores.base import ApprovalPage, Which
from agui_gate.stores.paging import Place, to_cursor
from agui_gate.stores.sqlite_db import Database
from agui_gate.stores.sqlite_sql import approvals_where, expire

_LAST = 2**63 - 1
_WHICH: dict[Which, tuple[str, str, int]] = {
    # The condition, which index it reads and in which direction, and where the first page begins.
    "pending": ("state = 'pending' AND seq > :after", "ASC", 0),
    "decided": ("state <> 'pending' AND seq < :after", "DESC", _LAST),
    "all": ("seq < :after", "DESC", _LAST),
}
_LIST = {  # one row out, for the reason that the journal has
    which: "SELECT json_group_array(seq) FROM (SELECT seq FROM approvals "  # noqa: S608 our names
    f"WHERE principal = :principal AND {condition} ORDER BY seq {direction} LIMIT :limit)"
    for which, (condition, direction, _) in _WHICH.items()
}
_OVERDUE = "SELECT 1 FROM approvals WHERE principal = ? AND state = 'pending' AND expires_at <= ? LIMIT 1"
_REPLACED = "UPDATE approvals SET replaced = 1 WHERE thread = ? AND id IN (SELECT value FROM json_each(?))"

_decode_places = msgspec.json.Decoder(list[int]).decode


def list_approvals(db: Database, principal: str, which: Which, after: int | None, limit: int, now: int) -> ApprovalPage:
    """One page, after the overdue ones were expired. It asks for one more than it shows, to know whether there is."""
    if db.execute(_OVERDUE, (principal, now)).fetchone() is not None:
        expire(db, now, "principal = ?", principal)
    values = {"principal": principal, "after": _WHICH[which][2] if after is None else after, "limit": limit + 1}
    (body,) = db.execute(_LIST[which], values).fetchone()
    places = _decode_places(body)
    shown = places[:limit]
    found = approvals_where(db, "seq IN (SELECT value FROM json_each(?))", msgspec.json.encode(shown).decode())
    ordered = found if which == "pending" else found[::-1]
    return ApprovalPage(ordered, to_cursor(Place(0, shown[-1])) if len(places) > limit else None)


def mark_replaced(db: Database, thread: int, approval_ids: list[str]) -> None:
    """Say of these records that the answer that their calls belong to is gone."""
    db.execute(_REPLACED, (thread, msgspec.json.encode(approval_ids).decode()))
