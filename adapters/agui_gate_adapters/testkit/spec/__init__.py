"""The AG-UI specification as code: its rules, and the judge that holds a stream to them."""

from agui_gate_adapters.testkit.spec.judge import JUDGED, assert_conforms, breaches, judge
from agui_gate_adapters.testkit.spec.rules import RULES, Finding, Rule

__all__ = ["JUDGED", "RULES", "Finding", "Rule", "assert_conforms", "breaches", "judge"]
