"""Threads as a list shows them, in SQL."""

import msgspec

from agui_gate.stores.base import Page, ThreadHead
from agui_gate.stores.paging import Place, to_cursor
from agui_gate.stores.sql.dialect import Dialect
from agui_gate.stores.sql.rows import HeadRow, Wanted
from agui_gate.stores.sql.steps import Last, Result, Statement, Steps

_PENDING = (
    "(SELECT count(*) FROM approvals WHERE tenant = :tenant AND thread = threads.key AND state = 'pending' "
    "AND (expires_at IS NULL OR expires_at > :now)) AS pending"
)
_COLUMNS = ", ".join((*HeadRow.__struct_fields__[:-1], _PENDING))
_START = Place(2**63 - 1, 2**63 - 1)

_decode_rows = msgspec.json.Decoder(list[HeadRow]).decode


class Heads:
    """Its statements and steps."""

    def __init__(self, dialect: Dialect) -> None:
        self._rows = dialect.arrays(HeadRow.__struct_fields__)

    def reading(self, rows: str) -> str:
        """What reads the heads of threads; ``rows``: which of them, from WHERE on. See `heads`."""
        return f"SELECT {self._rows}, :ticks FROM (SELECT {_COLUMNS} FROM threads {rows}) AS found"  # noqa: S608 our names

    @staticmethod
    def heads(result: Result) -> list[ThreadHead]:
        """What was read."""
        ((body, ticks),) = result.rows
        return [row.head(ticks) for row in _decode_rows(body)]

    def page(self, wanted: Wanted, after: Place | None, limit: int) -> Steps[Page]:
        """One page; it asks for one thread more than it shows, to know whether there is another page."""
        equal = wanted.values()
        conditions = " AND ".join(("tenant = :tenant", *(f"{column} = :{column}" for column in equal)))
        text = self.reading(
            f"WHERE {conditions} AND (updated_at, key) < (:updated_at, :key) "
            "ORDER BY updated_at DESC, key DESC LIMIT :limit"
        )
        place = msgspec.structs.asdict(after or _START)
        (found,) = yield Last([Statement(text, {**equal, **place, "limit": limit + 1})])
        ((body, ticks),) = found.rows
        rows = _decode_rows(body)
        shown = rows[:limit]
        more = len(rows) > limit
        return Page(
            [row.head(ticks) for row in shown],
            to_cursor(Place(shown[-1].updated_at, shown[-1].key)) if more else None,
        )
