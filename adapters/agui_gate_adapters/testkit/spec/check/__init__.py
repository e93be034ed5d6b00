"""Holds any AG-UI server to the specification: a set of scenarios over HTTP, each stream judged (`agui-gate check`)."""

from agui_gate_adapters.testkit.spec.check.bench import SENTENCES
from agui_gate_adapters.testkit.spec.check.driver import SCENARIOS, CantCheck, check
from agui_gate_adapters.testkit.spec.check.report import Line, Report

__all__ = ["SCENARIOS", "SENTENCES", "CantCheck", "Line", "Report", "check"]
