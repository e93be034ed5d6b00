"""Who gets which rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.events import PROTOCOL_VERSION
from agui_gate.protocol.dialects.base import ALLOW, Deployment, Shapes, declares_v1, is_newer
from agui_gate.protocol.dialects.v0 import DECLARE, V0Shapes
from agui_gate.protocol.dialects.v1 import V1Shapes
from agui_gate.protocol.run_input import RunInput
from tests.conforming import conforms
from tests.requirements import shows


def chosen(asked: str | None, deployment: Deployment) -> Shapes:
    return deployment.choose(RunInput("t", "r", [], asked))


@shows("B14")
@given(st.none() | st.text(max_size=8))
def test_compat_is_for_everybody_where_the_operator_says_so(asked: str | None) -> None:
    shapes = chosen(asked, Deployment.COMPAT)
    assert isinstance(shapes, V0Shapes)
    told = (PROTOCOL_VERSION, ALLOW) if declares_v1(asked) else (None, DECLARE)
    assert (shapes.version, shapes.remedy) == told


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
    for deployment in (Deployment.AUTO, Deployment.V1):
        shapes = chosen(asked, deployment)
        assert shapes.version == (PROTOCOL_VERSION if newer else None)
        if newer:
            assert isinstance(shapes, V1Shapes)
            assert shapes.extras is (deployment is Deployment.V1)
        else:
            assert isinstance(shapes, V0Shapes)


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
