"""Checks any AG-UI server against the specification: scenarios over HTTP, each stream judged (`agui-gate check`)."""

from agui_gate_adapters.testkit.check.bench import SENTENCES
from agui_gate_adapters.testkit.check.driver import SCENARIOS, CantCheck, check
from agui_gate_adapters.testkit.check.report import Line, Report

__all__ = ["SCENARIOS", "SENTENCES", "CantCheck", "Line", "Report", "check"]
