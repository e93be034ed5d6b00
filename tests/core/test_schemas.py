"""Schemas of tools' arguments as providers take them."""

from typing import Any

import pytest

from agui_gate.core.schemas import of_arguments


@pytest.mark.parametrize("written", [None, {}, {"type": "object"}, {"type": "object", "properties": None}, "object"])
def test_a_tool_without_arguments_has_an_object_without_properties(written: Any) -> None:
    """Providers refuse a request for one tool whose schema names none."""
    assert of_arguments(written) == {"type": "object", "properties": {}}


def test_what_a_schema_says_is_kept() -> None:
    place = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert of_arguments(place) == {"type": "object", **place}
    assert of_arguments({"type": "object", "additionalProperties": False}) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
