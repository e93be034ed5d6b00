"""Somebody else's agent as one of ours: `RemoteAgent` (docs/remote-agents.md)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from agui_gate import Agent, Tool, ToolSource
from agui_gate.client import Limits

from .adapter import RemoteAgui

__all__ = ["RemoteAgent", "RemoteAgui"]


def RemoteAgent(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    name: str | None = None,
    description: str = "",
    instructions: str = "",
    tools: Sequence[Tool | ToolSource | Callable[..., Any]] = (),
    limits: Limits | None = None,
    **options: Any,
) -> Agent:
    """Makes an agent of any AG-UI server at ``url``, to be used wherever an `Agent` can be.

    ``headers`` go with each request. ``tools`` are lent: the remote may call them, and they run here, behind their
    gates. What it runs itself is its own business; what it asks, people here are asked. ``instructions`` are told to it
    as context. ``options`` are those of `Agent` (``hitl``, ``on_unanswered``, …). Raises `ConfigurationError`.
    """
    model = RemoteAgui(url, headers=headers, limits=limits)
    return Agent(
        name=name or _name_of(url),
        model=model,
        instructions=instructions,
        tools=tools,
        description=description,
        **options,
    )


def _name_of(url: str) -> str:
    """Returns what the address ends with: the last part of its path, or its host."""
    parts = urlsplit(url)
    last = parts.path.rstrip("/").rpartition("/")[2] or parts.hostname or "remote"
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", last).strip("-._")[:64] or "remote"
