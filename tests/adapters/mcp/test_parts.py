"""The pure parts: policy, names, results, arguments; and what can't be configured."""

import importlib.util
import json
import time
from typing import Any

import mcp_types as types
import pytest

from agui_gate import ConfigurationError, Gate, SchemaTool, ToolContext, ToolSource
from agui_gate_adapters.mcp import MCPTools
from agui_gate_adapters.mcp.arguments import checker, for_models
from agui_gate_adapters.mcp.calls import Progress, as_text
from agui_gate_adapters.mcp.policy import Hints, agent_name, gate_of, idle_patterns, may_run_twice
from agui_gate_adapters.mcp.servers import HTTPServer, masked
from agui_gate_adapters.mcp.transport import Courier
from tests.adapters.mcp.server import text
from tests.requirements import shows

ASK = Gate(message="Sure?")


def hints(**annotations: Any) -> Hints:
    return Hints.of(types.ToolAnnotations(**annotations))


@pytest.mark.parametrize(
    ("given", "policy", "gate"),
    [
        (Hints.of(None), None, True),
        (hints(), None, True),
        (hints(read_only_hint=True), None, False),
        (hints(read_only_hint=True, destructive_hint=True), None, True),  # a contradiction: the worse counts
        (hints(read_only_hint=False), None, True),
        (hints(destructive_hint=True), None, True),
        (hints(destructive_hint=False), None, False),
        (hints(destructive_hint=True), False, False),
        (hints(read_only_hint=True), True, True),
        (hints(read_only_hint=True), ASK, ASK),
        (hints(destructive_hint=True), {"delete_*": False}, False),
        (hints(read_only_hint=True), {"*_page": ASK, "delete_page": False}, ASK),
        (hints(destructive_hint=True), {"DELETE_*": False, "page": False}, True),
        (hints(read_only_hint=True), {}, False),
    ],
)
def test_the_gate_of_delete_page(given: Hints, policy: Any, gate: Any) -> None:
    assert gate_of("delete_page", given, policy) == gate


HOSTILE = {
    "a pattern that backtracks": {"properties": {"a": {"pattern": "^(a+)+$"}}},
    "names by such a pattern": {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    "references that double": {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}},
    "a dialect that is none": {"$schema": 5},
    "a list for a dialect": {"$schema": ["x"]},
    "no JSON": {"properties": {"a": {"const": object}}},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_schema_that_would_stop_everybody_checks_nothing(kind: str) -> None:
    schema = {"type": "object", "$ref": "#/$defs/d0"} if "double" in kind else {"type": "object"}
    assert checker(schema | HOSTILE[kind])({"a" * 40 + "!": 1, "a": "a" * 40 + "!"}) is None


def test_what_may_run_twice() -> None:
    assert may_run_twice("x", hints(read_only_hint=True), ())
    assert may_run_twice("x", hints(idempotent_hint=True), ())
    assert not may_run_twice("x", hints(read_only_hint=True, destructive_hint=True), ())
    assert may_run_twice("put_x", Hints(), ["put_*"])
    assert not may_run_twice("x", Hints(), ["put_*"])


def test_patterns_about_no_tool_are_found() -> None:
    assert idle_patterns({"delete_*": True, "serach": False}, ["delete_page", "search"]) == ["serach"]
    assert idle_patterns(True, ["x"]) == []


def test_names_fit_every_provider() -> None:
    assert agent_name("pages/rename.v2 ü", "w_") == "w_pages_rename_v2__"
    long, other = agent_name("x" * 80, ""), agent_name("x" * 81, "")
    assert (len(long), len(other), long == other) == (64, 64, False)


def result(*content: Any, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), **more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (result(), ""),
        (text("hi"), "hi"),
        (text("", structured_content={"a": 1}), '{"a":1}'),
        (text('{ "a": 1 }', structured_content={"a": 1}), '{ "a": 1 }'),
        (text("hi", structured_content={"result": "hi"}), "hi"),
        (text("3", structured_content={"result": 3}), "3"),
        (result(*text("a").content, *text("b").content, structured_content={"result": ["a", "b"]}), "a\nb"),
        (text("one", structured_content={"result": None}), 'one\n{"result":null}'),
        (text("one", structured_content=["ä"]), 'one\n["ä"]'),
        (result(types.AudioContent(data="AAAA", mime_type="audio/wav")), "[audio: audio/wav, 3 bytes]"),
        (
            result(types.EmbeddedResource(resource=types.BlobResourceContents(uri="f://x", blob="AA=="))),
            "[resource: f://x, 1 bytes]",
        ),
    ],
)
def test_results_as_text(given: types.CallToolResult, expected: str) -> None:
    assert as_text(given) == expected


PIXELS = types.ImageContent(data="iVBORw0K", mime_type="image/png")
BOB = {"name": "bob", "observations": ["x"]}
SAME = {"entities": [BOB], "relations": []}


@shows("T22")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # As the official servers send them (filesystem and memory of 2026-08, FastMCP).
        (text("hello\nworld", structured_content={"content": "hello\nworld"}), "hello\nworld"),
        (text(json.dumps([BOB], indent=2), structured_content={"entities": [BOB]}), json.dumps([BOB], indent=2)),
        (text(json.dumps(SAME), structured_content=SAME), json.dumps(SAME)),
        (text("gone", structured_content={"success": True, "message": "gone"}), '{"success":true,"message":"gone"}'),
        (
            result(
                PIXELS, structured_content={"content": [{"type": "image", "data": "iVBORw0K", "mimeType": "image/png"}]}
            ),
            "[image: image/png, 6 bytes]",
        ),
        (text("[1, 2]", structured_content={"result": [1, 2]}), "[1, 2]"),
        # What is said in part only is told whole.
        (text("[1]", structured_content={"items": [1], "total": 3}), '{"items":[1],"total":3}'),
        (
            result(PIXELS, *text("7").content, structured_content={"n": 7, "unit": "kg"}),
            '[image: image/png, 6 bytes]\n{"n":7,"unit":"kg"}',
        ),
        (text("3 found", structured_content={"pages": [1]}), '3 found\n{"pages":[1]}'),
        (
            result(*text("a").content, *text("b").content, structured_content={"x": "a", "y": "c"}),
            'a\nb\n{"x":"a","y":"c"}',
        ),
        # 1 is not true, and what stands in a list is not what the list is.
        (text("1", structured_content={"ok": True}), '1\n{"ok":true}'),
        (text("a", structured_content={"result": ["a", "b"]}), 'a\n{"result":["a","b"]}'),
        (text("", structured_content={"result": ""}), '{"result":""}'),
        (text("null", structured_content={"result": None}), "null"),
        (text("[" * 5000, structured_content={"a": 1}), "[" * 5000 + '\n{"a":1}'),
    ],
)
def test_what_comes_twice_is_told_once(given: types.CallToolResult, expected: str) -> None:
    """T22."""
    assert as_text(given) == expected


@shows("T22")
def test_many_texts_beside_many_members_are_compared_in_linear_time() -> None:
    said = [types.TextContent(text=f'{{"n": {n}}}') for n in range(10_000)]
    members = {f"m{n}": {"n": n + 1} for n in range(10_000)}
    text = within(5, lambda: as_text(result(*said, structured_content=members), 10**9))
    assert text.startswith('{"n": 0}\n')


def within(seconds: float, work: Any) -> Any:
    began = time.process_time()
    done = work()
    assert time.process_time() - began < seconds
    return done


def test_a_long_result_is_cut() -> None:
    assert as_text(text("x" * 50), 10) == "xxxxxxxxxx… (cut)"


def test_arguments_are_checked_without_showing_them() -> None:
    check = checker({"type": "object", "properties": {"n": {"enum": [1, 2]}}, "required": ["n"]})
    assert check({"n": 1}) is None
    assert check({}) == "arguments: 'n' is a required property"
    assert check({"n": "s3cret"}) == 'n: has to satisfy {"enum": [1, 2]}'


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"properties": {"n": {"$ref": "https://example.org/schema.json"}}}]
)
def test_a_schema_that_can_not_be_used_is_left_to_the_server(schema: dict[str, Any]) -> None:
    assert checker(schema)({"n": 1}) is None


def test_models_get_a_schema_that_every_provider_takes() -> None:
    given = {"$schema": "https://json-schema.org/x", "type": "object", "properties": {"a": {"anyOf": []}}, "oneOf": []}
    assert for_models(given) == {"type": "object", "properties": {"a": {"anyOf": []}}}


def test_secrets_of_a_server_are_masked() -> None:
    url = "https://ann:passw0rd@host/mcp/0123456789abcdef0123?key=k3y-of-docs"
    server = HTTPServer(url, {"authorization": "Bearer abc.def.ghi"})
    said = "Bearer abc.def.ghi passw0rd at /mcp/0123456789abcdef0123 with k3y-of-docs"
    assert masked(said, server) == "Bearer *** *** at /mcp/*** with ***"
    assert repr(server) == "HTTPServer()"


@pytest.mark.anyio
async def test_a_token_that_was_made_is_masked_too() -> None:
    server = HTTPServer("https://host/mcp", lambda: {"authorization": "Bearer sk-secret-12345678"})
    async with Courier(server) as courier:
        assert (await courier._extra())["authorization"] == "Bearer sk-secret-12345678"
    assert masked("invalid token sk-secret-12345678", server) == "invalid token ***"


async def _call(arguments: dict[str, Any], context: ToolContext) -> str:
    return "called"


def test_a_tool_of_a_schema_knows_its_arguments() -> None:
    schema = {"properties": {"title": {"type": "string"}}}
    made = SchemaTool(_call, name="x", description="X.", parameters=schema, gate=Gate(editable=["title"]))
    assert (made.parameters["type"], made.description, made.validate({"any": 1})) == (
        "object",
        "X.",
        {"arguments": {"any": 1}},
    )
    with pytest.raises(ConfigurationError, match="names no argument: name"):
        SchemaTool(_call, name="x", description="", parameters=schema, gate=Gate(editable=["name"]))


@pytest.mark.anyio
async def test_progress_after_the_end_is_not_shown() -> None:
    shown: list[Any] = []
    ids: dict[str, Any] = dict.fromkeys(("thread_id", "run_id", "call_id", "principal", "idempotency_key"), "x")
    progress = Progress("t", ToolContext(**ids, tell=shown.append))
    await progress(1, None, None)
    await progress(2, None, None)  # too soon after the first
    await progress(3, 3, "m" * 1000)
    progress.over = True
    await progress(3, 3, None)
    assert (shown[0].event.activity_type, shown[0].event.content) == ("progress", {"tool": "t", "done": 1})
    assert [(c["done"], len(c.get("message", ""))) for c in (one.entry.content for one in shown)] == [(1, 0), (3, 500)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: MCPTools.http("docs.example.org/mcp"), "begins with http"),
        (lambda: MCPTools.stdio(""), "command is empty"),
        (lambda: MCPTools.stdio("x", only="search"), "list of patterns"),
        (lambda: MCPTools.stdio("x", timeout=0), "above 0"),
    ],
)
def test_what_can_not_be(make: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make()


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        MCPTools.stdio("x")
    assert caught.value.message == "MCP tools need an extra: pip install 'agui-gate[mcp]'"


def test_it_is_a_source_of_tools() -> None:
    assert isinstance(MCPTools.stdio("npx"), ToolSource)
    assert MCPTools.http("https://ann:pw@docs.example.org:81/mcp?key=x").name == "docs.example.org:81"
