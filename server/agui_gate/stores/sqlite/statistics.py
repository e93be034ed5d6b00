"""Tells SQLite's planner what our tables look like when they are large.

Without statistics SQLite takes any equal column for a choice of ten rows, and every index begins with the tenant. So it
would read whole tables by `tenant = ?` alone. Statistics that `ANALYZE` makes say how the tables are on that day, which
may be a day on which they were nearly empty. So the store writes its own: the plan of a statement is the same on every
file, on every day.
"""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from agui_gate.stores.sqlite.database import Database

ROWS = 1_000_000
"""Rows that a table is said to have."""
FEW = 1_000
"""Entries of an index of what waits, runs or is at work."""
_PARTS = {"approvals_decided": ROWS, "threads_by_alias": ROWS, "approvals_of_people": FEW // 2}
"""Indexes of a part of a table that is most of it; and of a part of what waits, which goes before all that does."""
_SAME: dict[str | None, int] = {"principal": 1_000, "updated_at": 2}
_SAME |= dict.fromkeys(("tenant", "archived", "agent", "state", None), ROWS)
_SAME |= dict.fromkeys(("thread_id", "thread", "expires_at", "deleted_at", "at"), 10)
"""Rows that have the same value there, and in the columns before it, at most; of another column, one.
None: an expression, which is the tenant in an owner's key.
"""

_INDEXES = """
    SELECT owner.name, part.name, its.partial,
        CASE WHEN its.origin = 'pk' AND owner.sql LIKE '%WITHOUT ROWID' THEN owner.name ELSE its.name END
    FROM sqlite_master AS owner, pragma_index_list(owner.name) AS its, pragma_index_info(its.name) AS part
    WHERE owner.type = 'table' ORDER BY owner.name, its.name, part.seqno
"""
_KEEP = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)"


def write_statistics(database: Database) -> None:
    """Writes our statistics in the place of any others, if they are not there yet."""
    ours = list(_statistics(database))
    found = database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'sqlite!_stat_' ESCAPE '!'").fetchall()
    others = [name for (name,) in found if name != "sqlite_stat1"]
    if not others and found and set(database.execute("SELECT tbl, idx, stat FROM sqlite_stat1")) == set(ours):
        return
    with database.transaction(durable=False):
        database.execute("ANALYZE sqlite_master")  # makes the table, and reads it
        database.execute("DELETE FROM sqlite_stat1")
        for name in others:
            database.execute(f"DELETE FROM {name}")  # noqa: S608 SQLite's names
        database.connection.executemany(_KEEP, ours)
        database.execute("ANALYZE sqlite_master")


def _statistics(database: Database) -> Iterable[tuple[str, str, str]]:
    found = database.execute(_INDEXES).fetchall()
    for (table, index), columns in groupby(found, itemgetter(0, 3)):
        rows = list[int]()
        for _, column, partial, _ in columns:
            rows = rows or [_PARTS.get(index, FEW) if partial else ROWS]
            rows.append(min(rows[-1], _SAME.get(column, 1)))
        yield table, index, " ".join(map(str, rows))
