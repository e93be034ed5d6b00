"""The emulator holds the form of an answer to what the providers take."""

from typing import Any

import pytest

from agui_gate_adapters.testkit.anthropic.shapes import check_body
from agui_gate_adapters.testkit.chat.checks import check_chat_request
from agui_gate_adapters.testkit.chat.profiles import CHAT_PROFILES
from agui_gate_adapters.testkit.openai.checks import check_format
from tests.requirements import shows

pytestmark = shows("T11")

Json = dict[str, Any]
CLOSED: Json = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
OPEN: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
NESTED: Json = {**CLOSED, "properties": {"a": {"anyOf": [OPEN, {"type": "null"}]}}}
DEFAULT: Json = {**CLOSED, "properties": {"a": {"type": "string", "default": ""}}}


def deep(levels: int) -> Json:
    """An object in an object, as deep as that."""
    return CLOSED if levels == 1 else {**CLOSED, "properties": {"a": deep(levels - 1)}}


def closed(names: Any, member: Any) -> Json:
    return {**CLOSED, "properties": dict.fromkeys(names, member), "required": list(names)}


NUMBERS = [f"m{number}" for number in range(5001)]
TREE: Json = {"$ref": "#/$defs/Tree"}
TREES: Json = {**closed(["tree"], TREE), "$defs": {"Tree": closed(["leaf"], {"anyOf": [TREE, {"type": "null"}]})}}


def form(schema: Any = CLOSED, **more: Any) -> Json:
    return {"type": "json_schema", "name": "N", "schema": schema, "strict": True, **more}


@pytest.mark.parametrize(
    "given", [None, {"type": "text"}, form(), form(OPEN, strict=False), form(TREES), form(deep(10))]
)
def test_what_is_taken(given: Any) -> None:
    assert list(check_format(given, "text.format")) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("json", "text.format"),
        ({}, "text.format.type"),
        ({"type": "xml"}, "xml"),
        ({"type": "json_schema"}, "text.format.name"),
        (form(name="a b"), "text.format.name"),
        (form(None), "text.format.schema"),
        (form(extra=1), "text.format.extra"),
        (form({"type": "array"}), "object"),
        (form(OPEN), "additionalProperties"),
        (form({**CLOSED, "required": []}), "Missing 'a'"),
        (form(NESTED), "additionalProperties"),
        (form(DEFAULT), "'default' is not permitted"),
        (form({**CLOSED, "$defs": {"D": OPEN}}), "additionalProperties"),
        (form({**CLOSED, "properties": {"a": {"$ref": "#", "title": "A"}}}), "$ref"),
        (form(deep(11)), "11 levels of nesting exceeds limit of 10"),
        (form(closed(NUMBERS, {"type": "string"})), "5001 object properties"),
    ],
)
def test_what_is_refused(given: Any, words: str) -> None:
    found = list(check_format(given, "text.format"))
    assert found
    assert words in found[0].message


@pytest.mark.parametrize("profile", ["openai", "deepseek", "llama_cpp", "legacy"])
def test_not_every_server_takes_it(profile: str) -> None:
    inner = {name: value for name, value in form().items() if name != "type"}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "response_format": {"type": "json_schema", "json_schema": inner},
    }
    refused = [
        bool(check_chat_request(body | more, CHAT_PROFILES[profile]))  # type: ignore[index]  # parametrized
        for more in ({}, {"tools": [tool]})
    ]
    assert refused == {"openai": [False, False], "llama_cpp": [False, True]}.get(profile, [True, True])


NULL_OR_TEXT: Json = {"anyOf": [{"type": "string"}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (CLOSED, ""),
        (OPEN, "additionalProperties"),
        (NESTED, "additionalProperties"),
        ("no", "dictionary"),
        (closed("a", {"type": "integer", "minimum": 1}), "For 'integer' type, properties minimum are not supported"),
        (closed("a", {"type": "array", "minItems": 2, "items": {"type": "string"}}), "minItems"),
        (closed("abcdefghijklmnop", NULL_OR_TEXT), ""),
        (closed("abcdefghijklmnopq", NULL_OR_TEXT), "limit: 16 parameters with unions"),
        (TREES, "Circular reference"),
    ],
)
def test_what_the_messages_api_takes(schema: Any, words: str) -> None:
    body = {
        "model": "m",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "hello"}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    found = list(check_body(body, counting=False, beta=False, version="2023-06-01"))
    assert bool(found) == bool(words)
    assert all(words in violation.message for violation in found)
