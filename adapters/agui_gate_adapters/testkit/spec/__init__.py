"""The AG-UI specification as code: its rules, and the judge that holds a stream to them."""

from agui_gate_adapters.testkit.spec.assertions import assert_conforms, breaches
from agui_gate_adapters.testkit.spec.finding import Finding
from agui_gate_adapters.testkit.spec.judge import JUDGED, judge
from agui_gate_adapters.testkit.spec.rules import RULES, Rule

__all__ = ["JUDGED", "RULES", "Finding", "Rule", "assert_conforms", "breaches", "judge"]
