"""Scripts: what the emulated model says, turn by turn, in a documented JSON form (see SCRIPTS.md beside this module).

A script is a list of turns, or an object `{"turns": […], "then": "error" | "brain", "chunk": …}`. Reading one is
strict: an unknown member or value is a `ScriptError` that names it, never a turn that quietly does something else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from agui_gate_adapters.testkit.faults import Fault
from agui_gate_adapters.testkit.kinds import KINDS
from agui_gate_adapters.testkit.wire import Json

__all__ = ["Chunking", "Script", "ScriptError", "Turn", "When", "load_script"]

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
    """When no turn is left: refuse with `emulator_script_exhausted`, or let the demo brain answer."""
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
