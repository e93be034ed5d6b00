"""The shapes of requests to the Messages API: members, blocks, tools and output schemas, in the order they are checked.

Words that no numbered rule of `docs/wire-rules.md` has are inferred, in the form of those that were reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.anthropic import violations as v
from agui_gate_adapters.testkit.anthropic.fields import (
    ANY,
    BOOLEAN,
    OBJECT,
    TEXT,
    Check,
    Member,
    each,
    literal,
    number,
    optional,
    pattern,
    required,
    shape,
    tagged,
    text_or,
)
from agui_gate_adapters.testkit.faults import Violation
from agui_gate_adapters.testkit.wire import Json

# The tools of a request and the choice among them.

_SERVER_TOOLS: Final = (
    "bash_20250124",
    "browser_toolset_20260801",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "computer_toolset_20260801",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
    "web_search_20250305",
    "web_search_20260209",
    "web_search_20260318",
)
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_COMBINED: Final = ("oneOf", "allOf", "anyOf")
_PARALLEL: Final = {"disable_parallel_tool_use": optional(BOOLEAN)}

TOOL_CHOICE: Final = tagged(
    {"auto": _PARALLEL, "any": _PARALLEL, "tool": {"name": required(TEXT), **_PARALLEL}, "none": {}}
)


def _schema(value: Any, path: str) -> Iterator[Violation]:
    """Check a tool's `input_schema`: an object's, without alternatives at the top, of types that exist."""
    yield from OBJECT(value, path)
    if not isinstance(value, dict):
        return
    if "type" not in value:
        yield v.missing(f"{path}.type")
    yield from literal("object")(value.get("type", "object"), f"{path}.type")
    if any(name in value for name in _COMBINED):
        yield v.wrong(path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
    try:
        valid = _is_schema(value)
    except RecursionError:
        valid = False
    if not valid:
        yield v.wrong(path, "JSON schema is invalid. It must match JSON Schema draft 2020-12")


def _is_schema(value: Any) -> bool:
    """Say whether the types and properties of a schema can be ones, all the way down."""
    if isinstance(value, bool):
        return True
    if not isinstance(value, dict):
        return False
    named = value.get("type", [])
    names = named if isinstance(named, list) else [named]
    inner = value.get("properties", {})
    nested = [*(inner.values() if isinstance(inner, dict) else [None]), *([value["items"]] if "items" in value else [])]
    return all(isinstance(name, str) and name in _TYPES for name in names) and all(map(_is_schema, nested))


TOOL: Final = tagged(
    {
        "custom": {
            "name": required(pattern("^[a-zA-Z0-9_-]{1,128}$")),
            "description": optional(TEXT),
            "input_schema": required(_schema),
            "cache_control": optional(OBJECT, nullable=True),
            "strict": optional(BOOLEAN),
            "defer_loading": optional(BOOLEAN),
            "allowed_callers": optional(each(TEXT)),
            "eager_input_streaming": optional(BOOLEAN, nullable=True),
            "input_examples": optional(each(OBJECT)),
        },
        **dict.fromkeys(_SERVER_TOOLS),
    },
    default="custom",
)


def check_tools(tools: Any, choice: Any) -> Iterator[Violation]:
    """Check what a single tool cannot show: unique names, and a choice that can be made."""
    named = [tool.get("name") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    if len(set(map(str, named))) < len(named):
        yield v.refused("schema", "tools: Tool names must be unique.")
    if not isinstance(choice, dict) or choice.get("type") == "none":
        return
    if not named:
        yield v.refused("schema", "tool_choice may only be specified while providing tools.")
    elif choice.get("type") == "tool" and choice.get("name") not in named:
        yield v.refused("schema", f"Tool '{choice.get('name')}' not found in provided tools")


# The schema of an answer in `output_config.format`: a part of JSON Schema, and not too much of it.
#
# Sources: https://platform.claude.com/docs/en/build-with-claude/structured-outputs ("JSON Schema limitations"); words
# as in vercel/ai#17268 where they are known, else inferred.

MOST_UNIONS: Final = 16
"""Parameters that may have one of several types."""

_BOUNDS: Final = (
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
    "uniqueItems",
)


def check_schema(value: object, path: str) -> Iterator[Violation]:
    """Yield what keeps a schema from being one that an answer can be held to."""
    yield from OBJECT(value, path)
    if not isinstance(value, dict):
        return
    parts = list(_parts(value))
    for part in parts:
        for complaint in _complaints(part):
            yield v.wrong(path, complaint)
    if (unions := sum(map(_is_union, parts))) > MOST_UNIONS:
        yield v.wrong(
            path,
            f"Schemas contains too many parameters with union types ({unions} parameters with type arrays or anyOf). "
            f"Reduce the number of nullable or union-typed parameters (limit: {MOST_UNIONS} parameters with unions).",
        )
    for name in value.get("$defs") or {}:
        if _leads_to(value, name):
            yield v.wrong(path, f"Circular reference detected in schema definitions: {name}")


def _parts(schema: Any) -> Iterator[Json]:
    """Yield the schema and all that are part of it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for member in ("properties", "$defs"):
        for one in (schema.get(member) or {}).values():
            yield from _parts(one)
    for one in (schema.get("items"), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _parts(one)


def _complaints(part: Json) -> Iterator[str]:
    kind = part.get("type")
    if kind == "object" and part.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
    bounds = [name for name in _BOUNDS if name in part]
    if bounds:
        yield f"For '{kind}' type, properties {', '.join(bounds)} are not supported"
    if part.get("minItems", 0) not in (0, 1):
        yield f"For 'array' type, 'minItems' values other than 0 or 1 are not supported (got {part['minItems']})"


def _is_union(part: Json) -> bool:
    return "anyOf" in part or isinstance(part.get("type"), list)


def _leads_to(schema: Json, name: str) -> bool:
    """Whether the definition of this name is, somewhere inside, itself."""
    definitions = schema["$defs"]
    seen: set[str] = set()
    ahead = [name]
    while ahead:
        for part in _parts(definitions.get(ahead.pop())):
            there = str(part.get("$ref", "")).removeprefix("#/$defs/")
            if there == name:
                return True
            if there and there not in seen:
                seen.add(there)
                ahead.append(there)
    return False


LATEST: Final = "2026-10-21"
"""The newest value of the `anthropic-version` header; the one before it is 2023-06-01."""

_CACHE: Final = optional(
    shape({"type": required(literal("ephemeral")), "ttl": optional(literal("5m", "1h"))}), nullable=True
)
_CACHED: Final = {"cache_control": _CACHE}
_TEXT_BLOCK: Final[dict[str, Member]] = {
    "text": required(TEXT),
    "citations": optional(each(OBJECT), nullable=True),
    **_CACHED,
}
_IMAGE: Final[dict[str, Member]] = {
    "source": required(
        tagged(
            {
                "base64": {"media_type": required(TEXT), "data": required(TEXT)},
                "url": {"url": required(TEXT)},
                "file": {"file_id": required(TEXT)},
            }
        )
    ),
    "transformations": optional(ANY),
    **_CACHED,
}
_DOCUMENT: Final[dict[str, Member]] = {
    "source": required(OBJECT),
    "title": optional(TEXT, nullable=True),
    "context": optional(TEXT, nullable=True),
    "citations": optional(OBJECT, nullable=True),
    **_CACHED,
}
_SEARCH_RESULT: Final[dict[str, Member]] = {
    "source": required(TEXT),
    "title": required(TEXT),
    "content": required(each(tagged({"text": _TEXT_BLOCK}))),
    "citations": optional(OBJECT),
    **_CACHED,
}
_CALL: Final[dict[str, Member]] = {
    "id": required(TEXT),
    "name": required(pattern("^[a-zA-Z0-9_-]{1,128}$")),
    "input": required(OBJECT),
    "caller": optional(OBJECT),
    **_CACHED,
}
_RESULT_CONTENT: Final = tagged(
    {
        "text": _TEXT_BLOCK,
        "image": _IMAGE,
        "search_result": _SEARCH_RESULT,
        "document": _DOCUMENT,
        "tool_reference": None,
        "browser_state": None,
    }
)

SERVER_RESULTS: Final = frozenset(
    {
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
    }
)
"""The results of server tools, which live in the assistant's message beside their calls."""

_BLOCK: Final = tagged(
    {
        "text": _TEXT_BLOCK,
        "image": _IMAGE,
        "document": _DOCUMENT,
        "search_result": _SEARCH_RESULT,
        "thinking": {"thinking": required(TEXT), "signature": required(TEXT)},
        "redacted_thinking": {"data": required(TEXT)},
        "tool_use": {**_CALL, "toolset_name": optional(TEXT, nullable=True)},
        "tool_result": {
            "tool_use_id": required(TEXT),
            "content": optional(text_or(each(_RESULT_CONTENT))),
            "is_error": optional(BOOLEAN),
            "toolset_name": optional(TEXT, nullable=True),
            **_CACHED,
        },
        "server_tool_use": _CALL,
        "container_upload": None,
        **{
            kind: {"tool_use_id": required(TEXT), "content": required(ANY), "caller": optional(OBJECT), **_CACHED}
            for kind in sorted(SERVER_RESULTS)
        },
    }
)


_OUTPUT: Final = shape(
    {
        "effort": optional(TEXT, nullable=True),
        "format": optional(tagged({"json_schema": {"schema": required(check_schema)}}), nullable=True),
        "task_budget": optional(OBJECT, nullable=True),
    }
)


def _role(value: object, _path: str) -> Iterator[Violation]:
    if value not in ("user", "assistant"):
        yield v.unknown_role(value)


_MESSAGE: Final = shape({"role": required(_role), "content": required(text_or(each(_BLOCK)))})
_THINKING: Final = tagged(
    {
        "enabled": {
            "budget_tokens": required(number(1024)),
            "display": optional(literal("summarized", "omitted"), nullable=True),
            "block_binding": optional(OBJECT),
        },
        "adaptive": {
            "display": optional(literal("summarized", "omitted"), nullable=True),
            "block_binding": optional(OBJECT),
        },
        "between_tools": {},
        "disabled": {},
    }
)
_BODY: Final[dict[str, Member]] = {
    "model": required(TEXT),
    "tool_choice": optional(TOOL_CHOICE),
    "tools": optional(each(TOOL)),
    "messages": required(each(_MESSAGE)),
    "system": optional(text_or(each(tagged({"text": _TEXT_BLOCK})))),
    "thinking": optional(_THINKING),
    "metadata": optional(shape({"user_id": optional(TEXT, nullable=True)})),
    "stop_sequences": optional(each(TEXT)),
    "temperature": optional(number(0, 1, whole=False)),
    "top_p": optional(number(0, 1, whole=False)),
    "top_k": optional(number(0)),
    "stream": optional(BOOLEAN),
    "max_tokens": required(number(0)),
    "service_tier": optional(literal("auto", "standard_only")),
    "container": optional(ANY, nullable=True),
    "output_config": optional(_OUTPUT),
    "cache_control": _CACHE,
    "inference_geo": optional(TEXT, nullable=True),
    "speed": optional(literal("standard", "fast"), nullable=True),
    "user_profile_id": optional(TEXT),
    "workspace_id": optional(TEXT),
}
_SAMPLING: Final = ("temperature", "top_p", "top_k")
_COUNTED: Final = ("model", "tool_choice", "tools", "messages", "system", "thinking", "output_config", "cache_control")
_BETA: Final = ("context_management", "mcp_servers", "diagnostics", "output_format", "compaction", "fallbacks")

_BETAS: Final = dict.fromkeys(_BETA, optional(ANY))
_LATEST: Final = {name: member for name, member in _BODY.items() if name not in _SAMPLING}
_CREATE: Final = {
    (version, beta): shape(members | (_BETAS if beta else {}))
    for version, members in (("2023-06-01", _BODY), (LATEST, _LATEST))
    for beta in (False, True)
}
_COUNT: Final = shape({name: _BODY[name] for name in _COUNTED})
_IDS: Final[dict[str, tuple[str, Check]]] = {
    "tool_use": ("id", pattern("^[a-zA-Z0-9_-]+$")),
    "server_tool_use": ("id", pattern("^srvtoolu_[a-zA-Z0-9_]+$")),
    "tool_result": ("tool_use_id", pattern("^[a-zA-Z0-9_-]+$")),
}


def check_body(body: Json, *, counting: bool, beta: bool, version: str) -> Iterator[Violation]:
    """Check the whole shape. `counting`: the members of `count_tokens`; `beta`: an `anthropic-beta` header came.

    `version`: since 2026-10-21 the sampling parameters are gone, and users cite nothing.
    """
    known = "2023-06-01" if version < LATEST else LATEST
    yield from (_COUNT if counting else _CREATE[known, beta])(body, "")
    yield from check_tools(body.get("tools"), body.get("tool_choice"))


def check_ids(body: Json) -> Iterator[Violation]:
    """Checks ids of calls and results (A6), in requests whose shape is right."""
    for number_, message in enumerate(body["messages"]):
        blocks = message["content"] if isinstance(message["content"], list) else []
        for index, block in enumerate(blocks):
            if block["type"] in _IDS:
                member, check = _IDS[block["type"]]
                yield from check(block[member], f"messages.{number_}.content.{index}.{block['type']}.{member}")


def size_of(body: Json) -> int:
    """Estimate the prompt's tokens: four bytes each."""
    prompt = {name: body[name] for name in ("system", "tools", "messages") if name in body}
    return len(msgspec.json.encode(prompt)) // 4
