"""The shortest ending of a truncated JSON text."""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agui_gate.core.json_text import completion, parse, parse_object
from tests.support.chance import examples
from tests.support.timing import takes_less

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ['"', "\\", "\\u12", "😀", "{[,:"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(_TEXT, _VALUES, max_size=3)


@examples(37)
@given(_OBJECTS, st.sampled_from([True, False]), st.sampled_from([None, 1]))
@example({"a": "😀\ud7ff", "b": [1.5e-7, -3, True, None, {}]}, True, None)
def test_every_prefix_of_an_object_is_completed_to_an_object(value, ensure_ascii, indent) -> None:
    whole = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)
    for length in range(1, len(whole) + 1):
        prefix = whole[:length]
        rest = completion(prefix)
        assert rest is not None, prefix
        assert parse_object(prefix + rest) is not None, (prefix, rest)
        assert len(rest) <= len(whole) - length, (prefix, rest)  # the shortest is no longer than what it was


@examples(75)
@given(st.text('{}[]",:\\u0d8tn1.e- \n', max_size=12))
def test_an_answer_always_parses(text) -> None:
    rest = completion(text)
    if rest is not None:
        parse(text + rest)


@examples(50)
@given(_OBJECTS)
def test_a_whole_text_needs_nothing(value) -> None:
    assert completion(msgspec.json.encode(value).decode()) == ""


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("", "0"),
        ("{", "}"),
        ('{"', '":0}'),
        ('{"q":"tru', '"}'),
        ('{"q":tru', "e}"),
        ('{"a":1,', '"":0}'),
        ('{"a":', "0}"),
        ("[[", "]]"),
        ("[1,", "0]"),
        ("-", "0"),
        ("1e+", "0"),
        ('"\\', '""'),
        ('"\\u00', '00"'),
        ('"\\ud83d', '\\udc00"'),
        ('"\\ud8', '00\\udc00"'),
        ('"\\\\ud83d', '"'),
    ],
)
def test_the_shortest_ending(text: str, rest: str) -> None:
    assert completion(text) == rest


@pytest.mark.parametrize(
    "text", ["}", "{]", "tru ", "01", "nope", '{"a" 1', "'a'", '"\\x', '"\\udc00', "{}{", "[" * 70, "1e999"]
)
def test_what_can_not_become_json(text: str) -> None:
    assert completion(text) is None


def test_completing_arguments_without_end_takes_no_longer_than_it_may() -> None:
    """T15: four megabytes of them kept everybody waiting for seconds."""
    text = '{"a":[' + "1," * 2_000_000
    assert completion(text) is None
    assert takes_less(1.0, lambda: completion(text))
    assert completion('{"a":[' + "1," * 2_000) == "0]}"
