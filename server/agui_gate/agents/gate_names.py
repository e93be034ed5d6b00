"""Checks the arguments that a gate names, of gates that name some."""

import re
from collections.abc import Collection, Sequence

from agui_gate.agents.tool import PLACEHOLDER, Gate
from agui_gate.errors import ConfigurationError

_FIELD_NAME = re.compile(r"[A-Za-z_][\w-]*")


def check_names(tool: str, gate: Gate, names: Sequence[str]) -> None:
    """Raises `ConfigurationError` if the gate of a tool names an argument that is none of ``names``."""
    check_options(tool, gate, names)
    if places := gate.unknown_places(names):
        shown = ", ".join(f"{{{place}}}" for place in places)
        known = ", ".join(f"{{{name}}}" for name in names) or "none"
        raise ConfigurationError(f"tool {tool}: Gate(message=…) has {shown}, which is no argument. There are: {known}")


def check_options(tool: str, gate: Gate, names: Sequence[str]) -> None:
    """Checks what `check_names` does, but for the message."""
    named = {"editable": set(gate.editable), "grants": {name for offer in gate.grants for name in offer.names}}
    for option, wanted in named.items():
        if unknown := sorted(wanted - set(names)):
            raise ConfigurationError(f"tool {tool}: Gate({option}=…) names no argument: {', '.join(unknown)}")


def unknown_places(message: str, names: Collection[str]) -> list[str]:
    """Returns the placeholders of a message that look like arguments, and name none: see `Gate.unknown_places`."""
    places = PLACEHOLDER.findall(message)
    formats = (_FIELD_NAME.match(place) for place in places)
    return [
        place
        for place, begins in zip(places, formats, strict=True)
        if begins is not None and place not in names and (begins[0] == place or begins[0] in names)
    ]
