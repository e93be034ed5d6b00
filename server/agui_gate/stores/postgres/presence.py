"""Which servers use a database now, as far as can be known: those that hear its notes, as the bus there.

Whoever hears holds a lock for as long as the connection lasts, together with all others. PostgreSQL gives it back when
the connection ends, however it ends. Everybody may see who has it, also through a pooler. A server with another bus has
none: its own connections may be a pooler's, and say nothing of it.
"""

from agui_gate.stores.sql.steps import Last, Statement, Steps

_OURS = 1_635_214_695
"""The first half of the lock's name: a number of ours. The other half is the schema's, where the tables are."""

HERE = f"SELECT pg_try_advisory_lock_shared({_OURS}, hashtext(current_schema()))".encode()
"""Take it."""

_HOLDERS = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 "  # noqa: S608 ours
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    f"AND classid = {_OURS} AND objid = hashtext(current_schema())::oid ORDER BY pid"
)


def servers() -> Steps[list[int]]:
    """The ids of PostgreSQL's own processes that serve those who hear."""
    (found,) = yield Last([Statement(_HOLDERS)])
    return [pid for (pid,) in found.rows]
