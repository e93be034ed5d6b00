"""Choosing few of many cases, so that what two of their values do together is still tried.

Most faults need one value, nearly all others two. A product of three lists has each pair of values many times over.
What is left out is `spare`: `pytest --every` runs it, and so does `make nightly`.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def covering(cases: Sequence[Collection[Hashable]]) -> list[int]:
    """The positions of as few cases as show all that any of them shows; the same ones each time.

    Each step takes the case that shows most that is missing, the first one of equals.
    """
    missing = set().union(*cases)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda n: len(missing.intersection(cases[n])))
        chosen.append(best)
        missing.difference_update(cases[best])
    return chosen


def turns(*axes: Iterable[Any]) -> list[Any]:
    """The product of the lists as parameters of a test, where what they do has nothing to do with one another.

    Each value comes up at least once, the lists taking turns; what is more than that is spare.
    """
    lists = [list(enumerate(axis)) for axis in axes]
    chosen = {tuple(n % len(one) for one in lists) for n in range(max(map(len, lists)))}
    cases = [tuple(zip(*case, strict=True)) for case in product(*lists)]
    return [pytest.param(*values, marks=() if at in chosen else pytest.mark.spare) for at, values in cases]


def pairs(*axes: Iterable[Any]) -> list[Any]:
    """The product of the lists as parameters of a test; those that bring no new pair of values are spare."""
    cases = list(product(*map(list, axes)))
    chosen = covering([set(combinations(enumerate(map(repr, case)), 2)) for case in cases])
    return [pytest.param(*case, marks=() if n in chosen else pytest.mark.spare) for n, case in enumerate(cases)]
