"""Few of many cases, and yet each pair of values."""

from itertools import combinations, product

from tests.support.pairwise import covering, pairs, turns

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
