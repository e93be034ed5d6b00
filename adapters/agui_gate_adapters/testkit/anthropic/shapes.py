"""What a request to the Messages API looks like: its members, blocks and tools, in the order they are checked in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

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
from agui_gate_adapters.testkit.anthropic.formats import check_schema
from agui_gate_adapters.testkit.anthropic.tools import TOOL, TOOL_CHOICE, check_tools
from agui_gate_adapters.testkit.violations import Violation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["LATEST", "SERVER_RESULTS", "check_body", "check_ids", "size_of"]

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
    """A6: ids of calls and results, where the client put them; the shape is right by now."""
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
