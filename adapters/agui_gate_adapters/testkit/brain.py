"""Placeholder."""

from __future__ import annotations
from agui_gate_adapters.testkit.player import Asked, last_user_text
from agui_gate_adapters.testkit.script import Turn


def think(asked: Asked) -> Turn:
    return Turn(output=({"type": "message", "text": last_user_text(asked.merged)},))
