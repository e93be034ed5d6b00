"""Integers that a browser would round (T3): out as text, and back as the very same integer."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_gate.core.browser_numbers import MAX_SAFE, for_browser, from_browser, schema_for_browser
from tests.requirements import shows

pytestmark = shows("T3")

BIG = 9007199254740993
INTEGER = {"type": "object", "properties": {"id": {"type": "integer"}}}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(2**80), 2**80) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def through_a_browser(value):
    """What JSON.parse and JSON.stringify make of ``value``."""

    def read(text):
        return int(text) if abs(int(text)) <= MAX_SAFE else float(text)

    return json.loads(json.dumps(value), parse_int=read)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_what_is_sent_back_unchanged_is_unchanged(arguments) -> None:
    back = through_a_browser(for_browser(arguments))
    assert from_browser(back, arguments, {"type": "object"}) == arguments


def test_only_integers_that_would_be_rounded_are_text() -> None:
    shown = {
        "a": BIG,
        "b": [-BIG, {"c": 2**70}],
        "d": MAX_SAFE,
        "e": -MAX_SAFE,
        "f": True,
        "g": 0.1,
        "h": "x",
        "i": None,
    }
    assert for_browser(shown) == {**shown, "a": str(BIG), "b": [str(-BIG), {"c": str(2**70)}]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, BIG),
        ({"type": "number"}, BIG),
        ({"type": ["integer", "null"]}, BIG),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, BIG),
        ({"$ref": "#/$defs/Id"}, BIG),
        ({"allOf": [{"$ref": "#/$defs/Id"}]}, BIG),
        ({"type": "string"}, str(BIG)),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, str(BIG)),
        ({}, str(BIG)),
        (True, str(BIG)),
        ({"$ref": "#/$defs/Loop"}, str(BIG)),
        ({"$ref": "https://example.com/x"}, str(BIG)),
    ],
)
def test_a_new_big_integer_is_one_where_the_schema_asks_for_numbers(schema, expected: int | str) -> None:
    whole = {"properties": {"id": schema}, "$defs": {"Id": {"type": "integer"}, "Loop": {"$ref": "#/$defs/Loop"}}}
    assert from_browser({"id": str(BIG)}, {"id": 1}, whole) == {"id": expected}


def test_texts_that_are_no_big_integer_stay_text() -> None:
    for text in (
        "5",
        str(MAX_SAFE),
        f"0{BIG}",
        f"{BIG}.0",
        f"+{BIG}",
        f" {BIG}",
        "1_000_000_000_000_000_000",
        "9" * 5000,
    ):
        assert from_browser({"id": text}, {"id": 1}, INTEGER) == {"id": text}
    assert from_browser({"id": str(BIG)}, {"id": str(BIG)}, {}) == {"id": str(BIG)}, "it was a text before"


def test_the_places_of_lists_and_open_objects_are_known() -> None:
    schema = {
        "properties": {
            "ids": {"type": "array", "items": {"type": "integer"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            "by_name": {"type": "object", "additionalProperties": {"type": "integer"}},
        }
    }
    sent = {"ids": [str(BIG), 5], "pair": [str(BIG), str(BIG)], "by_name": {"x": str(BIG)}}
    expected = {"ids": [BIG, 5], "pair": [str(BIG), BIG], "by_name": {"x": BIG}}
    assert from_browser(sent, {"ids": [1]}, schema) == expected


def test_a_page_can_check_what_it_sends_back() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "kind": {"enum": [BIG, 1]},
            "to": {"$ref": "#/$defs/To"},
        },
        "$defs": {"To": {"properties": {"ids": {"type": "array", "items": {"type": ["integer", "null"]}}}}},
        "additionalProperties": False,
    }
    shown = {"id": BIG, "kind": BIG, "to": {"ids": [BIG, None]}}
    for_page = schema_for_browser(schema, shown)
    jsonschema.Draft202012Validator(for_page).validate(for_browser(shown))
    assert schema_for_browser(schema, {"id": 1})["properties"]["id"] == schema["properties"]["id"]
    assert schema_for_browser(schema, {"id": 1})["properties"]["kind"] == {"enum": [str(BIG), 1]}, "constants always"
