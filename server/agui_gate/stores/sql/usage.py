"""Usage in SQL: requests to models and budgets. What belongs to a turn is written in its transaction, once.

A commit whose run has requests to be written looks first which of them are there, under the lock of its thread's row.
So a commit that was made twice, or whose answer got lost, counts once. Who changes a budget locks its row alone, and
several in the order of their ids.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from agui_gate.errors import LeaseLost
from agui_gate.stores.base import Change, Store, Thread
from agui_gate.stores.sql.changes import Changes
from agui_gate.stores.sql.journal import UNDER_LEASE, Journal
from agui_gate.stores.sql.ledger import Ledger
from agui_gate.stores.sql.operations import Kind, Operation, Statement, Steps
from agui_gate.stores.sql.store import SQLStore
from agui_gate.stores.sql.trail import Trail
from agui_gate.stores.sql.usage_retention import Place, forget
from agui_gate.stores.sql.variant import Variant
from agui_gate.stores.usage import DAY_MS, BudgetSpent, Line, ModelRequest, Spent, Sums, Want, sums_of, together

T = TypeVar("T")

PAGE = 1_000
"""Rows that are read at once."""
MOST_ROWS = 200_000
"""Rows that one report reads."""

_COLUMNS = tuple(name for name in ModelRequest.__struct_fields__ if name != "spent")
_KEY = ("day", "owner", "principal", "agent", "provider", "model")
_SUMS = Sums.__struct_fields__
_UNBOUNDED = 2**62

_RECORD = f"INSERT INTO model_requests (tenant, {', '.join(_COLUMNS)}) VALUES (:tenant, :{', :'.join(_COLUMNS)})"  # noqa: S608 ours
_ADD = (
    f"INSERT INTO usage_days (tenant, of_tenant, {', '.join(_KEY)}, {', '.join(_SUMS)}) "  # noqa: S608 our names
    f"VALUES (:tenant, :of_tenant, :{', :'.join(_KEY)}, :{', :'.join(_SUMS)}) "
    f"ON CONFLICT (tenant, of_tenant, {', '.join(_KEY)}) DO UPDATE SET "
    + ", ".join(f"{name} = usage_days.{name} + excluded.{name}" for name in _SUMS)
)
_SPEND = (
    "INSERT INTO budgets (tenant, id, tokens, cost) VALUES (:tenant, :id, :tokens, :cost) "
    "ON CONFLICT (tenant, id) DO UPDATE SET tokens = budgets.tokens + excluded.tokens, "
    "cost = budgets.cost + excluded.cost"
)
_TENANT = "SELECT of_tenant FROM usage_days WHERE tenant = :tenant{after} ORDER BY of_tenant LIMIT 1"
_USED = (
    "SELECT CAST(coalesce(sum(input + output), 0) AS bigint), CAST(coalesce(sum(cost), 0) AS bigint) "
    "FROM usage_days WHERE tenant = :tenant AND {column} = :whose AND day = :day"
)
_USED_OF: Mapping[str, str] = {
    "principal": _USED.format(column="owner"),
    "tenant": _USED.format(column="of_tenant"),
}
_OPEN = (
    "INSERT INTO budgets (tenant, id, tokens, cost) VALUES (:tenant, :id, :tokens, :cost) "
    "ON CONFLICT (tenant, id) DO NOTHING"
)
_RESERVE = (
    "UPDATE budgets SET tokens = tokens + :tokens, cost = cost + :cost "
    "WHERE tenant = :tenant AND id = :id AND tokens < :most_tokens AND cost < :most_cost"
)
_BUDGET = "SELECT tokens, cost FROM budgets WHERE tenant = :tenant AND id = :id"

_DAYS = f"SELECT {', '.join((*_KEY, *_SUMS))} FROM usage_days WHERE tenant = :tenant"  # noqa: S608 our names
_AFTER = "(:day, :owner, :principal, :agent, :provider, :model)"
_DAYS_OF: Mapping[str, str] = {
    "of_tenant": f"{_DAYS} AND of_tenant = :whose AND ({', '.join(_KEY)}) > {_AFTER} AND day <= :until "
    f"ORDER BY {', '.join(_KEY)} LIMIT :limit",
    "owner": f"{_DAYS} AND owner = :whose AND (day, principal, agent, provider, model) > "
    "(:day, :principal, :agent, :provider, :model) AND day <= :until "
    "ORDER BY day, principal, agent, provider, model LIMIT :limit",
}
_ROWS = f"SELECT {', '.join(_COLUMNS)} FROM model_requests WHERE tenant = :tenant"  # noqa: S608 our names
_ROWS_OF: Mapping[str, str] = {
    whose: f"{_ROWS} AND {whose} = :whose AND (at, id) > (:at, :id) AND at < :until ORDER BY at, id LIMIT :limit"
    for whose in ("of_tenant", "owner")
}
# PostgreSQL would go along all requests of the owner, if that condition were one of an index.
_OF_THREAD = (
    f"{_ROWS} AND thread_id = :thread_id AND coalesce(owner, '') = :whose AND (at, id) > (:at, :id) "
    "ORDER BY at, id LIMIT :limit"
)


class UsageChanges(Changes):
    """Commits that write what their runs have used. ``due``: by run key, what is to be written with the next one."""

    def __init__(self, variant: Variant, ledger: Ledger, journal: Journal, trail: Trail) -> None:
        super().__init__(variant, ledger, journal, trail)
        self.due: dict[str, Due] = {}

    def commit(self, key: int, change: Change, run_key: str) -> Steps[None]:
        """See `Changes.commit`."""
        if (due := self.due.get(run_key)) is not None:
            due.was_sent = True
            lock = f"SELECT entries FROM threads WHERE {UNDER_LEASE}{self._variant.lock}"  # noqa: S608 our names
            (held,) = yield [Statement(lock, {"key": key, "run_key": run_key})]
            if not held.rows or change.after not in (None, held.rows[0][0]):
                raise LeaseLost
            yield from _write(self._variant, due.requests)
        yield from super().commit(key, change, run_key)


class Due:
    """Requests that are to be written with one commit. ``was_sent``: an attempt was made."""

    def __init__(self, requests: Sequence[ModelRequest]) -> None:
        self.requests, self.was_sent = requests, False


class UsageLedger:
    """The usage that one store keeps."""

    def __init__(self, store: SQLStore) -> None:
        self._store, self._variant = store, store._sql.ledger.variant
        sql = store._sql
        self._changes = sql.changes = UsageChanges(self._variant, sql.ledger, sql.journal, sql.trail)

    async def commit(
        self,
        thread: Thread,
        change: Change,
        run_key: str,
        requests: Sequence[ModelRequest],
        commit: Callable[[Thread, Change, str], Awaitable[None]] | None = None,
    ) -> bool:
        """Commits as the store does, and with it ``requests``. Returns whether they were written, too. Raises what it
        raises; then nothing is written. ``commit``: the store's, where that is wrapped.
        """
        self._changes.due[run_key] = due = Due(requests)
        try:
            await (commit or self._store.commit)(thread, change, run_key)
        finally:
            self._changes.due.pop(run_key, None)
        return due.was_sent

    async def save(self, requests: Sequence[ModelRequest], spent: Sequence[Spent] = ()) -> None:
        """Writes requests that belong to no commit, those that are not there yet; and changes budgets."""
        await self._do("write", lambda: _write(self._variant, requests, spent))

    async def reserve(self, wants: Sequence[Want], tokens: int, cost: int) -> None:
        """Reserves so much of each budget that has something left. Raises `BudgetSpent`; then nothing is reserved."""
        ordered = sorted(wants)
        await self._do("write", lambda: _reserve(ordered, tokens, cost))

    async def spent(self, budget: str) -> tuple[int, int]:
        """Returns the tokens and the cost that are spent or reserved of a budget."""
        return await self._do("read", lambda: _spent(budget))

    async def used(self, budget: str) -> tuple[int, int]:
        """Returns the tokens and the cost that are kept as used, without what is reserved."""
        return await self._do("read", lambda: _used(budget))

    async def days(self, whose: str, value: str, since: int, until: int) -> tuple[Sequence[Line], bool]:
        """Returns what was used on those days, added up, by who owns it (``whose`` is ``owner`` or ``of_tenant``); and
        whether that is all: up to `MOST_ROWS` are read.
        """
        found: list[Line] = []
        place: dict[str, object] = {"day": since, **dict.fromkeys(_KEY[1:], "")}
        while len(found) < MOST_ROWS:
            values = {**place, "whose": value, "until": until, "limit": PAGE}
            page = await self._do("read", partial(_days, whose, values))
            found += page
            if len(page) < PAGE:
                return found, True
            place = dict(zip(_KEY, page[-1], strict=False))
        return found, False

    async def tenants(self) -> Sequence[str]:
        """Returns the tenants of which usage is kept; "" is that of owners without one."""
        return await self._do("read", _tenants)

    async def requests(
        self, whose: str, value: str, since: int = 0, until: int = _UNBOUNDED, thread_id: str | None = None
    ) -> tuple[Sequence[ModelRequest], bool]:
        """Returns the requests that ended in that time (ms), oldest first, as `days` does. ``thread_id``: of that
        thread alone, of the owner ``value``.
        """
        found: list[ModelRequest] = []
        place: dict[str, object] = {"at": since, "id": ""}
        while len(found) < MOST_ROWS:
            values = {**place, "whose": value, "until": until, "limit": PAGE, "thread_id": thread_id}
            page = await self._do("read", partial(_requests, whose, values))
            found += page
            if len(page) < PAGE:
                return found, True
            place = {"at": page[-1].at, "id": page[-1].id}
        return found, False

    async def forget(self, days: int, place: Place) -> tuple[int, Place]:
        """Takes one step in forgetting what is older than ``days``: see `usage_retention.forget`."""
        return await self._do("write", lambda: forget(self._variant, days, place))

    async def _do(self, kind: Kind, operation: Operation[T]) -> T:
        return await self._store._do(kind, operation)


def ledger_of(store: Store) -> UsageLedger | None:
    """Returns the usage ledger of a store; None of one that keeps none."""
    return UsageLedger(store) if isinstance(store, SQLStore) else None


def _write(variant: Variant, requests: Sequence[ModelRequest], spent: Sequence[Spent] = ()) -> Steps[None]:
    new = requests
    if requests:
        there = f"SELECT id FROM model_requests WHERE tenant = :tenant AND {variant.among('id', 'ids')}"  # noqa: S608 ours
        (found,) = yield [Statement(there, {"ids": variant.listed([one.id for one in requests])})]
        known = {name for (name,) in found.rows}
        new = [one for one in requests if one.id not in known]
    batch = [Statement(_RECORD, {name: getattr(one, name) for name in _COLUMNS}) for one in new]
    added: dict[tuple[Any, ...], Sums] = {}
    for one in new:
        key = (one.of_tenant, one.at // DAY_MS, *(getattr(one, name) for name in _KEY[1:]))
        added[key] = added.get(key, Sums()).plus(sums_of(one))
    for key in sorted(added):
        values = dict(zip(("of_tenant", *_KEY), key, strict=True))
        batch.append(Statement(_ADD, {**values, **{name: getattr(added[key], name) for name in _SUMS}}))
    changed = together([*(change for one in new for change in one.spent), *spent])
    yield from _open([one.budget for one in changed])
    batch += [Statement(_SPEND, {"id": one.budget, "tokens": one.tokens, "cost": one.cost}) for one in changed]
    if batch:
        yield batch


def _reserve(wants: Sequence[Want], tokens: int, cost: int) -> Steps[None]:
    yield from _open([want.budget for want in wants])
    results = yield [
        Statement(
            _RESERVE,
            {
                "id": want.budget,
                "tokens": tokens,
                "cost": cost,
                "most_tokens": _UNBOUNDED if want.tokens is None else want.tokens,
                "most_cost": _UNBOUNDED if want.cost is None else want.cost,
            },
        )
        for want in wants
    ]
    for want, result in zip(wants, results, strict=True):
        if not result.changed:
            raise BudgetSpent(want.budget)


def _spent(budget: str) -> Steps[tuple[int, int]]:
    (found,) = yield [Statement(_BUDGET, {"id": budget})]
    if found.rows:
        return found.rows[0]
    return (yield from _used(budget))


def _open(budgets: Sequence[str]) -> Steps[None]:
    """Begins budgets that aren't there, with what was used of them before: in a day that one is set, or a new one."""
    if not budgets:
        return
    there = yield [Statement(_BUDGET, {"id": budget}) for budget in budgets]
    for budget, found in zip(budgets, there, strict=True):
        if not found.rows:
            tokens, cost = yield from _used(budget)
            yield [Statement(_OPEN, {"id": budget, "tokens": tokens, "cost": cost})]


def _used(budget: str) -> Steps[tuple[int, int]]:
    """Returns the tokens and the cost that are kept as used by whom a budget of a day, ``scope:day:name``, is for."""
    scope, _, rest = budget.partition(":")
    day, _, name = rest.partition(":")
    if scope not in ("principal", "tenant", "all") or not day.isdigit():
        return 0, 0
    names = [name] if scope != "all" else (yield from _tenants())
    if not names:
        return 0, 0
    found = yield [
        Statement(_USED_OF["principal" if scope == "principal" else "tenant"], {"day": int(day), "whose": one})
        for one in names
    ]
    return sum(one.rows[0][0] for one in found), sum(one.rows[0][1] for one in found)


def _tenants() -> Steps[list[str]]:
    """Returns the tenants of which usage is kept, one after the other along the index: they are few, rows many."""
    names: list[str] = []
    while True:
        text = _TENANT.format(after=" AND of_tenant > :last" if names else "")
        (found,) = yield [Statement(text, {"last": names[-1] if names else ""})]
        if not found.rows:
            return names
        names.append(found.rows[0][0])


def _days(whose: str, values: Mapping[str, object]) -> Steps[list[Line]]:
    (found,) = yield [Statement(_DAYS_OF[whose], values)]
    number = len(_KEY)
    return [Line._make((*row[:number], "", Sums(**dict(zip(_SUMS, row[number:], strict=True))))) for row in found.rows]


def _requests(whose: str, values: Mapping[str, object]) -> Steps[list[ModelRequest]]:
    text = _ROWS_OF[whose] if values["thread_id"] is None else _OF_THREAD
    (found,) = yield [Statement(text, values)]
    return [ModelRequest(**dict(zip(_COLUMNS, row, strict=True))) for row in found.rows]
