"""Orphans in SQL: along the index of what is at work, or ended ``unknown``."""

from agui_gate.core.approvals import State
from agui_gate.stores.base import Named, Orphans
from agui_gate.stores.lease import lapsed
from agui_gate.stores.sql.operations import Last, Statement, Steps

UNSETTLED = "(state = 'claimed' OR state = 'passed' OR state = 'given_back' OR state = 'unknown')"
"""The condition just as the index says it: SQLite doesn't use the index for another."""

AT_WORK = (
    "WITH working AS MATERIALIZED (SELECT seq, id, tool, state, principal, thread_id, thread FROM approvals "  # noqa: S608 ours
    f"WHERE tenant = :tenant AND {UNSETTLED} AND state IN ('claimed', 'passed') "
    "AND (state = 'passed' OR runner <> 'provider') AND seq > :after) "
    "SELECT * FROM working ORDER BY seq LIMIT :limit"
)
"""All of them, as they are a few: otherwise PostgreSQL goes along all records, and looks for some of these there."""
_AT_WORK = (
    "SELECT found.seq, found.id, found.tool, found.state, found.principal, found.thread_id, run_key, run_status, "  # noqa: S608 ours
    f"lease_owner, lease_until, :ticks FROM ({AT_WORK}) AS found "
    "JOIN threads ON threads.tenant = :tenant AND threads.key = found.thread ORDER BY found.seq"
)
_OF_UNKNOWN = f"FROM approvals WHERE tenant = :tenant AND {UNSETTLED} AND state = 'unknown'"
_COUNT = f"SELECT count(*) {_OF_UNKNOWN}"
_UNKNOWN = (
    f"WITH ended AS MATERIALIZED (SELECT seq, id, tool, principal, thread_id {_OF_UNKNOWN}) "  # noqa: S608 our names
    "SELECT * FROM ended ORDER BY seq DESC LIMIT :limit"
)


def orphans(after: int, most: int) -> Steps[Orphans]:
    """See `OrphanStore.orphans`."""
    (found,) = yield Last([Statement(_AT_WORK, {"after": after, "limit": most})])
    orphaned = [
        Named(seq=seq, id=name, tool=tool, state=State(state), principal=who, thread_id=thread, run_key=run_key or "")
        for seq, name, tool, state, who, thread, run_key, status, owner, until, ticks in found.rows
        if status != "running" or lapsed(status, owner, until, ticks)
    ]
    return Orphans(orphaned, found.rows[-1][0] if len(found.rows) == most else None)


def unknown(limit: int) -> Steps[tuple[int, list[Named]]]:
    """See `OrphanStore.unknown`."""
    count, found = yield Last([Statement(_COUNT), Statement(_UNKNOWN, {"limit": limit})])
    named = [
        Named(seq=seq, id=name, tool=tool, state=State.UNKNOWN, principal=who, thread_id=thread)
        for seq, name, tool, who, thread in found.rows
    ]
    return count.rows[0][0], named
