"""What requests to models have used, as a store keeps it, and the budgets that they are held to."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

DAY_MS = 86_400_000
"""Milliseconds of a day; days begin at 00:00 UTC."""
NANO = 1_000_000_000
"""What costs are counted in: billionths of a dollar."""

KINDS = ("input", "output", "cached_input", "cache_write_input", "reasoning")
"""The kinds of tokens; the last three are parts of the first two."""


class Spent(NamedTuple):
    """What is to be added to one budget: tokens and cost, below 0 where a reservation was too large."""

    budget: str
    tokens: int
    cost: int


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model. ``at``: when it ended, ms since the epoch; ``first_ms``: until the first event.

    ``owner`` is an owner's key, ``principal`` the id of who acted. ``outcome``: ok, an error's code, or cancelled.
    ``cost``: an estimate in billionths of a dollar, by the prices ``priced``; None where there is no price. ``spent``:
    what it changes of budgets, once.
    """

    id: str
    of_tenant: str
    owner: str
    principal: str
    thread_id: str
    run_key: str
    agent: str
    provider: str
    model: str
    at: int
    first_ms: int | None
    ms: int
    outcome: str
    input: int | None = None
    output: int | None = None
    cached_input: int | None = None
    cache_write_input: int | None = None
    reasoning: int | None = None
    cost: int | None = None
    priced: str = ""
    spent: Sequence[Spent] = ()


class Sums(msgspec.Struct, frozen=True, kw_only=True):
    """Usage added up. ``unpriced``: of the ``requests``, those with tokens and without a price."""

    requests: int = 0
    failed: int = 0
    unpriced: int = 0
    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write_input: int = 0
    reasoning: int = 0
    cost: int = 0

    def plus(self, other: "Sums") -> "Sums":
        """Returns both together."""
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Line(NamedTuple):
    """Usage of one day, or of one request, by what it may be grouped by. ``thread_id``: "" where days are told."""

    day: int
    owner: str
    principal: str
    agent: str
    provider: str
    model: str
    thread_id: str
    sums: Sums


class Want(NamedTuple):
    """A reservation that is wanted of a budget, which has so many ``tokens`` and costs at most; None: no such limit."""

    budget: str
    tokens: int | None
    cost: int | None


class BudgetSpent(Exception):
    """Nothing is left of ``budget``; nothing was reserved."""

    def __init__(self, budget: str) -> None:
        super().__init__(budget)
        self.budget = budget


def sums_of(request: ModelRequest) -> Sums:
    """Returns what one request adds."""
    tokens = {kind: getattr(request, kind) or 0 for kind in KINDS}
    is_unpriced = request.cost is None and request.input is not None
    failed = request.outcome != "ok"
    return Sums(requests=1, failed=int(failed), unpriced=int(is_unpriced), cost=request.cost or 0, **tokens)


def together(spent: Iterable[Spent]) -> list[Spent]:
    """Returns what each budget gets, in the one order in which everybody changes them."""
    found: dict[str, tuple[int, int]] = {}
    for one in spent:
        tokens, cost = found.get(one.budget, (0, 0))
        found[one.budget] = tokens + one.tokens, cost + one.cost
    return [Spent(name, *found[name]) for name in sorted(found) if any(found[name])]
