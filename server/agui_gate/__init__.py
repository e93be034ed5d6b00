"""agui-gate: an AG-UI agent server whose gated tools can be trusted.

Everything a user needs is here. What brings a web framework or pydantic along is imported when it is first used, so
that importing the package stays quick.
"""

import importlib as _importlib
from typing import TYPE_CHECKING

from agui_gate.agents.agent import Agent
from agui_gate.agents.tool import (  # `tool` is the decorator from here on, not the module
    Gate,
    Tool,
    ToolContext,
    ToolSource,
    tool,
)
from agui_gate.errors import AguiGateError, ConfigurationError, ToolError

if TYPE_CHECKING:
    from agui_gate.adapter import Adapter
    from agui_gate.agents.context_window import LastRounds, LastTokens, Summary
    from agui_gate.agents.instruction_context import Situation
    from agui_gate.agents.tool_source import SchemaTool
    from agui_gate.client import Client
    from agui_gate.config.settings import Settings
    from agui_gate.core.principals import Principal
    from agui_gate.core.registry import PendingApprovalRegistry
    from agui_gate.extras.notices.notice import Notice
    from agui_gate.extras.people.grants import Grant
    from agui_gate.extras.people.rules import Ruling
    from agui_gate.extras.teams.workflow import parallel, pipeline
    from agui_gate.http.app import create_app

__all__ = [
    "Adapter",
    "Agent",
    "AguiGateError",
    "Client",
    "ConfigurationError",
    "Gate",
    "Grant",
    "LastRounds",
    "LastTokens",
    "Notice",
    "PendingApprovalRegistry",
    "Principal",
    "Ruling",
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
    "Adapter": "agui_gate.adapter",
    "Client": "agui_gate.client",
    "Grant": "agui_gate.extras.people.grants",
    "LastRounds": "agui_gate.agents.context_window",
    "LastTokens": "agui_gate.agents.context_window",
    "Notice": "agui_gate.extras.notices.notice",
    "PendingApprovalRegistry": "agui_gate.core.registry",
    "Principal": "agui_gate.core.principals",
    "Ruling": "agui_gate.extras.people.rules",
    "SchemaTool": "agui_gate.agents.tool_source",
    "Settings": "agui_gate.config.settings",
    "Situation": "agui_gate.agents.instruction_context",
    "Summary": "agui_gate.agents.context_window",
    "create_app": "agui_gate.http.app",
    "parallel": "agui_gate.extras.teams.workflow",
    "pipeline": "agui_gate.extras.teams.workflow",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _importlib.import_module("importlib.metadata").version("agui-gate")
    if name not in _LAZY:
        raise AttributeError(f"module 'agui_gate' has no attribute {name!r}")
    value: object = getattr(_importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
