"""Choosing few of many cases, so that what two of their values do together is still tried.

Most faults need one value, nearly all others two. A product of three lists has each pair of values many times over.
What is left out is `spare`: `pytest --every` runs it, and so does `make nightly`.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest


def of_folder(items: Iterable[pytest.Item], folder: Path) -> list[pytest.Function]:
    """The functions in and below a folder of tests."""
    begin = f"{folder}{os.sep}"
    return [item for item in items if isinstance(item, pytest.Function) and str(item.path).startswith(begin)]


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


def followers(values: Iterable[Any]) -> list[Any]:
    """Every two of the values as parameters of a test, where each does its part alone.

    Each value comes up in both places, with the one that follows it; what is more than that is spare.
    """
    found = list(values)
    return [
        pytest.param(one, two, marks=() if (n + 1) % len(found) == m else pytest.mark.spare)
        for n, one in enumerate(found)
        for m, two in enumerate(found)
    ]


def pairs(*axes: Iterable[Any]) -> list[Any]:
    """The product of the lists as parameters of a test; those that bring no new pair of values are spare."""
    cases = list(product(*map(list, axes)))
    chosen = covering([set(combinations(enumerate(map(repr, case)), 2)) for case in cases])
    return [pytest.param(*case, marks=() if n in chosen else pytest.mark.spare) for n, case in enumerate(cases)]


def take_turns(items: Iterable[pytest.Item]) -> None:
    """Mark cases of tests as spare that have several lists of parameters, or of a fixture, and show no new value.

    Stores and styles of asking take turns that way, as in `turns`; each comes up about as often. A test whose
    parameters mean something only together has them in one list.
    """
    functions: defaultdict[str, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("spare"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for cases in functions.values():
        shown = [set(enumerate(_values(case))) for case in cases]
        missing, used = set().union(*shown), Counter[Hashable]()
        chosen = set()
        while missing:
            best = max(
                range(len(cases)), key=lambda n: (len(missing & shown[n]), -sum(used[value] for value in shown[n]))
            )
            chosen.add(best)
            missing -= shown[best]
            used.update(shown[best])
        for n in set(range(len(cases))) - chosen:
            cases[n].add_marker("spare")


def _values(case: Any) -> list[Hashable]:
    """The values of a case, one of each list. What has no name is told by being the same."""
    given = dict(case.callspec.params)
    found: list[Hashable] = []
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        found.append(tuple(_name(given.pop(name)) for name in names))
    return [*found, *map(_name, given.values())]


def _name(value: Any) -> Hashable:
    return value if isinstance(value, str | int) else id(value)
