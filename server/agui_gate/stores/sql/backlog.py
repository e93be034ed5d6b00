"""The backlog in SQL: along the partial indexes of what waits and of what is unsettled."""

from agui_gate.stores.lease import lapsed
from agui_gate.stores.operators import AT_WORK, MOST_COUNTED, Backlog, Counted
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.orphans import UNSETTLED

_PENDING = (
    "SELECT count(*), min(asked_at) FROM (SELECT asked_at FROM approvals "
    "WHERE tenant = :tenant AND state = 'pending' LIMIT :limit) AS waiting"
)
_UNKNOWN = (
    "WITH ended AS MATERIALIZED (SELECT coalesce(decided_at, asked_at) AS at FROM approvals "  # noqa: S608 our names
    f"WHERE tenant = :tenant AND {UNSETTLED} AND state = 'unknown' LIMIT :limit) SELECT count(*), min(at) FROM ended"
)
_AT_WORK = (
    "WITH working AS MATERIALIZED (SELECT coalesce(decided_at, asked_at) AS at, thread FROM approvals "  # noqa: S608 our names
    f"WHERE tenant = :tenant AND {UNSETTLED} AND state IN ('claimed', 'passed') "
    "AND (state = 'passed' OR runner <> 'provider') LIMIT :limit) "
    "SELECT working.at, run_status, lease_owner, lease_until, :ticks FROM working "
    "JOIN threads ON threads.tenant = :tenant AND threads.key = working.thread"
)
_NOTICES = (
    "SELECT count(*), min(created_at) FROM (SELECT created_at FROM outbox "
    "WHERE tenant = :tenant ORDER BY id LIMIT :limit) AS waiting"
)
_NOW = "SELECT :now + 0"


def backlog(expired: int) -> Steps[Backlog]:
    """See `BacklogStore.backlog`."""
    most = {"limit": MOST_COUNTED}
    pending, unknown, at_work, notices, now = yield Last(
        [
            Statement(_PENDING, most),
            Statement(_UNKNOWN, most),
            Statement(_AT_WORK, {"limit": AT_WORK}),
            Statement(_NOTICES, most),
            Statement(_NOW),
        ]
    )
    held: list[int] = []
    orphaned: list[int] = []
    for at, status, owner, until, ticks in at_work.rows:
        is_orphaned = status != "running" or lapsed(status, owner, until, ticks)
        (orphaned if is_orphaned else held).append(at)
    return Backlog(
        now=now.rows[0][0],
        pending=Counted(*pending.rows[0]),
        claimed=Counted(len(held), min(held, default=None)),
        orphaned=Counted(len(orphaned), min(orphaned, default=None)),
        unknown=Counted(*unknown.rows[0]),
        notices=Counted(*notices.rows[0]),
        expired=expired,
    )
