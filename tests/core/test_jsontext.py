"""Reading and writing JSON arguments: strict, and equal if and only if they mean the same."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.json_text import MAX_DEPTH, canonical, has_more, is_deeper, parse_object
from agui_gate.extras.shared_state.thread_state import is_text_deeper
from tests.core.histories import CHECKED
from tests.support.timing import grows_less

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@CHECKED
@given(VALUES)
def test_canonical_text_means_the_value_and_is_its_own_canonical_text(value: Any) -> None:
    text = canonical(value if not isinstance(value, str) else json.dumps(value))
    assert json.loads(text) == value
    assert canonical(text) == text
    assert canonical(json.dumps(value, indent=2)) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"b":1,"a":2}', ' {"a": 2, "b": 1}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"n":10.0}', '{"n":10}'),
        ('{"n":1e2}', '{"n":100}'),
        ('{"n":-0.0}', '{"n":0}'),
        ('{"s":"\\u00e9"}', '{"s":"é"}'),
    ],
)
def test_what_means_the_same_is_written_the_same(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [('{"a":1}', '{"a":true}'), ('{"a":1}', '{"a":"1"}'), ('{"a":null}', "{}"), ("[1,2]", "[2,1]")],
)
def test_what_means_something_else_is_written_differently(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_large_integers_keep_every_digit() -> None:
    assert canonical('{"n":123456789012345678901234567890}') == '{"n":123456789012345678901234567890}'


REFUSED = [
    "",
    "{",
    "{'a':1}",
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":1e999}',
    '{"a":"\\ud800"}',
    '{"a":"\ud800"}',
    '{"a":1}{}',
    '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
    '{"a":' + "[" * 100_000,
    '{"a":' + "1" * 10_000 + "}",
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_handed_on_safely_is_refused(text: str) -> None:
    assert parse_object(text) is None
    with pytest.raises(ValueError):  # noqa: PT011 - the text is the library's
        canonical(text)


@pytest.mark.parametrize("value", [{"a": float("nan")}, [float("inf")], {1: 2}, {"a": object()}, {"a": "\ud800"}])
def test_values_that_are_not_json_are_refused(value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the text is the library's
        canonical(value)


@pytest.mark.parametrize("text", ["[]", "1", '"{}"', "null", "true"])
def test_only_objects_are_arguments(text: str) -> None:
    assert parse_object(text) is None


def test_the_deepest_that_is_read() -> None:
    text = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    assert canonical(text) == text
    assert parse_object(text) is not None


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["lists", "objects"])
def test_values_too_deep_are_refused_however_they_are_nested(wrap: Any) -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    assert canonical(value)
    with pytest.raises(ValueError, match="nested deeper"):
        canonical(wrap(value))


@CHECKED
@given(VALUES, st.integers(1, 6))
def test_a_text_is_as_deep_as_its_value(value: Any, levels: int) -> None:
    text = msgspec.json.encode(value)
    assert is_text_deeper(text, levels) == is_deeper(value, levels)


@pytest.mark.parametrize("opened", ["[", '{"a": '])
@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 900, 100_000])
def test_a_deep_text_is_seen(opened: str, depth: int) -> None:
    closed = {"[": "]", "{": "}"}[opened[0]]
    text = f"{opened * depth}1{closed * depth}".encode()
    assert is_text_deeper(text, MAX_DEPTH) == (depth > MAX_DEPTH)
    assert not is_text_deeper(msgspec.json.encode({"told": [text.decode()] * 100}), MAX_DEPTH), "it is a string here"


@pytest.mark.parametrize("ends", [b"", b"\\", b'"'], ids=["never", "in an escape", "at last"])
def test_marks_are_counted_in_one_walk_also_where_a_string_of_escapes_never_ends(ends: bytes) -> None:
    def text(escapes: int) -> bytes:
        return b'[[{"a": "' + b'\\"[' * escapes + ends

    small, large = text(1_000), text(8_000)
    assert grows_less(24, lambda: has_more(small, 2, b"{["), lambda: has_more(large, 2, b"{["))
    assert has_more(large, 2, b"{[")
    assert not has_more(large, 3, b"{[")
