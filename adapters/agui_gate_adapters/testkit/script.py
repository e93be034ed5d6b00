"""Scripts of the emulated model, turn by turn, in a documented JSON form (see SCRIPTS.md beside this module).

A script is a list of turns, or an object `{"turns": […], "then": "error" | "brain", "chunk": …}`. Reading one is
strict: an unknown member or value is a `ScriptError` that names it, never a turn that quietly does something else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from agui_gate_adapters.testkit.faults import Fault
from agui_gate_adapters.testkit.kinds import KINDS, awaits_output, kind_of
from agui_gate_adapters.testkit.wire import Json

Chunking = int | Literal["event", "whole", "random"]
"""How the body is cut into HTTP chunks: n bytes each, one per event, all in one, or seeded random sizes."""


class ScriptError(ValueError):
    """The script is not in the documented form."""


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions on a request; all that are given must hold."""

    user: str | None = None
    """Substring of the last user text, ignoring case."""
    has_output_for: str | None = None
    """The input brings an output for a call of this tool."""
    has_tool: str | None = None
    """The request advertises this tool."""
    model: str | None = None
    approves: bool | None = None
    """The input answers an MCP approval request with yes (true) or no (false)."""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model."""

    output: tuple[Json, ...] = ()
    """Output items, see SCRIPTS.md; each has at least a `type`."""
    status: Literal["completed", "incomplete", "failed"] = "completed"
    reason: Literal[
        "max_output_tokens",
        "content_filter",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "stop_sequence",
    ] = "max_output_tokens"
    """For `incomplete`; the last four are Anthropic's own."""
    error: Json | None = None
    """For `failed`: `{"code", "message"}`."""
    usage: Json | None = None
    when: When | None = None
    fault: Fault | None = None
    repeat: bool = False
    """Keep the turn after it was played, to answer every later request that matches."""
    chunk: Chunking | None = None


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Turns in order, what comes after the last one, and the chunking of all."""

    turns: tuple[Turn, ...] = ()
    then: Literal["error", "brain"] = "error"
    """When no turn is left: refuse with `emulator_script_exhausted`, or let the demo model answer."""
    chunk: Chunking = "event"


_MADE = frozenset({"message", "refusal", "reasoning", "function_call", "custom_tool_call", "event"})


def load_script(source: Any) -> Script:
    """Read a script from a list of turns, an object, JSON text or bytes, or a `Path`; raises `ScriptError`."""
    if isinstance(source, Script):
        return source
    if isinstance(source, Path):
        source = source.read_bytes()
    try:
        if isinstance(source, bytes | str):
            source = msgspec.json.decode(source)
        script = msgspec.convert({"turns": source} if isinstance(source, list) else source, Script)
    except msgspec.DecodeError as error:
        raise ScriptError(f"not a script: {error}") from error
    for number, turn in enumerate(script.turns):
        for item in turn.output:
            _check_output(item, number)
    return script


def _check_output(item: Json, number: int) -> None:
    kind = item.get("type")
    if kind not in _MADE and kind not in KINDS:
        raise ScriptError(f"turn {number}: unknown output type {kind!r}")
    wanted = {"function_call": "name", "custom_tool_call": "name", "event": "event", "refusal": "text"}.get(str(kind))
    if wanted is not None and wanted not in item:
        raise ScriptError(f"turn {number}: output {kind!r} needs {wanted!r}")


# Plays a script: picks the turn for a request and counts how often its fault still strikes.
#
# A turn whose fault has struck stays for the next request, which then gets it whole. A turn that has nothing but a
# fault is used up with it.

_HARMLESS: Final = ("slow", "content_type")
"""Faults after which the whole answer has been sent all the same."""


class Asked:
    """A request that turns are matched against, with its merged list."""

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
