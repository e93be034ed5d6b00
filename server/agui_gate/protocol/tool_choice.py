"""`forwardedProps.toolChoice`: what a client says about the tools of its run, in the spellings that are in use.

CopilotKit forwards it to the model (its suggestions depend on it), in the words of Chat Completions and of the AI SDK.
"""

from collections.abc import Collection
from typing import Any

from agui_gate.adapter import NamedTool, ToolChoice
from agui_gate.errors import InvalidRequest
from agui_gate.protocol.run_input import RunInput

SUGGEST = "copilotkitSuggest"
"""The tool that CopilotKit's client forces where it asks for suggestions."""


def chosen(props: Any, tools: Collection[str]) -> ToolChoice | None:
    """Returns what the model may do with ``tools``; None if that is left to it. Raises `InvalidRequest` for another
    tool.

    What is no choice at all is somebody else's property of that name, and means nothing here.
    """
    given = props.get("toolChoice") if isinstance(props, dict) else None
    if given == "none":
        return "none"
    if given == "required":
        return "required" if tools else None
    name = _name(given)
    if name is None:
        return None
    if name not in tools:
        raise InvalidRequest(f"toolChoice names {name[:64]!r}, which is not a tool of this run.", well_formed=True)
    return NamedTool(name)


def is_suggestion(run: RunInput) -> bool:
    """Returns whether CopilotKit's client asks what the person could say next: no part of any conversation."""
    props = run.forwarded_props
    given = props.get("toolChoice") if isinstance(props, dict) else None
    return _name(given) == SUGGEST and SUGGEST in run.client_tools


def _name(given: Any) -> str | None:
    """Returns the tool in ``{"type": "function", "function": {"name"}}`` or ``{"type": "tool", "toolName"}``."""
    match given:
        case {"type": "function", "function": {"name": str(name)}} | {"type": "tool", "toolName": str(name)}:
            return name
    return None
