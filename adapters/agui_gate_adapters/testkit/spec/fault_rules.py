"""Which rule a fault in the shape of an event is about."""

from agui_gate_adapters.testkit.spec.finding import Breach
from agui_gate_adapters.testkit.spec.rules import Strength
from agui_gate_adapters.testkit.spec.shapes import RUN_SCOPED, Fault

BY_PLACE = {
    "RUN_FINISHED.outcome": "LIFE-2",
    "RUN_FINISHED.usage": "USE-3",
    "RUN_ERROR.usage": "USE-3",
    "RUN_ERROR": "LIFE-6",
    "RUN_STARTED.protocolVersion": "VER-1",
    "RUN_STARTED.input": "IN-10",
    "RUN_STARTED": "IN-1",
    "RUN_FINISHED.threadId": "IN-1",
    "RUN_FINISHED.runId": "IN-1",
    "TEXT_MESSAGE_START.role": "TEXT-1",
    "TEXT_MESSAGE_CHUNK.role": "TEXT-1",
    "TOOL_CALL_RESULT": "TOOL-2",
    "STATE_DELTA": "SNAP-2",
    "ACTIVITY_DELTA.patch": "SNAP-2",
    "ACTIVITY_DELTA": "ACT-1",
    "ACTIVITY_SNAPSHOT": "ACT-1",
    "REASONING_MESSAGE_START.role": "REAS-1",
    "REASONING_ENCRYPTED_VALUE": "REAS-2",
    "STEP_STARTED": "LIFE-9",
    "STEP_FINISHED": "LIFE-9",
    "SUBAGENT_STARTED": "SUB-2",
    "SUBAGENT_FINISHED": "SUB-3",
    "SUBAGENT_ERROR": "SUB-3",
    "CUSTOM": "PASS-1",
    "RAW": "PASS-1",
}
"""By type and member, else by type alone. What is not here is the schema's business at large."""


def breach(kind: str, fault: Fault) -> Breach:
    """The rule that an event of this type breaks with a fault. What the schema demands is a MUST, whatever the rule."""
    strength: Strength = "MUST"
    return Breach(_rule(kind, fault), f"{kind}: {fault.sentence}", strength)


def _rule(kind: str, fault: Fault) -> str:
    top, last = str(fault.path[0]), fault.path[-1]
    if kind in RUN_SCOPED and fault.path == ("subagentRunId",):
        return "EVT-6"
    if fault.kind == "null":
        return "EVT-2"
    if fault.kind == "unknown" and len(fault.path) == 1:
        return "EVT-1"
    if fault.path == ("timestamp",):
        return "EVT-3"
    if last == "metadata":
        return "META-1"
    if fault.path[:2] == ("outcome", "interrupts"):
        return "INT-1"
    return BY_PLACE.get(f"{kind}.{top}") or BY_PLACE.get(kind) or "GEN-1"
