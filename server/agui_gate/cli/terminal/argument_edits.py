"""Edits of a call's arguments, typed in a shell."""

import json
from collections.abc import Sequence
from typing import Any

import click

from agui_gate.cli.terminal.console import whole


def edited_arguments(arguments: dict[str, Any], editable: Sequence[str], edits: Sequence[str]) -> dict[str, Any]:
    """All ``arguments`` with ``edits`` (``key=value``) made. Raises `click.UsageError` for what may not be edited."""
    changed = dict(arguments)
    for edit in edits:
        name, separator, text = edit.partition("=")
        if not separator:
            raise click.UsageError(f"--edit takes KEY=VALUE, not {edit!r}.")
        if name not in editable:
            may = ", ".join(map(whole, editable)) or "nothing"
            raise click.UsageError(f"{name!r} may not be edited; {may} may.")
        changed[name] = read_value(text, arguments.get(name))
    return changed


def read_value(text: str, before: Any) -> Any:
    """What was typed, as the kind of value it replaces: text stays text, anything else is JSON where it can be."""
    if isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
