"""The AG-UI specification as code: its rules, so that a stream or a server can be held to them."""

from agui_gate_adapters.testkit.spec.rules import RULES, Rule

__all__ = ["RULES", "Rule"]
