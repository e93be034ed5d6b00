"""Plays a script: picks the turn for a request and counts how often its fault still strikes.

A turn whose fault has struck stays for the next request, which then gets it whole. A turn that has nothing but a fault
is used up with it.
"""

from __future__ import annotations

from typing import Final

from agui_gate_adapters.testkit.faults import Fault
from agui_gate_adapters.testkit.kinds import KINDS, awaits_output, kind_of
from agui_gate_adapters.testkit.script import Script, Turn, When
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Asked", "Player", "last_user_text", "text_of"]

_HARMLESS: Final = ("slow", "content_type")
"""Faults after which the whole answer has been sent all the same."""


class Asked:
    """What a turn can be matched against: the request and its merged list."""

    def __init__(self, body: Json, merged: list[Json], fresh: list[Json]) -> None:
        self.body = body
        self.merged = merged
        self.fresh = fresh

    @classmethod
    def neutral(cls, model: object, items: list[Json], tools: list[Json], tool_choice: object = None) -> Asked:
        """Build it from a request that carries its whole history, in the Responses API's terms.

        `items`: messages with a role, `function_call` and `function_call_output` items; a call id that the API allows
        to repeat must have been made unique. `tools`: flat function tools. `tool_choice`: `none`, `required`, or
        `{"type": "function", "name": …}`.
        """
        body = {"model": model, "tools": tools, "tool_choice": tool_choice}
        last = max((n for n, item in enumerate(items) if _is_answer(item)), default=-1)
        return cls(body, items, items[last + 1 :])

    def matches(self, when: When | None) -> bool:
        """Say whether all conditions hold."""
        if when is None:
            return True
        return (
            (when.user is None or when.user.lower() in last_user_text(self.merged).lower())
            and (when.has_output_for is None or when.has_output_for in self.answered_tools())
            and (when.has_tool is None or any(t.get("name") == when.has_tool for t in self.body.get("tools") or ()))
            and (when.model is None or when.model == self.body.get("model"))
            and (when.approves is None or when.approves in self.approvals())
        )

    @property
    def tools(self) -> list[str]:
        """The names of the tools that it offers, however the API writes them."""
        told = self.body.get("tools") or ()
        return [str(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type")) for tool in told]

    def answered_tools(self) -> set[str]:
        """Return the names of the tools whose calls this request brings outputs for."""
        ids = {item.get("call_id") for item in self.fresh if KINDS[kind_of(item)].answers}
        return {str(i.get("name")) for i in self.merged if awaits_output(i) and i.get("call_id") in ids}

    def approvals(self) -> list[bool]:
        """Return what this request answers to MCP approval requests."""
        return [item["approve"] for item in self.fresh if kind_of(item) == "mcp_approval_response"]


class _Live:
    """A turn that is still to be played."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.struck = 0

    @property
    def fault(self) -> Fault | None:
        fault = self.turn.fault
        return None if fault is None or (fault.times and self.struck >= fault.times) else fault


class Player:
    """The state of one loaded script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._live = [_Live(turn) for turn in script.turns]

    @property
    def remaining(self) -> int:
        """How many turns were not played yet; repeating ones always count."""
        return len(self._live)

    def forgets(self, body: Json, *, continues: bool = False) -> bool:
        """Say whether the provider loses its memory before this request, which must continue something."""
        if not self._live or not (continues or body.get("previous_response_id") or body.get("conversation")):
            return False
        fault = self._live[0].fault
        if fault is None or fault.kind != "forget":
            return False
        self._strike(self._live[0], fault)
        return True

    def play(self, asked: Asked) -> tuple[Turn | None, Fault | None]:
        """Return the turn for this request with the fault that strikes it, or None when no turn is left for it."""
        for live in self._live:
            if not asked.matches(live.turn.when):
                continue
            fault = live.fault
            if fault is not None and fault.kind != "forget":
                self._strike(live, fault)
            elif not live.turn.repeat:
                self._live.remove(live)
            return live.turn, None if fault is not None and fault.kind == "forget" else fault
        return None, None

    def _strike(self, live: _Live, fault: Fault) -> None:
        live.struck += 1
        used_up = fault.kind in _HARMLESS or (live.fault is None and not live.turn.output)
        if used_up and not live.turn.repeat:
            self._live.remove(live)


def _is_answer(item: Json) -> bool:
    """Say whether the model made this item."""
    return item.get("role") == "assistant" or kind_of(item) in ("reasoning", "function_call")


def last_user_text(items: list[Json]) -> str:
    """Return the text of the last user message, or an empty string."""
    for item in reversed(items):
        if kind_of(item) == "message" and item.get("role") == "user":
            return text_of(item)
    return ""


def text_of(item: Json) -> str:
    """Return a message's or an output's text; parts are joined by spaces."""
    content = item.get("content", item.get("output"))
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return " ".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)
