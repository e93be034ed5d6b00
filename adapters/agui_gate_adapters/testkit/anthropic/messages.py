"""A conversation of the Messages API: as the API sees it, and in the terms of scripts.

Messages of the same role in a row are merged into one, and text becomes a block. The pairing rules hold on this merged
list: the results of one turn may come in several user messages. Whether the API counts messages before or after merging
when it names one is not known; the profile decides (`merged_indices`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from agui_gate_adapters.testkit.script import Asked
from agui_gate_adapters.testkit.wire import Json

THINKING: Final = frozenset({"thinking", "redacted_thinking"})


class Block(msgspec.Struct, frozen=True):
    """One content block and the path that errors name it by."""

    value: Json
    where: str

    @property
    def kind(self) -> str:
        """Its `type`."""
        return str(self.value["type"])

    @property
    def thinks(self) -> bool:
        """Whether it is a thinking block, redacted or not."""
        return self.kind in THINKING


class Merged(msgspec.Struct, frozen=True):
    """One or more messages of the same role in a row; `index` is the one that errors name."""

    index: int
    role: str
    blocks: list[Block]

    def of_kind(self, *kinds: str) -> list[Block]:
        """Return the blocks of these types, in order."""
        return [block for block in self.blocks if block.kind in kinds]


def merge(messages: list[Json], *, merged_indices: bool = True) -> list[Merged]:
    """Return the merged list of messages whose shape has been checked."""
    result: list[Merged] = []
    for number, message in enumerate(messages):
        if not result or result[-1].role != message["role"]:
            result.append(Merged(len(result) if merged_indices else number, message["role"], []))
        into = result[-1]
        start = len(into.blocks) if merged_indices else 0
        at = into.index if merged_indices else number
        for index, value in enumerate(blocks_of(message)):
            into.blocks.append(Block(value, f"messages.{at}.content.{start + index}"))
    return result


def blocks_of(message: Json) -> list[Json]:
    """Return a message's content as blocks; an empty string is none."""
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


# A request in the terms that scripts and the demo model understand, which are those of the Responses API.


def asked_of(body: Json) -> Asked:
    """Translates a request that has passed its checks. Scripts ignore thinking and server tools."""
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
