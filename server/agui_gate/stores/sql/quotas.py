"""Quotas in SQL: how many runs, threads and waiting calls an owner or a tenant has, over all processes on a store.

A run is counted in the transaction in which it takes its thread's lease, and nobody else of the same owner or tenant
takes one at that moment. So no limit is exceeded, however many processes begin runs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agui_gate.core.principals import tenant_of
from agui_gate.errors import AguiGateError
from agui_gate.stores.base import Thread
from agui_gate.stores.lease import lapsed
from agui_gate.stores.outbox import is_run
from agui_gate.stores.sql.leases import BY_EITHER, Leases, Wish
from agui_gate.stores.sql.operations import Statement, Steps
from agui_gate.stores.sql.variant import Variant

if TYPE_CHECKING:
    from agui_gate.stores.sql.store import SQLStore

Kind = Literal["runs", "threads", "approvals"]


class StoredQuota(NamedTuple):
    """A limit: so ``most`` of a ``kind`` for each owner (``principal``) or each ``tenant``."""

    scope: str
    kind: Kind
    most: int


Refused = Callable[[StoredQuota], AguiGateError]

_HAS: Mapping[Kind, str] = {
    "runs": "WITH running AS MATERIALIZED (SELECT principal, run_key, lease_owner, lease_until FROM threads "
    "WHERE tenant = :tenant AND run_status = 'running') "
    "SELECT run_key, lease_owner, lease_until, :ticks FROM running WHERE lease_until > :ticks AND {whose}",
    "threads": "SELECT count(*) FROM (SELECT 1 FROM threads WHERE tenant = :tenant AND {whose} LIMIT :most) AS held",
    "approvals": "SELECT count(*) FROM (SELECT 1 FROM approvals WHERE tenant = :tenant AND state = 'pending' "
    "AND {whose} LIMIT :most) AS held",
}
"""What runs is a few, of which all are read; a call that is overdue waits until it has expired, in a few seconds."""
_IS_THERE = (
    f"SELECT key, (SELECT count(*) FROM approvals WHERE tenant = :tenant AND thread = threads.key "  # noqa: S608 ours
    f"AND state = 'pending') FROM threads WHERE {BY_EITHER}"
)
MORE = 1_000
"""Waiting calls over a limit that are counted."""


class QuotaLeases:
    """The leases of one store, of which a run gets none that is over a limit. A run on a thread that is there makes
    none; one on a thread where a call waits may answer that.
    """

    def __init__(self, inner: Leases, variant: Variant, every: Sequence[StoredQuota], refused: Refused) -> None:
        self._inner, self._variant, self._every, self._refused = inner, variant, every, refused

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def lease(self, wish: Wish) -> Steps[Thread]:
        """See `Leases.lease`. Raises what ``refused`` says of a limit; then nothing happened."""
        if is_run(wish.run_key):
            yield from self._check(wish)
        return (yield from self._inner.lease(wish))

    def _check(self, wish: Wish) -> Steps[None]:
        for name in sorted({f"limit:{held.scope}:{_whose(held.scope, wish.principal)}" for held in self._every}):
            yield [Statement(self._variant.alone, {"name": name})]
        place = {"principal": wish.principal, "thread_id": wish.thread_id}
        (there,) = yield [Statement(_IS_THERE, place)]
        is_there, waits = bool(there.rows), bool(there.rows and there.rows[0][1])
        asked = [
            held for held in self._every if held.kind == "runs" or not (is_there if held.kind == "threads" else waits)
        ]
        if not asked:
            return
        results = yield [self.counting(held, wish.principal) for held in asked]
        for held, result in zip(asked, results, strict=True):
            if counted(held.kind, result.rows) >= held.most:
                raise self._refused(held)

    def counting(self, held: StoredQuota, owner: str, more: int = 0) -> Statement:
        """Returns the statement that counts what an owner, or its tenant, has of a kind; see `counted`."""
        name, tenant = _whose(held.scope, owner), self._variant.owners_tenant
        whose = "principal = :owner" if held.scope == "principal" else f"{tenant} = :owner"
        return Statement(_HAS[held.kind].format(whose=whose), {"owner": name, "most": held.most + more})


def counted(kind: Kind, rows: Sequence[tuple[Any, ...]]) -> int:
    """Returns the number that `QuotaLeases.counting` has read."""
    if kind != "runs":
        return int(rows[0][0])
    return sum(is_run(run_key) and not lapsed("running", *lease) for run_key, *lease in rows)


async def count(store: "SQLStore", held: StoredQuota, owner: str) -> int:
    """Returns how many there are; `MORE` over the limit, where there are more."""

    def steps() -> Steps[int]:
        leases: Any = store._sql.leases
        (found,) = yield [leases.counting(held, owner, MORE)]
        return counted(held.kind, found.rows)

    return await store._do("read", steps)


def enforce(store: "SQLStore", every: Sequence[StoredQuota], refused: Refused) -> None:
    """Holds all runs of a store to these limits, from now on. ``refused`` returns the error where there are as many."""
    sql: Any = store._sql
    inner = sql.leases._inner if isinstance(sql.leases, QuotaLeases) else sql.leases
    sql.leases = QuotaLeases(inner, sql.ledger.variant, every, refused)


def _whose(scope: str, owner: str) -> str:
    return owner if scope == "principal" else tenant_of(owner)
