"""Few of many cases, and yet each pair of values."""

from collections import Counter
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.pairwise import covering, followers, pairs, take_turns, turns

AXES = ("abcd", range(3), (True, False), ("x", "y", "z"))


def test_each_pair_of_values_is_in_a_case_that_is_not_spare() -> None:
    cases = pairs(*AXES)
    assert [case.values for case in cases] == list(product(*AXES))
    kept = [case.values for case in cases if not case.marks]
    assert {pair for case in kept for pair in combinations(enumerate(case), 2)} == {
        pair for case in cases for pair in combinations(enumerate(case.values), 2)
    }
    assert len(kept) < len(cases) / 4


def test_of_two_lists_nothing_is_spare() -> None:
    assert not any(case.marks for case in pairs("abc", "xyz"))


def test_lists_that_take_turns_show_each_value() -> None:
    cases = turns(*AXES)
    assert [case.values for case in cases] == list(product(*AXES))
    kept = [case.values for case in cases if not case.marks]
    assert [set(values) for values in zip(*kept, strict=True)] == [set(axis) for axis in AXES]
    assert len(kept) == 4


def test_who_shows_most_is_taken_first_and_nobody_for_nothing() -> None:
    assert covering([{1}, {1, 2}, {2, 3}, {1, 3}, set()]) == [1, 2]
    assert covering([{1}, {1}]) == [0]


def test_each_of_a_ring_comes_up_in_both_places() -> None:
    cases = followers("abc")
    assert [case.values for case in cases] == list(product("abc", repeat=2))
    assert [case.values for case in cases if not case.marks] == [("a", "b"), ("b", "c"), ("c", "a")]


class Item:
    """A collected case of a test with these lists of parameters; what is no list is a fixture's."""

    def __init__(self, name: str, lists: tuple[str, ...], **values: Any) -> None:
        self.nodeid = f"{name}[{values}]"
        self.callspec = SimpleNamespace(params=values)
        self._marks = [pytest.mark.parametrize(names, []).mark for names in lists]
        self.spare = False

    def iter_markers(self, _: str) -> Any:
        return self._marks

    def get_closest_marker(self, _: str) -> bool:
        return self.spare

    def add_marker(self, _: str) -> None:
        self.spare = True


def test_cases_that_take_turns_show_each_value_and_stores_come_up_alike() -> None:
    both = [Item("both", ("case",), store=store, case=case) for store in ("file", "server") for case in range(6)]
    together = [Item("together", ("a, b",), a=a, b=b) for a in "12" for b in "12"]
    take_turns([*both, *together])  # type: ignore[list-item]
    kept = [item.callspec.params for item in both if not item.spare]
    assert sorted(values["case"] for values in kept) == list(range(6))
    assert Counter(values["store"] for values in kept) == {"file": 3, "server": 3}
    assert not any(item.spare for item in together)
