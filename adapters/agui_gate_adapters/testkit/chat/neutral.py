"""A Chat request in the terms that scripts and the demo brain read: messages, calls and outputs with unique ids.

A call id belongs to one turn only, and may even repeat inside it. So a call is known by the turn, the id and how often
it occurred. An answer goes to the oldest call of its id that has none.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

from agui_gate_adapters.testkit.player import Asked
from agui_gate_adapters.testkit.wire import Json

__all__ = ["asked_of", "items_of"]


def asked_of(body: Json) -> Asked:
    """Return what a turn can be matched against; the request is valid by now."""
    tools = [{"type": "function", **tool["function"]} for tool in body.get("tools") or () if "function" in tool]
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and "function" in choice:
        choice = {"type": "function", "name": choice["function"]["name"]}
    return Asked.neutral(body["model"], list(items_of(body["messages"])), tools, choice)


def items_of(messages: list[Json]) -> Iterator[Json]:
    """Yield the messages as items."""
    waiting: dict[str, deque[str]] = defaultdict(deque)
    for turn, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = waiting[message["tool_call_id"]].popleft()
            yield {"type": "function_call_output", "call_id": call_id, "output": message["content"]}
            continue
        if message.get("content"):
            yield {"type": "message", "role": message["role"], "content": message["content"]}
        calls = message.get("tool_calls") or ()
        if calls:
            waiting.clear()
        for number, call in enumerate(calls):
            unique = f"{turn}.{number}"
            waiting[call["id"]].append(unique)
            yield {"type": "function_call", "call_id": unique, **_function(call)}


def _function(call: Json) -> Json:
    told = call.get("function") or {}
    return {"name": told.get("name", ""), "arguments": told.get("arguments", "")}
