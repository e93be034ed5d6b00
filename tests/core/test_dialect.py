"""Who gets which shapes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.dialect import Dialect, choose
from tests.requirements import shows


@shows("B14")
@given(st.none() | st.text(max_size=8))
def test_compat_is_for_everybody_unless_the_deployment_says_otherwise(asked) -> None:
    assert choose(asked, Dialect.COMPAT) is Dialect.COMPAT


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, Dialect.COMPAT),
        ("0.9", Dialect.COMPAT),
        ("0.0", Dialect.COMPAT),
        ("1.0", Dialect.V1),
        ("1.7", Dialect.V1),
        ("2.0", Dialect.V1),
        ("10.0", Dialect.V1),
        ("", Dialect.V1),  # what can't be read is taken as newer
        ("1", Dialect.V1),
        ("0.9.1", Dialect.V1),
        ("draft", Dialect.V1),
        ("1.0\n", Dialect.V1),
    ],
)
def test_the_new_shapes_need_a_client_that_says_1_0_or_newer(asked: str | None, expected) -> None:
    assert choose(asked, Dialect.V1) is expected
