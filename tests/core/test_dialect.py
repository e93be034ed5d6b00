"""Who gets which rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.dialect import Deployment, Dialect, choose, declares_v1, is_newer
from tests.conforming import conforms
from tests.requirements import shows


@shows("B14")
@given(st.none() | st.text(max_size=8))
def test_compat_is_for_everybody_where_the_operator_says_so(asked: str | None) -> None:
    assert choose(asked, Deployment.COMPAT) is Dialect.V0


@pytest.mark.parametrize(
    ("asked", "newer"),
    [
        (None, False),
        ("0.9", False),
        ("0.0", False),
        ("1.0", True),
        ("1.7", True),
        ("2.0", True),
        ("10.0", True),
        ("", True),  # what can't be read is taken as newer
        ("1", True),
        ("0.9.1", True),
        ("draft", True),
        ("1.0\n", True),
    ],
)
def test_the_rules_of_1_x_need_a_client_that_says_1_0_or_newer(asked: str | None, newer: bool) -> None:
    assert declares_v1(asked) is newer
    assert choose(asked, Deployment.AUTO) is (Dialect.V1 if newer else Dialect.V0)
    assert choose(asked, Deployment.V1) is (Dialect.V1_FULL if newer else Dialect.V0)


def test_only_the_full_dialect_has_the_optional_extras() -> None:
    assert [(dialect.v1, dialect.extras) for dialect in Dialect] == [(False, False), (True, False), (True, True)]


@pytest.mark.parametrize(
    ("asked", "newer"),
    [
        (None, False),
        ("0.9", False),
        ("1.0", False),
        ("1.00", False),
        ("1.1", True),
        ("1.10", True),
        ("2.0", True),
        ("", True),
        ("garbage", True),
        ("1", True),
    ],
)
@conforms("VER-3", "VER-4")
def test_what_is_newer_than_ours_or_can_t_be_read(asked: str | None, newer: bool) -> None:
    assert is_newer(asked) is newer
