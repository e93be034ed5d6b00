"""How stored things look from outside: response objects, item lists, conversations, pages."""

from __future__ import annotations

from typing import Any, Final

from agui_gate_adapters.testkit.kinds import kind_of
from agui_gate_adapters.testkit.player import text_of
from agui_gate_adapters.testkit.responses.state import Conversation
from agui_gate_adapters.testkit.wire import Json

__all__ = ["conversation_view", "item_view", "new_response", "page", "usage_of"]

_ECHOED: Final[dict[str, Any]] = {
    "instructions": None,
    "max_output_tokens": None,
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
    "metadata": {},
    "max_tool_calls": None,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "top_logprobs": 0,
    "service_tier": "default",
    "safety_identifier": None,
    "prompt_cache_key": None,
}
"""What a response repeats of its request, and what it says where the request says nothing."""

_FUNCTION: Final[Json] = {"description": None, "parameters": None, "strict": True}


def new_response(response_id: str, body: Json, created_at: int, *, store: bool) -> Json:
    """Return the response object at its beginning: the request echoed, no output yet."""
    response: Json = {
        "id": response_id,
        "object": "response",
        "created_at": created_at,
        "completed_at": None,
        "status": "in_progress",
        "background": bool(body.get("background")),
        "error": None,
        "incomplete_details": None,
        "model": body["model"],
        "output": [],
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "store": store,
        "text": {"format": {"type": "text"}, "verbosity": "medium", **(body.get("text") or {})},
        "tools": [_FUNCTION | tool if tool["type"] == "function" else tool for tool in body.get("tools") or ()],
        "usage": None,
    }
    for name, default in _ECHOED.items():
        value = body.get(name)
        response[name] = default if value is None else value
    if body.get("conversation") is not None:
        named = body["conversation"]
        response["conversation"] = {"id": named["id"] if isinstance(named, dict) else named}
    return response


def usage_of(input_tokens: int, output: list[Json]) -> Json:
    """Estimate the usage: four characters a token, nothing cached."""
    letters = sum(len(text_of(item)) + len(str(item.get("arguments") or "")) for item in output)
    reasoning = 16 * sum(item["type"] == "reasoning" for item in output)
    output_tokens = letters // 4 + reasoning
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": input_tokens + output_tokens,
    }


def item_view(item: Json) -> Json:
    """Return a stored item as lists show it: typed, with a status, its content in parts."""
    if kind_of(item) != "message" or not isinstance(item.get("content"), str):
        return {"type": kind_of(item), **item}
    text = item["content"]
    if item["role"] == "assistant":
        part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    else:
        part = {"type": "input_text", "text": text}
    return {"status": "completed", **item, "type": "message", "content": [part]}


def conversation_view(conversation: Conversation) -> Json:
    """Return the conversation object."""
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": int(conversation.created_at),
        "metadata": conversation.metadata,
    }


def page(items: list[Json], *, after: str | None = None, limit: int = 20, order: str = "desc") -> Json:
    """Return one page of items; `after` is the id of the last item of the page before."""
    ordered = items if order == "asc" else items[::-1]
    ids = [item["id"] for item in ordered]
    start = ids.index(after) + 1 if after in ids else 0
    shown = [item_view(item) for item in ordered[start : start + limit]]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": start + limit < len(ordered),
    }
