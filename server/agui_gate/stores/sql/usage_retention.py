"""Forgets old usage in SQL, a little at a time, in the order of the rows' keys: no index is needed for that."""

from collections.abc import Sequence

import msgspec

from agui_gate.stores.sql.operations import Statement, Steps
from agui_gate.stores.sql.variant import Variant
from agui_gate.stores.usage import DAY_MS

LOOK = 500
"""Rows of a kind that one step looks at."""
BUDGET_DAYS = 2
"""Days after which nobody asks for a day's budget any more, whatever time it is elsewhere."""

_REQUESTS = "SELECT id, at FROM model_requests WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit"
_DAYS = (
    "SELECT of_tenant, day FROM usage_days WHERE tenant = :tenant AND (of_tenant, day) > (:of_tenant, :day) "
    "ORDER BY of_tenant, day LIMIT :limit"
)
_DAY = "DELETE FROM usage_days WHERE tenant = :tenant AND of_tenant = :of_tenant AND day = :day"
_BUDGETS = "SELECT id FROM budgets WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit"


class Place(msgspec.Struct, frozen=True):
    """The place that the looking has got to: after this request, this day of this tenant, this budget."""

    request: str = ""
    of_tenant: str = ""
    day: int = -1
    budget: str = ""


def forget(variant: Variant, days: int, place: Place) -> Steps[tuple[int, Place]]:
    """Takes one step; returns how many rows went, and where the next one goes on. ``days``: after so many usage is
    forgotten; 0: never. Budgets of days that are over go in any case.
    """
    (clock,) = yield [Statement("SELECT :now + 0")]
    today = clock.rows[0][0] // DAY_MS
    gone, name, day = 0, "", ("", -1)
    if days:
        requests, name = yield from _forget_requests(variant, clock.rows[0][0] - days * DAY_MS, place.request)
        kept_days, day = yield from _forget_days(today - days, (place.of_tenant, place.day))
        gone = requests + kept_days
    budgets, budget = yield from _forget_budgets(variant, today - BUDGET_DAYS, place.budget)
    return gone + budgets, Place(name, *day, budget)


def _forget_requests(variant: Variant, before: int, after: str) -> Steps[tuple[int, str]]:
    (found,) = yield [Statement(_REQUESTS, {"after": after, "limit": LOOK})]
    gone = yield from _delete(variant, "model_requests", [name for name, at in found.rows if at < before])
    return gone, found.rows[-1][0] if len(found.rows) == LOOK else ""


def _forget_days(before: int, after: tuple[str, int]) -> Steps[tuple[int, tuple[str, int]]]:
    (found,) = yield [Statement(_DAYS, {"of_tenant": after[0], "day": after[1], "limit": LOOK})]
    old = sorted({row for row in found.rows if row[1] < before})
    if old:
        yield [Statement(_DAY, {"of_tenant": tenant, "day": day}) for tenant, day in old]
    return len(old), found.rows[-1] if len(found.rows) == LOOK else ("", -1)


def _forget_budgets(variant: Variant, before: int, after: str) -> Steps[tuple[int, str]]:
    (found,) = yield [Statement(_BUDGETS, {"after": after, "limit": LOOK})]
    gone = yield from _delete(variant, "budgets", [name for (name,) in found.rows if 0 <= _day(name) < before])
    return gone, found.rows[-1][0] if len(found.rows) == LOOK else ""


def _day(budget: str) -> int:
    """Returns the day of a budget; -1 for what is of no day."""
    said = budget.split(":", 2)[1:2]
    return int(said[0]) if said and said[0].isdecimal() else -1


def _delete(variant: Variant, table: str, ids: Sequence[str]) -> Steps[int]:
    if not ids:
        return 0
    text = f"DELETE FROM {table} WHERE tenant = :tenant AND {variant.among('id', 'ids')}"  # noqa: S608 our names
    (gone,) = yield [Statement(text, {"ids": variant.listed(ids)})]
    return gone.changed
