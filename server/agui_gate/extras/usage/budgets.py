"""Budgets of tokens and money: reserved before a model is asked, settled with the turn, over all processes on a store.

A request reserves an estimate: the length of the thread, and `OUTPUT_TOKENS` for the answer. It may begin as long as
anything is left, so a budget is exceeded by one reservation at most. What was reserved and never settled, as its
process died, counts until the day is over. Days begin at 00:00 UTC, by the store's clock. A budget that is new begins
with what is kept of the day's usage.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from agui_gate.core.approvals import SEPARATOR
from agui_gate.core.principals import tenant_of
from agui_gate.errors import LimitReached, RateLimited
from agui_gate.stores.base import Store
from agui_gate.stores.sql.usage import UsageLedger
from agui_gate.stores.usage import DAY_MS, NANO, BudgetSpent, Spent, Want

OUTPUT_TOKENS = 4_000
"""Tokens that are reserved for an answer."""
BYTES_PER_TOKEN = 4
RESERVED_SECONDS = 15
"""Seconds after which to try again where what is left is reserved by requests at work."""

_WHICH = {
    "run": "The budget of this run",
    "principal": "Your budget",
    "tenant": "The budget of your tenant",
    "all": "The budget of this server",
}


class Budget(NamedTuple):
    """A budget of one ``scope``: tokens, or billionths of a dollar; the other one is None."""

    scope: str
    tokens: int | None
    cost: int | None


class Reservation(NamedTuple):
    """What one request has reserved of each of these budgets."""

    budgets: Sequence[str]
    tokens: int
    cost: int

    def difference(self, tokens: int, cost: int) -> list[Spent]:
        """Returns what budgets get, so that they have what was used instead of what was reserved."""
        return [Spent(budget, tokens - self.tokens, cost - self.cost) for budget in self.budgets]


class Budgets:
    """The budgets of one server. ``said``: as `AGUI_GATE_BUDGETS` has them, ``scope:amount`` each."""

    def __init__(self, said: Sequence[str], ledger: UsageLedger, store: Store) -> None:
        every = [_budget(*one.split(":", 1)) for one in said]
        self._of_run = [one for one in every if one.scope == "run"]
        self._of_day = [one for one in every if one.scope != "run"]
        self._ledger, self._store = ledger, store
        self._runs: dict[str, tuple[int, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_run or self._of_day)

    @property
    def has_money(self) -> bool:
        """True if one of them is in dollars."""
        return any(one.cost is not None for one in (*self._of_run, *self._of_day))

    async def check(self, owner: str) -> None:
        """Raises `RateLimited` if nothing is left for a run of ``owner``. Reserves nothing."""
        if not self:
            return
        now = self._store.now()
        for budget in self._of_run:
            if 0 in (budget.tokens, budget.cost):
                raise _refused(budget, now)
        for budget, want in zip(self._of_day, self._wants(owner, now // DAY_MS), strict=True):
            tokens, cost = await self._ledger.spent(want.budget)
            if _is_over(budget, tokens, cost):
                raise _refused(budget, now, is_reserved=await self._is_reserved(budget, want))

    async def reserve(self, owner: str, run_key: str, tokens: int, cost: int) -> Reservation:
        """Reserves for one request. Raises `LimitReached`; then nothing is reserved, and no model may be asked."""
        for budget in self._of_run:
            if _is_over(budget, *self._runs.get(run_key, (0, 0))):
                raise LimitReached(_told(budget))
        now = self._store.now()
        wants = self._wants(owner, now // DAY_MS)
        if wants:
            try:
                await self._ledger.reserve(wants, tokens, cost)
            except BudgetSpent as spent:
                place = [want.budget for want in wants].index(spent.budget)
                is_reserved = await self._is_reserved(self._of_day[place], wants[place])
                raise LimitReached(_told(self._of_day[place], is_reserved=is_reserved)) from None
        if self._of_run:
            self._spend(run_key, tokens, cost)
        return Reservation([want.budget for want in wants], tokens, cost)

    async def _is_reserved(self, budget: Budget, want: Want) -> bool:
        """Returns whether what a spent budget lacks is reserved: by requests at work, or that never told their use."""
        return not _is_over(budget, *await self._ledger.used(want.budget))

    def replace(
        self, reservation: Reservation | None, owner: str, run_key: str, tokens: int, cost: int
    ) -> Sequence[Spent]:
        """Returns what the budgets of a day get for a request that used so much; that of the run gets it now."""
        if not self:
            return ()
        if reservation is None:
            day = self._store.now() // DAY_MS
            reservation = Reservation([want.budget for want in self._wants(owner, day)], 0, 0)
        if self._of_run:
            self._spend(run_key, tokens - reservation.tokens, cost - reservation.cost)
        return reservation.difference(tokens, cost)

    async def share(self, owner: str, run_key: str, scope: str) -> float:
        """Returns which part of a budget is spent or reserved: 1 where nothing is left. Raises ValueError where there
        is none of that scope.
        """
        budget = next((one for one in (*self._of_run, *self._of_day) if one.scope == scope), None)
        if budget is None:
            raise ValueError(f"AGUI_GATE_BUDGETS has no budget of the scope {scope}")
        if scope == "run":
            tokens, cost = self._runs.get(run_key, (0, 0))
        else:
            wants = self._wants(owner, self._store.now() // DAY_MS)
            tokens, cost = await self._ledger.spent(wants[self._of_day.index(budget)].budget)
        used, most = (tokens, budget.tokens) if budget.tokens is not None else (cost, budget.cost)
        return used / most if most else 1.0

    async def report(self, tenant: str, owners: Sequence[str]) -> list[dict[str, Any]]:
        """Returns each budget and what is spent or reserved of it today: of the tenant, and of each of these owners.

        ``used`` is None of the one of everybody, for a tenant, and of the one of a run.
        """
        day, found = self._store.now() // DAY_MS, []
        for budget in (*self._of_run, *self._of_day):
            whose = {"principal": owners, "tenant": [tenant], "all": [] if tenant else [""]}.get(budget.scope, ())
            spent = [(name, await self._ledger.spent(f"{budget.scope}:{day}:{name}")) for name in whose]
            is_money = budget.cost is not None
            used = [
                {"of": name.rpartition(SEPARATOR)[2], "used": cost / NANO if is_money else tokens}
                for name, (tokens, cost) in spent
            ]
            most = budget.tokens if budget.cost is None else budget.cost / NANO
            found.append(
                {"scope": budget.scope, "unit": "dollars" if is_money else "tokens", "most": most, "used": used}
            )
        return found

    def forget(self, run_key: str) -> None:
        """Forgets a run that is over."""
        self._runs.pop(run_key, None)

    def _spend(self, run_key: str, tokens: int, cost: int) -> None:
        before = self._runs.get(run_key, (0, 0))
        self._runs[run_key] = before[0] + tokens, before[1] + cost

    def _wants(self, owner: str, day: int) -> list[Want]:
        whose = {"principal": owner, "tenant": tenant_of(owner), "all": ""}
        return [Want(f"{one.scope}:{day}:{whose[one.scope]}", one.tokens, one.cost) for one in self._of_day]


def _budget(scope: str, amount: str) -> Budget:
    if amount.startswith("$"):
        return Budget(scope, None, round(float(amount[1:]) * NANO))
    return Budget(scope, int(amount), None)


def _is_over(budget: Budget, tokens: int, cost: int) -> bool:
    return (budget.tokens is not None and tokens >= budget.tokens) or (budget.cost is not None and cost >= budget.cost)


def _told(budget: Budget, *, is_reserved: bool = False) -> str:
    amount = f"${budget.cost / NANO:g}" if budget.cost is not None else f"{budget.tokens:,} tokens"
    when = "" if budget.scope == "run" else " a day"
    if 0 in (budget.tokens, budget.cost):
        return f"{_WHICH[budget.scope]} is zero, so no model is asked. AGUI_GATE_BUDGETS sets it."
    if is_reserved:
        which = f"{_WHICH[budget.scope]} ({amount}{when})"
        return f"{which} is spent, or reserved by requests that are at work. Try again in a moment."
    again = "Send a message to continue." if budget.scope == "run" else "It begins anew at 00:00 UTC."
    return f"{_WHICH[budget.scope]} ({amount}{when}) is spent. {again}"


def _refused(budget: Budget, now: int, *, is_reserved: bool = False) -> RateLimited:
    error = RateLimited(_told(budget, is_reserved=is_reserved))
    error.retry_after = RESERVED_SECONDS if is_reserved else max(1, -(-(DAY_MS - now % DAY_MS) // 1000))
    return error
