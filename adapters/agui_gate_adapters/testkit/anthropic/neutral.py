"""A request in the terms that scripts and the demo brain understand, which are those of the Responses API."""

from __future__ import annotations

from typing import Any

import msgspec

from agui_gate_adapters.testkit.player import Asked
from agui_gate_adapters.testkit.wire import Json

__all__ = ["asked_of"]


def asked_of(body: Json) -> Asked:
    """Translate a request that has passed its checks. Thinking and server tools say nothing to a script."""
    items = [item for message in body["messages"] for item in _items(message)]
    tools = [_tool(tool) for tool in body.get("tools") or () if tool.get("type", "custom") == "custom"]
    return Asked.neutral(body["model"], items, tools, _choice(body.get("tool_choice")))


def _items(message: Json) -> list[Json]:
    content = message["content"]
    if isinstance(content, str):
        return [_said(message["role"], content)] if content else []
    found = [_item(message["role"], block) for block in content]
    return [item for item in found if item is not None]


def _item(role: str, block: Json) -> Json | None:
    match block["type"]:
        case "text":
            return _said(role, block["text"])
        case "tool_use":
            arguments = msgspec.json.encode(block["input"]).decode()
            return {"type": "function_call", "call_id": block["id"], "name": block["name"], "arguments": arguments}
        case "tool_result":
            output = _text(block.get("content"))
            return {"type": "function_call_output", "call_id": block["tool_use_id"], "output": output}
        case _:
            return None


def _said(role: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": text}


def _text(content: Any) -> str:
    """Return the text of a result; its other parts are left out."""
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content or () if part["type"] == "text")


def _tool(tool: Json) -> Json:
    return {
        "type": "function",
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
    }


def _choice(choice: Json | None) -> object:
    match (choice or {}).get("type"):
        case "none":
            return "none"
        case "any":
            return "required"
        case "tool" if choice is not None:
            return {"type": "function", "name": choice["name"]}
        case _:
            return None
