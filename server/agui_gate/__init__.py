"""agui-gate: an AG-UI agent server whose gated tools can be trusted.

Everything a user needs is here. What brings a web framework or pydantic along is imported when it is first used, so
that importing the package stays quick.
"""

import importlib as _importlib
from typing import TYPE_CHECKING

from agui_gate.agent import Agent
from agui_gate.errors import AguiGateError, ConfigurationError, ToolError
from agui_gate.history import LastRounds, LastTokens, Summary
from agui_gate.situation import Situation
from agui_gate.tool import Gate, Tool, ToolContext, tool  # `tool` is the decorator from here on, not the module
from agui_gate.tool_source import SchemaTool, ToolSource
from agui_gate.workflows import parallel, pipeline

if TYPE_CHECKING:
    from agui_gate.core.registry import PendingApprovalRegistry
    from agui_gate.http.app import create_app
    from agui_gate.settings import Settings

__all__ = [
    "Agent",
    "AguiGateError",
    "ConfigurationError",
    "Gate",
    "LastRounds",
    "LastTokens",
    "PendingApprovalRegistry",
    "SchemaTool",
    "Settings",
    "Situation",
    "Summary",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolSource",
    "create_app",
    "parallel",
    "pipeline",
    "tool",
]

_LAZY = {
    "PendingApprovalRegistry": "agui_gate.core.registry",
    "Settings": "agui_gate.settings",
    "create_app": "agui_gate.http.app",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'agui_gate' has no attribute {name!r}")
    value: object = getattr(_importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
