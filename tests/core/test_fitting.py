"""Values held against a JSON Schema of somebody else's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agui_gate.core.schema_match import misfit

NODE: dict[str, Any] = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["id"]}},
    "$ref": "#/$defs/node",
}
CASES: list[tuple[Any, Any, bool]] = [
    ({"type": "string"}, "x", True),
    ({"type": "string"}, 1, False),
    ({"type": ["string", "null"]}, None, True),
    ({"type": "integer"}, 3.0, True),
    ({"type": "integer"}, 3.5, False),
    ({"type": "integer"}, True, False),
    ({"type": "boolean"}, 1, False),
    ({"type": "colour"}, "x", False),
    ({"enum": ["a", 1]}, True, False),
    ({"const": {"a": [1]}}, {"a": [1]}, True),
    ({"required": ["a"]}, {"a": None}, True),
    ({"required": ["a"]}, {}, False),
    ({"properties": {"a": {"type": "string"}}}, {"a": 1}, False),
    ({"properties": {"a": True}, "additionalProperties": False}, {"b": 1}, False),
    ({"additionalProperties": {"type": "string"}}, {"b": 1}, False),
    ({"patternProperties": {"x": False}, "additionalProperties": False}, {"x": 1}, True),
    ({"items": {"type": "string"}}, ["a", 1], False),
    ({"minItems": 1}, [], False),
    ({"maxLength": 2}, "abc", False),
    ({"minimum": 3, "exclusiveMaximum": 5}, 5, False),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, False),
    ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1, False),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 3, False),
    ({"not": {"type": "string"}}, "x", False),
    (False, 1, False),
    (True, 1, True),
    ({"pattern": "("}, "x", True),
    ({"$ref": "https://example.org/x"}, 1, True),
    (NODE, {"id": 1, "next": {"id": 2}}, True),
    (NODE, {"id": 1, "next": {}}, False),
    ({"type": [{"a": 1}]}, 1, True),
    ({"enum": "x"}, "x", False),
    ({"required": [{}], "properties": 1, "minimum": "x"}, {}, True),
]


@pytest.mark.parametrize(("schema", "value", "fits"), CASES, ids=str)
def test_it_fits_or_not(schema: Any, value: Any, fits: bool) -> None:
    assert (misfit(value, schema) is None) is fits


def test_what_takes_too_long_fits_nothing() -> None:
    circle = {"$ref": "#"}
    twice: dict[str, Any] = {"$defs": {}, "$ref": "#/$defs/0"}
    for n in range(40):
        inner = {"$ref": f"#/$defs/{n + 1}"}
        twice["$defs"][str(n)] = {"anyOf": [inner, inner]}
    twice["$defs"]["40"] = {"type": "string"}
    deep: Any = {}
    for _ in range(100):
        deep = {"items": deep}
    for schema in (circle, twice, deep):
        assert misfit([], schema) is not None
    assert "SECRET" not in (misfit("SECRET", {"type": "integer"}) or "")


SIMPLE = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"]),
        "enum": st.lists(st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"), min_size=1),
        "minimum": st.integers(0, 3),
        "maxLength": st.integers(0, 2),
        "minItems": st.integers(0, 2),
        "required": st.lists(st.sampled_from("ab"), unique=True),
    },
)
SCHEMAS = st.recursive(
    SIMPLE,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "additionalProperties": inner | st.booleans(),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=3),
            "not": inner,
        },
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 4) | st.sampled_from(["", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


KEYWORDS = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "$ref",
    "minimum",
]
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3)
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)


@given(schema=ANYTHING, value=ANYTHING)
def test_what_is_no_schema_harms_nobody(schema: Any, value: Any) -> None:
    said = misfit(value, schema)
    assert said is None or said


def test_large_numbers_are_numbers() -> None:
    assert misfit(10**400, {"type": "integer", "minimum": 1}) is None
    assert misfit(1e300, {"type": "integer"}) is None


@given(schema=SCHEMAS, value=VALUES)
def test_it_says_what_jsonschema_says(schema: Any, value: Any) -> None:
    assert (misfit(value, schema) is None) is Draft202012Validator(schema).is_valid(value)


REFERRED: list[dict[str, Any]] = [
    {"enum": [{"a": number} for number in range(3_000)]},
    {"enum": ["x" * 100] * 3_000},
    {"const": {"a": "x" * 300_000}},
    {"type": ["x"] * 3_000},
    {"required": ["x"] * 3_000},
]


@pytest.mark.parametrize("part", REFERRED, ids=lambda part: next(iter(part)))
def test_a_long_list_counts_as_often_as_it_is_referred_to(part: dict[str, Any]) -> None:
    schema = {"$defs": {"part": part}, "anyOf": [{"$ref": "#/$defs/part"}] * 3_000}
    assert misfit({"approved": True}, schema) == "its schema can't be checked"
