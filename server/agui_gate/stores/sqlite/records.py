"""The statements of the SQLite store about approvals as a list shows them. None begins or ends a transaction."""

import msgspec

from agui_gate.stores.base import ApprovalPage, Which
from agui_gate.stores.paging import Place, to_cursor
from agui_gate.stores.sqlite.database import Database
from agui_gate.stores.sqlite.ledger import approvals_where

_LAST = 2**63 - 1


def _part(condition: str, direction: str) -> str:
    """The places of some of a principal's approvals, along one of the two indexes (of what waits, and of the rest)."""
    return (
        f"SELECT seq FROM (SELECT seq FROM approvals WHERE principal = :principal AND {condition} "  # noqa: S608 ours
        f"ORDER BY seq {direction} LIMIT :limit)"
    )


_WAITING_BEFORE = _part("state = 'pending' AND seq < :after", "DESC")
_DECIDED_BEFORE = _part("state <> 'pending' AND seq < :after", "DESC")
_PLACES: dict[Which, str] = {
    "pending": _part("state = 'pending' AND seq > :after", "ASC"),
    "decided": _DECIDED_BEFORE,
    "all": f"SELECT seq FROM ({_WAITING_BEFORE} UNION ALL {_DECIDED_BEFORE}) ORDER BY seq DESC LIMIT :limit",  # noqa: S608 ours
}
_LIST = {which: f"SELECT json_group_array(seq) FROM ({places})" for which, places in _PLACES.items()}  # noqa: S608 ours
_FIRST: dict[Which, int] = {"pending": 0, "decided": _LAST, "all": _LAST}
_OVERDUE = "SELECT 1 FROM approvals WHERE principal = ? AND state = 'pending' AND expires_at <= ? LIMIT 1"
_REPLACED = "UPDATE approvals SET replaced = 1 WHERE thread = ? AND id IN (SELECT value FROM json_each(?))"

_decode_places = msgspec.json.Decoder(list[int]).decode


def has_overdue(db: Database, principal: str, now: int) -> bool:
    """Whether some of this principal's are to be expired before a list is right."""
    return db.execute(_OVERDUE, (principal, now)).fetchone() is not None


def list_approvals(db: Database, principal: str, which: Which, after: int | None, limit: int) -> ApprovalPage:
    """One page. It asks for one more than it shows, to know whether there is."""
    values = {"principal": principal, "after": _FIRST[which] if after is None else after, "limit": limit + 1}
    (body,) = db.execute(_LIST[which], values).fetchone()
    places = _decode_places(body)
    shown = places[:limit]
    wanted = msgspec.json.encode(shown).decode()
    found = approvals_where(db, "seq IN (SELECT value FROM json_each(:seqs))", {"seqs": wanted}, listed=True)
    # What can't be read may say `pending` in its row, and is not (`core/stored.py`).
    ordered = [approval for approval in found if approval.is_pending] if which == "pending" else found[::-1]
    return ApprovalPage(ordered, to_cursor(Place(0, shown[-1])) if len(places) > limit else None)


def mark_replaced(db: Database, thread: int, approval_ids: list[str]) -> None:
    """Say of these records that the answer that their calls belong to is gone."""
    db.execute(_REPLACED, (thread, msgspec.json.encode(approval_ids).decode()))
