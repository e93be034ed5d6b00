"""The statements of the SQLite store about threads as a list shows them. None begins or ends a transaction."""

import msgspec

from agui_gate.stores.base import Page, ThreadHead
from agui_gate.stores.clock import Moment
from agui_gate.stores.paging import Place, to_cursor
from agui_gate.stores.sql.rows import HeadRow, Wanted
from agui_gate.stores.sqlite.database import Database

_NAMES = ", ".join(HeadRow.__struct_fields__)
_PENDING = (
    "(SELECT count(*) FROM approvals WHERE thread = threads.key AND state = 'pending' "
    "AND (expires_at IS NULL OR expires_at > :now)) AS pending"
)
_COLUMNS = ", ".join((*HeadRow.__struct_fields__[:-1], _PENDING))
_LIST = (  # one row out, for the reason that the journal has
    f"SELECT json_group_array(json_array({_NAMES})) FROM (SELECT {_COLUMNS} FROM threads "  # noqa: S608 our names
    "WHERE {} AND (updated_at, key) < (:updated_at, :key) "
    "ORDER BY updated_at DESC, key DESC LIMIT :limit)"
)
_ONE = f"SELECT json_array({_NAMES}) FROM (SELECT {_COLUMNS} FROM threads WHERE key = :key)"  # noqa: S608 our names
_START = Place(2**63 - 1, 2**63 - 1)


_decode_rows = msgspec.json.Decoder(list[HeadRow]).decode
_decode_row = msgspec.json.Decoder(HeadRow).decode


def list_heads(db: Database, wanted: Wanted, after: Place | None, limit: int, at: Moment) -> Page:
    """One page; it asks for one thread more than it shows, to know whether there is another page."""
    equal = wanted.values()
    statement = _LIST.format(" AND ".join(f"{column} = :{column}" for column in equal))
    place = msgspec.structs.asdict(after or _START)
    (body,) = db.execute(statement, {**equal, **place, "limit": limit + 1, "now": at.now}).fetchone()
    rows = _decode_rows(body)
    more = len(rows) > limit
    shown = rows[:limit]
    return Page(
        [row.head(at) for row in shown],
        to_cursor(Place(shown[-1].updated_at, shown[-1].key)) if more else None,
    )


def read_head(db: Database, key: int, at: Moment) -> ThreadHead:
    """One thread that exists."""
    (body,) = db.execute(_ONE, {"key": key, "now": at.now}).fetchone()
    return _decode_row(body).head(at)


def set_title(db: Database, key: int, title: str | None) -> None:
    """Name a thread."""
    db.execute("UPDATE threads SET title = ? WHERE key = ?", (title, key))


def set_archived(db: Database, key: int, archived: bool) -> None:
    """Put a thread away, or take it back."""
    db.execute("UPDATE threads SET archived = ? WHERE key = ?", (archived, key))
