"""The list of requirements and the tests agree, both ways. Read from the sources: no other test has to run for it.

A test names ids with `@shows("S1")`, or with its own name: `test_s24_…` shows S24.
"""

import re

import pytest

from tests.requirements import REQUIREMENTS, shows
from tools.marks import Marked, marked


def evidence(test: Marked) -> list[str]:
    """The ids that a test names: by its own name, and by marks."""
    in_name = re.match(r"test_([sbt]\d+)_", test.name)
    return [*([in_name[1].upper()] if in_name else []), *test.ids]


SHOWN = {test.test: evidence(test) for test in marked("shows")}


def test_every_requirement_has_a_test() -> None:
    shown = {i for ids in SHOWN.values() for i in ids}
    assert [i for i in REQUIREMENTS if i not in shown] == []


def test_every_named_requirement_exists() -> None:
    assert {test: ids for test, ids in SHOWN.items() if set(ids) - set(REQUIREMENTS)} == {}


def test_every_test_of_the_product_names_a_requirement() -> None:
    assert [test for test, ids in SHOWN.items() if test.startswith("product/") and "::test_" in test and not ids] == []


def test_ids_are_permanent() -> None:
    assert list(REQUIREMENTS) == [
        f"{kind}{n}" for kind, last in (("S", 33), ("B", 28), ("T", 24), ("H", 2), ("K", 3)) for n in range(1, last + 1)
    ]


@pytest.mark.parametrize("ids", [(), ("S0",), ("S1", "b2")])
def test_an_unknown_id_is_refused(ids: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="no such requirement"):
        shows(*ids)
