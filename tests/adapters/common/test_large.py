"""How a large request is written."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate_adapters.common import large_requests
from agui_gate_adapters.common.large_requests import PIECE, Items, Pieces, in_pieces
from tests.requirements import shows
from tests.support.chance import examples

pytestmark = [pytest.mark.anyio, shows("T15")]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@examples(25)
@given(body=st.dictionaries(st.text(), JSON), piece=st.integers(1, 9), many=st.integers(0, 3))
def test_pieces_are_the_json_that_the_encoder_makes(body: dict[str, Any], piece: int, many: int) -> None:
    """However small the pieces are: texts are cut anywhere, also between characters that are escaped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_requests, "PIECE", piece)
        patch.setattr(large_requests, "MANY", many)
        made = in_pieces(body)
    assert made.joined() == msgspec.json.encode(body)
    assert len(made) == len(made.joined())


async def test_a_body_is_sent_in_pieces_of_one_size_and_can_be_sent_again() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "x" * 1000}]}
    bodies: list[dict[str, Any]] = [
        {"messages": [message] * 2000},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "é" * 4 * PIECE}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "x" * 1000}] * 2000}]},
    ]
    for body in bodies:
        made = in_pieces(body)
        first = [len(piece) async for piece in made]
        assert len(first) > 4
        assert max(first) < 3 * PIECE  # a piece of text may have two bytes a character, and what stands before it
        assert [len(piece) async for piece in made] == first


@pytest.mark.parametrize("wrong", [{"a": ["\ud800"]}, {"a": [{"b": object()}]}, {"a": "x" * PIECE + "\ud800"}])
def test_what_is_not_json_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        in_pieces(wrong)


async def test_pieces_of_nothing() -> None:
    assert [piece async for piece in Pieces([])] == []
    assert len(Pieces([])) == 0


def test_json_that_is_large_already_is_no_copy() -> None:
    large = b'"%b"' % (b"x" * PIECE)
    made = in_pieces({"model": "m", "input": Items((large,))})
    assert any(piece is large for piece in made.pieces)
    assert msgspec.json.decode(made.joined()) == {"model": "m", "input": [large.decode().strip('"')]}
