"""Expires approvals in SQL: what nobody decided in time. A run has nothing to do with it where nothing is overdue."""

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter

import msgspec

from agui_gate.core import audit
from agui_gate.core.approvals import Approval, State
from agui_gate.stores.base import Expired
from agui_gate.stores.sql.ledger import DUE, Ledger
from agui_gate.stores.sql.operations import Last, Statement, Steps
from agui_gate.stores.sql.trail import head_of

_OVERDUE = (
    "SELECT thread, :now FROM approvals WHERE tenant = :tenant AND state = 'pending' "
    "AND expires_at <= coalesce(:at, :now) AND {}"
)
"""Without ORDER BY and DISTINCT, for which SQLite would use another, longer index."""
_BY = "state = 'pending' AND expires_at <= :by"
_EXPIRE = (
    "UPDATE approvals SET state = 'expired', decided_at = :at "  # noqa: S608 our names
    f"WHERE tenant = :tenant AND thread = :key AND {_BY}"
)


def expire(ledger: Ledger, condition: str, values: Mapping[str, object], at: int | None) -> Steps[None]:
    """Moves overdue pending approvals to ``expired``: those of threads of which one is of ``condition``.

    ``at``: by that time (None: now). Each thread is a transaction. It needs no durable commit: what the clock made
    overdue stays overdue.
    """
    (found,) = yield [Statement(_OVERDUE.format(condition), {**values, "at": at})]
    overdue = dict(found.rows)
    for key in sorted(overdue):
        at_key = overdue[key] if at is None else at
        yield from _expire_thread(ledger, key, at_key, at_key)


def expire_due(ledger: Ledger, most: int) -> Steps[Expired]:
    """See `Expiry.expire`. Each thread is a transaction, over the approvals that expire next to each other: what
    another thread has in between is expired before those that follow.
    """
    (found,) = yield [Statement(DUE, {"limit": most + 1})]
    overdue = [row for row in found.rows if row[0] <= row[2]]
    approvals: list[Approval] = []
    for key, times in groupby(overdue, itemgetter(1)):
        *_, (by, _, now) = times
        approvals += yield from _expire_thread(ledger, key, now, by)
    threads = dict.fromkeys((approval.principal, approval.thread_id) for approval in approvals)
    waits = [expires_at - now for expires_at, _, now in found.rows[len(overdue) :]]
    return Expired(list(threads), waits[0] if waits else 0 if len(overdue) > most else None, approvals)


def _expire_thread(ledger: Ledger, key: int, at: int, by: int) -> Steps[list[Approval]]:
    """Expires those of a thread that are overdue ``by`` that time, which is ``at`` or before, the oldest first."""
    values = {"key": key, "at": at, "by": by}
    lock = f"SELECT tenant FROM threads WHERE tenant = :tenant AND key = :key{ledger.variant.lock}"  # noqa: S608 ours
    texts = (lock, head_of(":key"), ledger.reading(f"thread = :key AND {_BY}", listed=True))
    locked, end, overdue = yield [Statement(text, values) for text in texts]
    expired = sorted(ledger.approvals(overdue), key=lambda approval: approval.expires_at or 0)
    for (tenant,) in locked.rows:
        happened = [one for approval in expired for one in audit.moved(approval, State.EXPIRED)]
        after = [msgspec.structs.replace(one, state=State.EXPIRED, decided_at=at) for one in expired]
        yield Last([Statement(_EXPIRE, values), *ledger.trail.added(key, tenant, end.rows, at, happened, after)])
        ledger.expired += len(expired)
    return expired
