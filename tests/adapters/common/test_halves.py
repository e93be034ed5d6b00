"""Characters that a server cut in two are whole again."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate_adapters.common.surrogates import Halves

HIGH, LOW = "\\ud83c", "\\udf1e"


def cut(text: str, at: list[int]) -> list[str]:
    """The JSON of the text's pieces, cut where UTF-16 says so."""
    units = text.encode("utf-16-le", "surrogatepass")
    places = sorted({0, *(2 * min(n, len(units) // 2) for n in at), len(units)})
    pieces = [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(places)]
    return [json.dumps({"content": piece}) for piece in pieces]


def read(payloads: list[bytes]) -> str:
    return "".join(msgspec.json.decode(payload, type=dict[str, Any])["content"] for payload in payloads)


@given(st.text(st.sampled_from('a"\\ä€🌞🏳\n'), max_size=12), st.lists(st.integers(0, 24)), st.booleans())
def test_wherever_it_was_cut_it_is_the_same_text(text: str, at: list[int], at_once: bool) -> None:
    halves = Halves()
    payloads = [piece.encode() for piece in cut(text, at)]
    joined = halves.joined(payloads) if at_once else [one for p in payloads for one in halves.joined([p])]
    assert read(joined) == text


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([f"a{HIGH}", f"{LOW}b"], "a🌞b"),
        ([f"{HIGH}{LOW}"], "🌞"),
        ([f"a{HIGH}b"], "a�b"),
        ([f"{LOW}b"], "�b"),
        ([f"a{HIGH}", f"b{LOW}"], "ab�"),
        ([f"a{HIGH}"], "a"),
        ([f"a{HIGH}", "b", f"{LOW}c"], "ab🌞c"),
        ([r"\\ud83c", r"\\\\udf1e"], r"\ud83c\\udf1e"),
        ([f"{HIGH}{HIGH}", LOW], "�🌞"),
    ],
)
def test_what_is_no_text_is_never_passed_on(pieces: list[str], text: str) -> None:
    halves = Halves()
    assert read([one for p in pieces for one in halves.joined([f'{{"content":"{p}"}}'.encode()])]) == text


def test_what_has_no_halves_is_not_touched() -> None:
    payloads = [b'{"content":"plain \\u00e4 \\n"}']
    assert Halves().joined(payloads) == payloads
