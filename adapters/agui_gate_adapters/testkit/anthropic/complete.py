"""What the public schema requires of a message besides what a script says: members that are null, or counts of nothing.

They are added where something is told, and only there. What is remembered, signed and compared are the blocks
themselves, since clients need not send such members back.
"""

from __future__ import annotations

from typing import Any, Final

from agui_gate_adapters.testkit.wire import Json

__all__ = ["block_view", "delta_usage", "usage_view"]

_DIRECT: Final[Json] = {"caller": {"type": "direct"}}
_MEMBERS: Final[dict[str, Json]] = {
    "text": {"citations": None},
    "tool_use": _DIRECT,
    "server_tool_use": _DIRECT,
    "web_search_tool_result": _DIRECT,
}
_DELTA: Final = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens_details",
    "server_tool_use",
)


def block_view(block: Json) -> Json:
    """Return a content block with every member that its type has."""
    return _MEMBERS.get(block["type"], {}) | block


def usage_view(counts: Json, blocks: list[Json]) -> Json:
    """Return the usage of a message; hosted searches are counted, thinking is taken as told."""
    searches = sum(block["type"] == "server_tool_use" and block["name"] == "web_search" for block in blocks)
    hosted: Any = {"web_search_requests": searches, "web_fetch_requests": 0} if searches else None
    return {
        **counts,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counts["cache_creation_input_tokens"],
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens_details": {"thinking_tokens": sum(_thought(block) for block in blocks)},
        "server_tool_use": hosted,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }


def delta_usage(usage: Json) -> Json:
    """Return what `message_delta` tells of it."""
    return {name: usage[name] for name in _DELTA}


def _thought(block: Json) -> int:
    return len(str(block.get("thinking", ""))) // 4
